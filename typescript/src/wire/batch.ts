/** Batches: the header in front of frames, and the frames in it (section 3 of the page). */

import { concat, Reader, Writer } from "./bytes.js";
import * as Code from "./code.js";
import { Broken } from "./codes.js";
import * as Frame from "./frame.js";
import { fieldsOf, runItems } from "./frames.js";

/** The word of PAIR1 in front of each SP message: the number of hops. */
const HOP_WORD = new Uint8Array([0, 0, 0, 1]);

export interface Batch {
  ack: number;
  firstSeq: number;
  count: number;
  frames: { type: number; body: Uint8Array }[];
}

/** An SP message: the word of PAIR1 and the content. */
export function spMessage(...content: Uint8Array[]): Uint8Array {
  return concat([HOP_WORD, ...content]);
}

/** The content of an SP message. Any other number of hops than 0 and 1 ends the connection. */
export function contentOf(message: Uint8Array): Uint8Array | undefined {
  const isWord = message.length >= 4 && !message[0] && !message[1] && !message[2];
  return isWord && message[3]! <= 1 ? message.subarray(4) : undefined;
}

/** The header of a batch. */
export function batchHead(ack: number | bigint, firstSeq: number | bigint, count: number | bigint): Uint8Array {
  return new Writer().u8(0).number(ack).number(firstSeq).number(count).finish();
}

/** Reads a whole batch, with the frames still encoded. */
export function parseBatch(content: Uint8Array, frameMax: number): Batch {
  const reader = new Reader(content);
  if (reader.u8() !== 0) throw new Broken(Code.Protocol, "the flags of a batch are zero");
  const [ack, firstSeq, count] = [reader.exact(), reader.exact(), reader.exact()];
  if (firstSeq + count >= 1n << 64n) throw new Broken(Code.Protocol, "sequence numbers are below 2^64");
  const frames = [];
  while (!reader.isEmpty) {
    const type = reader.u8();
    const length = reader.number();
    if (length > frameMax) throw new Broken(Code.LimitExceeded, "a body is within frame_max");
    frames.push({ type, body: reader.take(length) });
  }
  return { ack: Number(ack), firstSeq: Number(firstSeq), count: Number(count), frames };
}

/** A call that has come. */
export interface InboundCall {
  channel: number;
  /** Slot and generation of an ask. */
  asker: { slot: number; generation: number } | undefined;
  method: number;
  arguments: Uint8Array;
  /** Units of 64 bytes that it costs. */
  units: number;
}

/** True for the types that hold calls. */
export function isCall(type: number): boolean {
  return (type >= Frame.TELL && type <= Frame.CALL_X) || (type >= Frame.TELLS && type !== Frame.REPLIES);
}

/** Units that a body costs: one for each 64 bytes, and one at least. */
export function unitsOf(length: number): number {
  return Math.max(1, Math.ceil(length / 64));
}

/** Asks of the peer that may be unanswered: the default of slots_max, which this client announces. */
const SLOTS_MAX = 65_536;

/** The calls of a frame: one, or those of a run. */
export function callsOf(type: number, body: Uint8Array): InboundCall[] {
  const isMixed = type === Frame.MIXED_TELLS || type === Frame.MIXED_ASKS;
  const isAsk = type === Frame.ASK || type === Frame.ASKS || type === Frame.MIXED_ASKS;
  const reader = new Reader(body);
  const channel = reader.number();
  const slot = isAsk ? reader.number() : 0;
  const generation = isAsk ? reader.number() : 0;
  const askerOf = (at: number) => (isAsk ? { slot: slot + at, generation } : undefined);
  const method = isMixed ? 0 : reader.number();
  const rest = reader.rest();
  if (type === Frame.TELL || type === Frame.ASK) {
    return [{ channel, asker: askerOf(0), method, arguments: rest, units: unitsOf(body.length) }];
  }
  const items = runItems(rest);
  if (isAsk && (slot + items.length > SLOTS_MAX || generation >= 2 ** 32)) {
    throw new Broken(Code.Protocol, "slots and generations have limits");
  }
  return items.map((item, at) => {
    const call = new Reader(item);
    const called = isMixed ? call.number() : method;
    if (called === 0) throw new Broken(Code.Protocol, "a run calls no method 0");
    return { channel, asker: askerOf(at), method: called, arguments: call.rest(), units: 1 };
  });
}

/** How many sequence numbers a frame takes. */
export function numbersOf(type: number, body: Uint8Array): number {
  if (type === Frame.REPLIES) return runItems(fieldsOf(type, body).bytes(2)).length;
  return type >= Frame.TELLS && type <= Frame.MIXED_ASKS ? callsOf(type, body).length : 1;
}

/** The extras of a CALL_X that this release knows, and the call behind them. */
export interface Extended {
  type: number;
  body: Uint8Array;
  /** False if an even tag is not known, so that the call must not be handled. */
  isUnderstood: boolean;
  /** Tag 2: milliseconds for which the caller waits. */
  milliseconds: number | undefined;
}

/** Reads a CALL_X. */
export function extended(content: Uint8Array): Extended {
  const fields = fieldsOf(Frame.CALL_X, content);
  const type = fields.number(0);
  if (type !== Frame.TELL && type !== Frame.ASK && type !== Frame.REPLY) {
    throw new Broken(Code.Protocol, "no such frame has extras");
  }
  const reader = new Reader(fields.bytes(1));
  const found: Extended = {
    type,
    body: fields.bytes(2),
    isUnderstood: true,
    milliseconds: undefined,
  };
  while (!reader.isEmpty) {
    const tag = reader.number();
    const value = new Reader(reader.sized());
    if (tag === 2 && type === Frame.ASK) found.milliseconds = value.number();
    // An actor of this side answers with one value, also where items (6) are wanted.
    const isKnown = tag === 2 || tag === 4 || (tag === 6 && type === Frame.ASK);
    if (!isKnown && tag % 2 === 0) found.isUnderstood = false;
  }
  return found;
}
