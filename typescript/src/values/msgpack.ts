/**
 * MessagePack, with the numbers of the link protocol: whole numbers of 64 bits are exact.
 *
 * A number outside of the safe range of JavaScript is a `bigint`, every other one a `number`. A map is
 * a `Map`, whose keys may be of any type. Extensions are left to their owner.
 */

import { Reader, text, utf8, Writer } from "../wire/bytes.js";

/** Levels that values nest. */
const DEPTH_MAX = 64;

export class Extension {
  constructor(
    readonly type: number,
    readonly data: Uint8Array,
  ) {}
}

export type Wire = null | boolean | number | bigint | string | Uint8Array | Extension | Wire[] | Map<Wire, Wire>;

/** The bytes of a value. */
export function encode(value: Wire): Uint8Array {
  const writer = new Writer();
  put(writer, value, 0);
  return writer.finish();
}

/** The one value in `bytes`. Bytes that are none, and bytes behind it, are an error. */
export function decode(bytes: Uint8Array): Wire {
  const reader = new Reader(bytes);
  const value = take(reader, 0);
  if (!reader.isEmpty) throw new Error("bytes stand behind the value");
  return value;
}

function put(writer: Writer, value: Wire, depth: number): void {
  if (depth > DEPTH_MAX) throw new Error(`values nest at most ${DEPTH_MAX} levels deep`);
  if (value === null) writer.u8(0xc0);
  else if (typeof value === "boolean") writer.u8(value ? 0xc3 : 0xc2);
  else if (typeof value === "number") putNumber(writer, value);
  else if (typeof value === "bigint") putWhole(writer, value);
  else if (typeof value === "string") {
    const bytes = utf8(value);
    putHead(writer, bytes.length, 0xa0, 32, [0xd9, 0xda, 0xdb]).put(bytes);
  } else if (value instanceof Uint8Array) {
    putHead(writer, value.length, 0, 0, [0xc4, 0xc5, 0xc6]).put(value);
  } else if (value instanceof Extension) {
    putHead(writer, value.data.length, 0, 0, [0xc7, 0xc8, 0xc9]).u8(value.type).put(value.data);
  } else if (Array.isArray(value)) {
    putHead(writer, value.length, 0x90, 16, [undefined, 0xdc, 0xdd]);
    for (const one of value) put(writer, one, depth + 1);
  } else {
    putHead(writer, value.size, 0x80, 16, [undefined, 0xde, 0xdf]);
    for (const [key, one] of value) {
      put(writer, key, depth + 1);
      put(writer, one, depth + 1);
    }
  }
}

/** A length in its shortest form. */
function putHead(writer: Writer, length: number, small: number, smallEnd: number, tags: (number | undefined)[]): Writer {
  if (length < smallEnd) return writer.u8(small | length);
  const power = length < 0x100 && tags[0] !== undefined ? 0 : length < 0x10000 ? 1 : 2;
  return putWide(writer.u8(tags[power]!), length, 1 << power);
}

/** A whole number of 1, 2 or 4 bytes, big-endian. */
function putWide(writer: Writer, value: number, width: number): Writer {
  for (let at = width - 1; at >= 0; at -= 1) writer.u8((value >>> (8 * at)) & 0xff);
  return writer;
}

function putNumber(writer: Writer, value: number): void {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) putWhole(writer, value);
  else writer.u8(0xcb).view(8).setFloat64(0, value);
}

/** A whole number in its shortest form. */
function putWhole(writer: Writer, value: number | bigint): void {
  // A bigint beyond the safe range is rounded, and stays beyond 32 bits.
  const number = Number(value);
  const isNegative = number < 0;
  if (number >= -32 && number < 0x80) {
    writer.u8(number & 0xff);
    return;
  }
  for (let power = 0; power < 3; power += 1) {
    const end = 2 ** (8 << power);
    if (isNegative ? number >= -end / 2 : number < end) {
      putWide(writer.u8((isNegative ? 0xd0 : 0xcc) + power), number, 1 << power);
      return;
    }
  }
  const big = BigInt(value);
  const bits = BigInt.asUintN(64, big);
  if (big !== (isNegative ? BigInt.asIntN(64, bits) : bits)) throw new Error(`${value} has more than 64 bits`);
  writer.u8(isNegative ? 0xd3 : 0xcf).view(8).setBigUint64(0, bits);
}

function take(reader: Reader, depth: number): Wire {
  if (depth > DEPTH_MAX) throw new Error(`values nest at most ${DEPTH_MAX} levels deep`);
  const tag = reader.u8();
  if (tag < 0x80) return tag;
  if (tag >= 0xe0) return tag - 0x100;
  if (tag < 0x90) return takeMap(reader, tag & 0x0f, depth);
  if (tag < 0xa0) return takeArray(reader, tag & 0x0f, depth);
  if (tag < 0xc0) return text(reader.take(tag & 0x1f));
  if (tag === 0xc0) return null;
  if (tag === 0xc2 || tag === 0xc3) return tag === 0xc3;
  if (tag >= 0xc4 && tag <= 0xc6) return reader.take(length(reader, tag - 0xc4)).slice();
  if (tag >= 0xc7 && tag <= 0xc9) return takeExtension(reader, length(reader, tag - 0xc7));
  if (tag === 0xca) return reader.view(4).getFloat32(0);
  if (tag === 0xcb) return reader.view(8).getFloat64(0);
  if (tag >= 0xcc && tag <= 0xce) return wide(reader, 1 << (tag - 0xcc));
  if (tag === 0xcf) return small(reader.view(8).getBigUint64(0));
  if (tag === 0xd3) return small(reader.view(8).getBigInt64(0));
  if (tag >= 0xd0 && tag <= 0xd2) {
    const width = 1 << (tag - 0xd0);
    const shift = 32 - 8 * width;
    return (wide(reader, width) << shift) >> shift;
  }
  if (tag >= 0xd4 && tag <= 0xd8) return takeExtension(reader, 1 << (tag - 0xd4));
  if (tag >= 0xd9 && tag <= 0xdb) return text(reader.take(length(reader, tag - 0xd9)));
  if (tag === 0xdc || tag === 0xdd) return takeArray(reader, length(reader, tag - 0xdb), depth);
  if (tag === 0xde || tag === 0xdf) return takeMap(reader, length(reader, tag - 0xdd), depth);
  throw new Error(`no value begins with the byte ${tag}`);
}

/** A whole number of so many bytes, big-endian. */
function wide(reader: Reader, width: number): number {
  let value = 0;
  for (const byte of reader.take(width)) value = value * 256 + byte;
  return value;
}

/** A length of 1, 2 or 4 bytes. */
function length(reader: Reader, power: number): number {
  return wide(reader, 1 << power);
}

function small(value: bigint): number | bigint {
  const isSafe = value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER);
  return isSafe ? Number(value) : value;
}

function takeExtension(reader: Reader, length: number): Extension {
  return new Extension((reader.u8() << 24) >> 24, reader.take(length).slice());
}

function takeArray(reader: Reader, count: number, depth: number): Wire[] {
  // Grows with what has come: arrays within arrays could announce gigabytes in a few bytes.
  const values: Wire[] = [];
  while (values.length < count) values.push(take(reader, depth + 1));
  return values;
}

function takeMap(reader: Reader, count: number, depth: number): Map<Wire, Wire> {
  const map = new Map<Wire, Wire>();
  for (let at = 0; at < count; at += 1) map.set(take(reader, depth + 1), take(reader, depth + 1));
  return map;
}
