/**
 * SHA-256 and HMAC-SHA-256 of short inputs.
 *
 * The browser's own are asynchronous, and missing on pages that were not loaded over https, which a
 * page of a device in a local network is. The session computes one proof for each connection.
 */

import { concat } from "./bytes.js";

/** The first 32 bits of the fractional parts of the roots of the first primes (FIPS 180-4). */
function fractions(count: number, root: (prime: number) => number): Uint32Array {
  const words = new Uint32Array(count);
  for (let at = 0, candidate = 2; at < count; candidate += 1) {
    let isPrime = true;
    for (let by = 2; by * by <= candidate; by += 1) isPrime &&= candidate % by !== 0;
    if (isPrime) words[at++] = (root(candidate) % 1) * 2 ** 32;
  }
  return words;
}

const ROUNDS = /* @__PURE__ */ fractions(64, Math.cbrt);
const START = /* @__PURE__ */ fractions(8, Math.sqrt);

const rotate = (word: number, by: number) => (word >>> by) | (word << (32 - by));

export function sha256(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const state = START.slice();
  for (let block = 0; block < padded.length; block += 64) compress(state, view, block);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, at) => digest.setUint32(4 * at, word));
  return new Uint8Array(digest.buffer);
}

function compress(state: Uint32Array, view: DataView, block: number): void {
  const words = new Uint32Array(64);
  for (let at = 0; at < 64; at += 1) {
    if (at < 16) {
      words[at] = view.getUint32(block + 4 * at);
      continue;
    }
    const [near, far] = [words[at - 2]!, words[at - 15]!];
    const low = rotate(far, 7) ^ rotate(far, 18) ^ (far >>> 3);
    const high = rotate(near, 17) ^ rotate(near, 19) ^ (near >>> 10);
    words[at] = words[at - 16]! + low + words[at - 7]! + high;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [
    number, number, number, number, number, number, number, number,
  ];
  for (let at = 0; at < 64; at += 1) {
    const choice = (e & f) ^ (~e & g);
    const mixed = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const first = (h + mixed + choice + ROUNDS[at]! + words[at]!) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, at) => (state[at]! += word));
}

/** HMAC (RFC 2104). */
export function hmac(key: Uint8Array, data: Uint8Array): Uint8Array {
  const short = key.length > 64 ? sha256(key) : key;
  const pad = (fill: number) => {
    const block = new Uint8Array(64).fill(fill);
    short.forEach((byte, at) => (block[at] = fill ^ byte));
    return block;
  };
  return sha256(concat([pad(0x5c), sha256(concat([pad(0x36), data]))]));
}
