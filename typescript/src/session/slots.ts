/** The asks of this side that wait for their answers, by slot and generation (section 6). */

import * as Code from "../wire/code.js";
import { Broken } from "../wire/codes.js";
import type { Call } from "./events.js";

export class Slots {
  #generations: number[] = [];
  #free: number[] = [];
  #open = new Map<number, Call>();

  get size(): number {
    return this.#open.size;
  }

  calls(): Iterable<Call> {
    return this.#open.values();
  }

  /** Takes a free slot below `most`. False if there is none. */
  take(call: Call, most: number): boolean {
    let slot = this.#free.pop();
    if (slot === undefined) {
      if (this.#generations.length >= most) return false;
      slot = this.#generations.push(0) - 1;
    }
    call.asker = { slot, generation: this.#generations[slot]! };
    this.#open.set(slot, call);
    return true;
  }

  /** Takes a slot back from a call that was not published after all. */
  putBack(call: Call): void {
    const { slot } = call.asker!;
    this.#open.delete(slot);
    this.#free.push(slot);
    delete call.asker;
  }

  /** The open ask of an answer. An answer to any other is a broken rule. */
  find(slot: number, generation: number): Call {
    const call = this.#open.get(slot);
    if (call?.asker?.generation !== generation) {
      throw new Broken(Code.Protocol, "an answer is that of an open ask");
    }
    return call;
  }

  /** Frees the slot of an ask: its completion has come. */
  complete(call: Call): void {
    const { slot, generation } = call.asker!;
    this.#open.delete(slot);
    this.#generations[slot] = (generation + 1) % 2 ** 32;
    this.#free.push(slot);
  }
}
