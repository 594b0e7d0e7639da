/** What a session tells the program that drives it, and what it is given to send. */

import type { InboundCall } from "../wire/batch.js";
import type { Channel } from "./channel.js";
import type { InboundChannel } from "../host/inbound.js";

/** A call to an actor of the peer, from its sending to its answer. */
export interface Call {
  readonly channel: Channel;
  readonly method: number;
  readonly arguments: Uint8Array;
  /** What the call is: a tell, or an ask with its answer or its items. */
  readonly kind: "tell" | "ask" | "stream";
  /** Whole milliseconds for which the caller waits; the peer does not begin the call after that. */
  readonly milliseconds?: number | undefined;
  /** Units of items that may be under way. */
  readonly window?: number;
  /** Takes back what was done for the values of the call; called if the call is never sent. */
  readonly takeBack?: () => void;
  /** Called when the call has its slot and is about to be published; false if it has to wait on. */
  readonly publishing?: (call: Call) => boolean;
  /** Slot and generation, from its publishing on. */
  asker?: { slot: number; generation: number };
  /** The sequence number of its last frame, from its publishing on. */
  seq?: number;
  /** The caller has left, and CANCEL was sent. */
  isCancelled?: boolean;
  /** The credit of its items. */
  items?: { limit: number; used: number; freed: number };
}


export type SessionEvent =
  | { kind: "opened" }
  | { kind: "resumed" }
  /** The connection is of no more use. */
  | { kind: "cut"; why: string }
  | { kind: "ended"; code: number; text: string }
  | { kind: "attached"; channel: Channel }
  | { kind: "detached"; channel: Channel; code: number; text: string }
  | { kind: "accepted"; call: Call }
  | { kind: "answered"; call: Call; value: Uint8Array }
  | { kind: "failed"; call: Call; code: number; text: string }
  | { kind: "item"; call: Call; value: Uint8Array; units: number }
  | { kind: "rejected"; channel: Channel; method: number; tells: number; code: number; text: string }
  | { kind: "called"; channel: InboundChannel; call: InboundCall; deadline: number }
  | { kind: "released"; key: string };

/** What the parts of a session share. */
export interface SessionContext {
  readonly events: SessionEvent[];
  /** Gives a sequenced frame its place in the order, and returns its number. */
  publish(frame: Uint8Array): number;
}
