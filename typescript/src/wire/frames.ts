/**
 * The frames of a session: their types, and the fields of each in order (section 3 of the page).
 *
 * One table describes all frames, so reading and writing cannot disagree about a field.
 */

import * as Frame from "./frame.js";
import { Reader, Writer } from "./bytes.js";
import * as Code from "./code.js";
import { Broken } from "./codes.js";


/** A frame with this bit has a sequence number. */
export const SEQUENCED = 0x80;
/** A reader that does not know a type with this bit skips the frame. */
export const MAY_BE_SKIPPED = 0x40;

/**
 * The fields of a frame: `v` a number, `1`, `2` and `8` numbers of that many bytes, `b` bytes behind
 * their length, `r` the rest.
 */
const FORMS = new Map<number, string>([
  [Frame.PING, "vv"],
  [Frame.PONG, "v"],
  [Frame.CREDIT, "vvv"],
  [Frame.ITEM_CREDIT, "vv1v"],
  [Frame.REVOKE, "vv"],
  [Frame.NEED, "vv"],
  [Frame.OUTCOMES, "vvv"],
  [Frame.REJECTED, "vvv2b"],
  [Frame.CLOSE, "2bb"],
  [Frame.ATTACH, "v1b81"],
  [Frame.ATTACHED, "vv81b"],
  [Frame.DETACH, "v"],
  [Frame.DETACHED, "v2v"],
  [Frame.REVOKED, "vv"],
  [Frame.TELL, "vvr"],
  [Frame.ASK, "vvvvr"],
  [Frame.CALL_X, "1br"],
  [Frame.REPLY, "vvr"],
  [Frame.ERROR, "vv2bb"],
  [Frame.CANCEL, "vv"],
  [Frame.ITEM, "vv1r"],
  [Frame.ITEM_END, "v12b"],
  [Frame.PARTS, "v1vr"],
  [Frame.PART, "vr"],
  [Frame.PARTS_DROP, "v"],
  [Frame.RELEASE, "bv"],
  [Frame.DRAIN, "v"],
  [Frame.TELLS, "vvr"],
  [Frame.ASKS, "vvvvr"],
  [Frame.REPLIES, "vvr"],
  [Frame.MIXED_TELLS, "vr"],
  [Frame.MIXED_ASKS, "vvvr"],
]);

export type Field = number | bigint | Uint8Array;

/** True for a type that this release knows. */
export function isKnown(type: number): boolean {
  return FORMS.has(type);
}

/** The body of a frame. */
export function body(type: number, ...fields: Field[]): Uint8Array {
  const forms = FORMS.get(type) ?? "";
  const writer = new Writer();
  for (let at = 0; at < forms.length; at += 1) put(writer, forms[at]!, fields[at]!);
  return writer.finish();
}

/** A frame of a body: its type and length in front. */
export function frameOf(type: number, content: Uint8Array): Uint8Array {
  return new Writer().u8(type).sized(content).finish();
}

/** A whole frame. */
export function frame(type: number, ...fields: Field[]): Uint8Array {
  return frameOf(type, body(type, ...fields));
}

/** The fields of a known frame; bytes behind the last one are skipped, for later releases. */
export function fieldsOf(type: number, content: Uint8Array): Fields {
  const reader = new Reader(content);
  const fields = new Fields();
  for (const form of FORMS.get(type) ?? "") fields.all.push(take(reader, form));
  fields.behind = reader;
  return fields;
}

/** The fields of one frame by their place. */
export class Fields {
  readonly all: Field[] = [];
  /** What stands behind the known fields; a few frames have more there. */
  behind!: Reader;

  /** A number; 2^53 in place of a larger one, which would not be written again as it was. */
  number(at: number): number {
    return Math.min(Number(this.all[at]), 2 ** 53);
  }

  bytes(at: number): Uint8Array {
    return this.all[at] as Uint8Array;
  }
}

/** The items of a run: 1 to 256 of at most 48 bytes each. */
export function runItems(bytes: Uint8Array): Uint8Array[] {
  const reader = new Reader(bytes);
  const items = [];
  while (!reader.isEmpty) {
    const length = reader.u8();
    if (length > 48) throw new Broken(Code.Protocol, "an item of a run has at most 48 bytes");
    items.push(reader.take(length));
  }
  if (items.length < 1 || items.length > 256) {
    throw new Broken(Code.Protocol, "a run has 1 to 256 items");
  }
  return items;
}

function put(writer: Writer, form: string, field: Field): void {
  if (form === "v") writer.number(field as number | bigint);
  else if (form === "1") writer.u8(Number(field));
  else if (form === "2") writer.u16(Number(field));
  else if (form === "8") writer.u64(BigInt(field as number | bigint));
  else if (form === "b") writer.sized(field as Uint8Array);
  else writer.put(field as Uint8Array);
}

function take(reader: Reader, form: string): Field {
  if (form === "v") return reader.number();
  if (form === "1") return reader.u8();
  if (form === "2") return reader.u16();
  if (form === "8") return reader.u64();
  return form === "b" ? reader.sized() : reader.rest();
}
