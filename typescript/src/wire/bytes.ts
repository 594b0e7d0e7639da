/**
 * The cursors that read and write fields of the link protocol.
 *
 * Numbers of variable length are LEB128 in the shortest form, below 2^64. JavaScript's numbers are
 * exact up to 2^53, which no count, limit or sequence number of a session reaches in practice; `exact`
 * reads all 64 bits.
 */

import * as Code from "./code.js";
import { Broken } from "./codes.js";

// A mark of the byte order is a letter of the text like any other, and not left out.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

export const EMPTY = new Uint8Array(0);

/** The bytes of a text in UTF-8. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text of bytes in UTF-8; bytes that are none become replacement characters. */
export function text(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/**
 * The words of the other side for people, as one line. A terminal would obey control characters, and a line
 * end would forge a line of a log.
 */
export function line(bytes: Uint8Array): string {
  return text(bytes).replace(/\p{Cc}/gu, " ");
}

/** The bytes as hexadecimal digits, by which tables find an id. */
export function hex(bytes: Uint8Array): string {
  let digits = "";
  for (const byte of bytes) digits += byte.toString(16).padStart(2, "0");
  return digits;
}

/** True if both have the same bytes. */
export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/** All bytes in one array. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Takes fields off the front of some bytes. A field that reaches beyond the end is a broken rule. */
export class Reader {
  #at = 0;

  constructor(readonly bytes: Uint8Array) {}

  get isEmpty(): boolean {
    return this.#at === this.bytes.length;
  }

  get left(): number {
    return this.bytes.length - this.#at;
  }

  /** The next bytes, without a copy. */
  take(count: number): Uint8Array {
    return this.bytes.subarray(this.#skip(count), this.#at);
  }

  u8(): number {
    return this.bytes[this.#skip(1)]!;
  }

  u16(): number {
    return this.u8() | (this.u8() << 8);
  }

  u64(): bigint {
    return this.view(8).getBigUint64(0, true);
  }

  /** The next bytes, for numbers of another form. */
  view(count: number): DataView {
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + this.#skip(count), count);
  }

  /** A number of variable length. Above 2^53 it is rounded. */
  number(): number {
    // Most are of one byte.
    return this.bytes[this.#at]! < 0x80 ? this.u8() : Number(this.exact());
  }

  /** A number of variable length with all its bits. */
  exact(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.u8();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      if ((byte === 0 && shift > 0n) || value >= 1n << 64n) break;
      return value;
    }
    throw new Broken(Code.Protocol, "a number is in its shortest form and below 2^64");
  }

  /** Bytes behind their length. */
  sized(): Uint8Array {
    return this.take(this.number());
  }

  rest(): Uint8Array {
    return this.take(this.left);
  }

  /** Moves on by `count`, and returns where the bytes begin. */
  #skip(count: number): number {
    const from = this.#at;
    if (count > this.bytes.length - from) {
      throw new Broken(Code.Protocol, "a field ends within its message");
    }
    this.#at = from + count;
    return from;
  }
}

/** Buffers that no writer uses: to allocate and to free one costs more than to fill it. */
const FREE: Uint8Array[] = [];
const FREE_MAX = 8;
const FREE_BYTES = 4_096;

/** Bytes that grow at their end. */
export class Writer {
  #bytes: Uint8Array = FREE.pop() ?? new Uint8Array(FREE_BYTES);
  #length = 0;

  /** What was written; the writer is of no more use. */
  finish(): Uint8Array {
    const bytes = this.#bytes;
    this.#bytes = EMPTY;
    if (bytes.length > FREE_BYTES) return bytes.subarray(0, this.#length);
    if (FREE.length < FREE_MAX) FREE.push(bytes);
    return bytes.slice(0, this.#length);
  }

  u8(value: number): this {
    this.#grow(1);
    this.#bytes[this.#length++] = value;
    return this;
  }

  u16(value: number): this {
    return this.u8(value & 0xff).u8(value >> 8);
  }

  u64(value: bigint): this {
    this.view(8).setBigUint64(0, value, true);
    return this;
  }

  /** A number of variable length: a whole one from 0 to below 2^64. Any other is a `RangeError`. */
  number(value: number | bigint): this {
    // Most are of one byte.
    if (typeof value === "number" && (value & 0x7f) === value) return this.u8(value);
    let rest = BigInt(value);
    if (rest >> 64n) throw new RangeError(`${value} has no form of 64 bits`);
    for (; rest >= 0x80n; rest >>= 7n) this.u8(Number(rest & 0x7fn) | 0x80);
    return this.u8(Number(rest));
  }

  put(bytes: Uint8Array): this {
    this.#grow(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  sized(bytes: Uint8Array): this {
    return this.number(bytes.length).put(bytes);
  }

  /** The next bytes, for a number of another form; valid until the next write. */
  view(count: number): DataView {
    this.#grow(count);
    this.#length += count;
    return new DataView(this.#bytes.buffer, this.#length - count, count);
  }

  #grow(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
