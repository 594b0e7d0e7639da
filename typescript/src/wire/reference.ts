/** References to actors as values (section 9 of the page): the bytes of the extension. */

import { concat, Reader, Writer } from "./bytes.js";

/** The type of the MessagePack extension, "W". */
export const REFERENCE = 0x57;
/** That of a stream of items, "S". */
export const STREAM = 0x53;

export interface ReferenceBytes {
  node: Uint8Array;
  incarnation: Uint8Array;
  /** By which the actor's node finds the actor. */
  number: Uint8Array;
  schemaHash: bigint;
}

export function referenceBytes(of: ReferenceBytes): Uint8Array {
  const tail = new Writer().u64(of.schemaHash).number(0).finish();
  return concat([new Uint8Array([1]), of.node, of.incarnation, of.number, tail]);
}

/** Reads a reference; its addresses are of no use to a client that dials one node. */
export function parseReference(data: Uint8Array): ReferenceBytes {
  const reader = new Reader(data);
  if (reader.u8() !== 1) throw new Error("the version of a reference is 1");
  return { node: reader.take(16), incarnation: reader.take(16), number: reader.take(16), schemaHash: reader.u64() };
}
