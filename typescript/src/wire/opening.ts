/** The messages of an opening (sections 1, 2 and 7 of the page), and the proofs in them. */

import * as Opening from "./opening_type.js";
import { Reader, utf8, Writer } from "./bytes.js";
import * as Code from "./code.js";
import { Broken } from "./codes.js";
import { hmac, sha256 } from "./sha256.js";


const MAGIC = new Uint8Array([0x57, 0x49, 0x47, 0x57, 0x41, 0x47, 0x0d, 0x0a]);

/** The bits of the features that this client offers; section 1 has the meaning of each. */
export const STREAMS = 1 << 0;
export const PARTS = 1 << 1;
export const RESUMING = 1 << 3;
export const RUNS = 1 << 4;
export const OUTCOMES = 1 << 6;
export const CANCELLING = 1 << 7;
export const MIXED_RUNS = 1 << 8;
export const REFERENCES = 1 << 9;
export const PIPES = 1 << 11;
export const STREAM_VALUES = 1 << 12;

export const OFFERED = /* @__PURE__ */ BigInt(
  STREAMS | PARTS | RESUMING | RUNS | OUTCOMES | CANCELLING | MIXED_RUNS | REFERENCES | PIPES | STREAM_VALUES,
);

/** True if a node that has said HELLO offers all of these features. */
export function offers(hello: Hello, features: number): boolean {
  return (Number(hello.offered & OFFERED) & features) === features;
}

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
  const writer = new Writer().u8(Opening.HELLO).put(MAGIC).u8(of.versionMin).u8(of.versionMax).u16(0);
  writer.put(of.node).put(of.incarnation).put(of.nonce).u64(of.offered).u64(of.required);
  for (const name of LIMIT_NAMES) {
    writer.number(LIMITS[name][0]).sized(new Writer().number(of.limits[name]).finish());
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
  const writer = new Writer().u8(Opening.OPEN).put(session).u16(0);
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
  const writer = new Writer().u8(Opening.RESUME).put(claim.session).u16(0);
  return writer.number(claim.epoch).number(claim.recvNext).put(resumeProof(claim)).finish();
}

export function resumeProof(claim: Claim): Uint8Array {
  const covered = new Writer().put(claim.ourNonce).put(claim.theirNonce).put(claim.session);
  covered.u64(BigInt(claim.epoch)).u64(BigInt(claim.recvNext));
  return hmac(claim.token, covered.finish());
}

export function parseResumed(reader: Reader): { epoch: number; recvNext: number; token: Uint8Array } {
  return { epoch: reader.number(), recvNext: reader.number(), token: reader.take(16) };
}

/** The id of the node with that name. */
export function nodeId(name: string): Uint8Array {
  // The id is a number of 16 bytes whose first bytes on the wire are those of the digest.
  return sha256(utf8(name)).subarray(0, 16);
}
