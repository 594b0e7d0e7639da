/**
 * An object or a function of this program that the other side calls by reference: its calls are
 * handled one at a time, in the order of their coming.
 */

import type { ValueOwner } from "../api/session_values.js";
import type { InboundCall } from "../wire/batch.js";
import * as Code from "../wire/code.js";
import type { Inbound, InboundChannel } from "./inbound.js";
import type { LocalReference } from "./local_reference.js";

/** A call that waits for its turn. */
interface Waiting {
  channel: InboundChannel;
  call: InboundCall;
  deadline: number;
}

/** What a local actor needs of its session. */
export interface ActorOwner extends ValueOwner {
  readonly inbound: Inbound;
  readonly values: { encode(value: unknown): Uint8Array; decode(bytes: Uint8Array): unknown };
}

type Handler = (...all: unknown[]) => unknown;

export class LocalActor {
  #calls: Waiting[] = [];
  #isRunning = false;

  constructor(
    private readonly owner: ActorOwner,
    readonly reference: LocalReference,
  ) {}

  /** The hash that a caller is told: a function has the interface of whoever calls it. */
  hashFor(expected: bigint): bigint {
    return typeof this.reference.target === "function" ? expected : 0n;
  }

  take(waiting: Waiting): void {
    this.#calls.push(waiting);
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#calls.shift(); next; next = this.#calls.shift()) {
      const pending = this.#handle(next);
      // A handler that does not wait is not made to.
      if (pending) await pending;
      this.owner.touch();
    }
    this.#isRunning = false;
  }

  #handle({ channel, call, deadline }: Waiting): Promise<void> | undefined {
    const refuse = (code: number, text: string) => this.#refuse(channel, call, code, text);
    if (call.asker && this.owner.inbound.isCancelled(call.asker)) return refuse(Code.Cancelled, "");
    if (this.owner.now() >= deadline) return refuse(Code.DeadlinePassed, "");
    if (this.reference.isReleased) return refuse(Code.ActorStopped, "the reference was released");
    if (call.method === 0) return this.#answer(channel, call, this.#description());
    const { target, methods } = this.reference;
    const name = methods[call.method - 1]?.[0];
    let result: unknown;
    // A getter, and a `then` that is one, are code of the program as a handler is.
    try {
      const handler = (typeof target === "function" ? target : (target as Record<string, unknown>)[name ?? ""]) as Handler;
      if (typeof handler !== "function") return refuse(Code.NoSuchMethod, `there is no method ${call.method}`);
      const values = this.owner.values.decode(call.arguments);
      if (!Array.isArray(values)) return refuse(Code.BadArguments, "arguments are an array");
      result = handler.apply(target, values);
      if (typeof (result as PromiseLike<unknown> | undefined)?.then === "function") result = Promise.resolve(result);
    } catch (error) {
      return this.#failed(channel, call, error);
    }
    if (!(result instanceof Promise)) return this.#answer(channel, call, result);
    return result.then(
      (value) => void this.#answer(channel, call, value),
      (error: unknown) => void this.#failed(channel, call, error),
    );
  }

  #description(): unknown {
    const methods = this.reference.methods.map(([name, parameters]) => [name, parameters.map((one) => [one, ""]), ""]);
    return [typeof this.reference.target === "function" ? "Function" : "Object", 0, methods];
  }

  #answer(channel: InboundChannel, call: InboundCall, value: unknown): undefined {
    if (call.asker) {
      try {
        this.owner.inbound.reply(call.asker, this.owner.values.encode(value));
      } catch (error) {
        this.owner.inbound.error(call.asker, Code.NotSerializable, String(error));
      }
    }
    this.owner.inbound.taken(channel, call);
  }

  #failed(channel: InboundChannel, call: InboundCall, error: unknown): undefined {
    const text = error instanceof Error ? error.message : String(error);
    if (call.asker) this.owner.inbound.error(call.asker, Code.ReplyDropped, text);
    else this.owner.handlerFailed(error);
    this.owner.inbound.taken(channel, call);
  }

  /** Answers a call that is not begun; a tell is counted as rejected if it was not understood. */
  #refuse(channel: InboundChannel, call: InboundCall, code: number, text: string): undefined {
    if (call.asker) this.owner.inbound.error(call.asker, code, text);
    const isMisunderstood = code === Code.NoSuchMethod || code === Code.BadArguments;
    this.owner.inbound.taken(channel, call, call.asker || !isMisunderstood ? undefined : { code, text });
  }
}
