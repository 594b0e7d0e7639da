/** The messages of an opening (sections 1, 2 and 7 of the page), and the proofs in them. */

import * as Opening from "./opening_type.js";
import { concat, EMPTY, Reader, utf8, Writer } from "./bytes.js";
import * as Code from "./code.js";
import { Broken } from "./codes.js";
import { hmac, sha256 } from "./sha256.js";


const MAGIC = new Uint8Array([0x57, 0x49, 0x47, 0x57, 0x41, 0x47, 0x0d, 0x0a]);

/** The bits of the features that this client offers; section 1 has the meaning of each. */
export const Feature = {
  STREAMS: 1n << 0n,
  PARTS: 1n << 1n,
  RESUMING: 1n << 3n,
  RUNS: 1n << 4n,
  OUTCOMES: 1n << 6n,
  CANCELLING: 1n << 7n,
  MIXED_RUNS: 1n << 8n,
  REFERENCES: 1n << 9n,
} as const;

export const OFFERED = Object.values(Feature).reduce((all, bit) => all | bit, 0n);

/** What a side accepts as a receiver: each with its tag, default, and least value. */
const LIMITS = {
  batchMax: [1, 262_144, 2_048],
  frameMax: [2, 65_536, 256],
  messageMax: [3, 16_777_216, 0],
  initialUnits: [4, 64, 1],
  attachPendingMax: [5, 16, 1],
  channelsMax: [6, 8_192, 0],
  slotsMax: [7, 65_536, 0],
  assemblyInitial: [8, 1_048_576, 0],
  heartbeatMs: [9, 1_000, 0],
} as const;

export type Limits = { -readonly [Name in keyof typeof LIMITS]: number };

const LIMIT_NAMES = Object.keys(LIMITS) as (keyof Limits)[];

export function defaultLimits(): Limits {
  return Object.fromEntries(LIMIT_NAMES.map((name) => [name, LIMITS[name][1]])) as Limits;
}

export interface Hello {
  versionMin: number;
  versionMax: number;
  node: Uint8Array;
  incarnation: Uint8Array;
  nonce: Uint8Array;
  offered: bigint;
  required: bigint;
  limits: Limits;
}

export function hello(of: Hello): Uint8Array {
  const writer = new Writer(160).u8(Opening.HELLO).put(MAGIC).u8(of.versionMin).u8(of.versionMax).u16(0);
  writer.put(of.node).put(of.incarnation).put(of.nonce).u64(of.offered).u64(of.required);
  for (const name of LIMIT_NAMES) {
    writer.number(LIMITS[name][0]).sized(new Writer(10).number(of.limits[name]).finish());
  }
  return writer.finish();
}

/** Reads HELLO. Any other first message is no answer of a wigwag node. */
export function parseHello(bytes: Uint8Array): Hello {
  const reader = new Reader(bytes);
  const isHello = reader.left > 9 && reader.u8() === Opening.HELLO;
  if (!isHello || !reader.take(8).every((byte, at) => byte === MAGIC[at])) {
    throw new Broken(Code.Protocol, "the first message is HELLO");
  }
  const [versionMin, versionMax] = [reader.u8(), reader.u8()];
  if (reader.u16() !== 0) throw new Broken(Code.Protocol, "the flags of HELLO are zero");
  const [node, incarnation, nonce] = [reader.take(16), reader.take(16), reader.take(16)];
  const [offered, required] = [reader.u64(), reader.u64()];
  const limits = defaultLimits();
  while (!reader.isEmpty) {
    const tag = reader.number();
    const value = reader.sized();
    const name = LIMIT_NAMES.find((name) => LIMITS[name][0] === tag);
    if (name === undefined) continue;
    limits[name] = new Reader(value).number();
    if (limits[name] < LIMITS[name][2]) throw new Broken(Code.Protocol, `${name} is too small`);
  }
  return { versionMin, versionMax, node, incarnation, nonce, offered, required, limits };
}

/** The body of a frame that fits into a batch together with the header. */
export function effectiveFrameMax(limits: Limits): number {
  return Math.min(limits.frameMax, limits.batchMax - 1_035);
}

export function open(session: Uint8Array, name: string): Uint8Array {
  const writer = new Writer(48).u8(Opening.OPEN).put(session).u16(0);
  if (name !== "") writer.number(1).sized(utf8(name));
  return writer.finish();
}

export function parseOpened(reader: Reader): { token: Uint8Array; ttlMs: number } {
  return { token: reader.take(16), ttlMs: reader.number() };
}

/** What RESUME claims, and what its proof covers. */
export interface Claim {
  session: Uint8Array;
  token: Uint8Array;
  ourNonce: Uint8Array;
  theirNonce: Uint8Array;
  epoch: number;
  recvNext: number;
}

export function resume(claim: Claim): Uint8Array {
  const writer = new Writer(96).u8(Opening.RESUME).put(claim.session).u16(0);
  return writer.number(claim.epoch).number(claim.recvNext).put(resumeProof(claim)).finish();
}

export function resumeProof(claim: Claim): Uint8Array {
  const covered = new Writer(64).put(claim.ourNonce).put(claim.theirNonce).put(claim.session);
  covered.u64(BigInt(claim.epoch)).u64(BigInt(claim.recvNext));
  return hmac(claim.token, covered.finish());
}

export function parseResumed(reader: Reader): { epoch: number; recvNext: number; token: Uint8Array } {
  return { epoch: reader.number(), recvNext: reader.number(), token: reader.take(16) };
}

/** A secret that both ends have, and its name. */
export interface SharedKey {
  name: string;
  secret: Uint8Array;
}

const KEY_LABEL = /* @__PURE__ */ utf8("wigwag shared key 1");

/**
 * The proof of a shared key by the dialer (`D`) or the listener (`L`). The binding to a certificate is
 * empty: a script is not told the certificate of its connection.
 */
export function keyProof(side: "D" | "L", key: SharedKey, ours: Uint8Array, theirs: Uint8Array): Uint8Array {
  const covered = new Writer(512).put(utf8(side)).sized(utf8(key.name));
  covered.sized(ours).sized(theirs).sized(EMPTY);
  return hmac(key.secret, concat([KEY_LABEL, covered.finish()]));
}

/** AUTH of method 2. */
export function auth(key: SharedKey, proof: Uint8Array): Uint8Array {
  const data = new Writer(64).sized(utf8(key.name)).put(proof).finish();
  return new Writer(96).u8(Opening.AUTH).u16(2).sized(data).finish();
}

/** The proof in an AUTH of method 2. */
export function parseAuth(reader: Reader): Uint8Array {
  if (reader.u16() !== 2) throw new Broken(Code.AuthFailed, "the listener proves a shared key");
  const data = new Reader(reader.sized());
  data.sized();
  return data.take(32);
}

/** The id of the node with that name. */
export function nodeId(name: string): Uint8Array {
  // The id is a number of 16 bytes whose first bytes on the wire are those of the digest.
  return sha256(utf8(name)).subarray(0, 16);
}
