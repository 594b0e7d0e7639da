/** What a session does with calls of the peer as long as it has lent no reference: nobody is there. */

import type { InboundCall } from "../wire/batch.js";
import { EMPTY } from "../wire/bytes.js";
import * as Code from "../wire/code.js";
import { Broken } from "../wire/codes.js";
import * as Frame from "../wire/frame.js";
import { type Fields, frame } from "../wire/frames.js";
import type { SessionContext } from "./events.js";

/**
 * The calls of the peer: their channels, their credit and their answers. What is not there has nothing to
 * do.
 */
export interface InboundSide {
  /** True while an ask of the peer is open. */
  readonly hasWork: boolean;
  attach(fields: Fields): void;
  detach(fields: Fields): void;
  need?(fields: Fields): void;
  cancel?(fields: Fields): void;
  /** The peer holds a reference no more. */
  release(number: Uint8Array, times: number): void;
  /** Charges a call: a call beyond the credit, or on no channel, ends the session. */
  charge(channel: number, units: number): void;
  /** Takes a call that was charged. `isUnderstood` is false for one with an unknown extra. */
  call(call: InboundCall, isUnderstood: boolean, deadline: number): void;
  /** The rest of a call that was charged will not come. */
  dropped?(channel: number, units: number): void;
  /** The frames that announce credit, for the next batch. */
  announcements?(hasOutcomes: boolean): Uint8Array[];
  resumed?(): void;
  end?(): void;
}

export class Refusing implements InboundSide {
  readonly hasWork = false;
  /** The channels that were refused, until the peer gives their numbers back. */
  readonly channels = new Set<number>();

  constructor(private readonly context: SessionContext) {}

  attach(fields: Fields): void {
    this.channels.add(fields.number(0));
    this.context.publish(frame(Frame.DETACHED, fields.number(0), Code.NoSuchActor, 0));
  }

  detach(fields: Fields): void {
    this.channels.delete(fields.number(0));
  }

  charge(channel: number): void {
    if (!this.channels.has(channel)) throw new Broken(Code.Protocol, "a call is on an attached channel");
  }

  call({ asker }: InboundCall): void {
    if (asker) this.context.publish(frame(Frame.ERROR, asker.slot, asker.generation, Code.NoSuchActor, EMPTY, EMPTY));
  }

  release(): void {
    throw new Broken(Code.Protocol, "a reference is released as often as it was sent");
  }

}
