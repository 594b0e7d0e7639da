/** The client reads and writes the bytes of docs/vectors/link. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as batches from "../dist/wire/batch.js";
import { concat, hex, Reader, utf8, Writer } from "../dist/wire/bytes.js";
import * as Code from "../dist/wire/code.js";
import * as Frame from "../dist/wire/frame.js";
import { body, fieldsOf, frameOf, isKnown, MAY_BE_SKIPPED, runItems } from "../dist/wire/frames.js";
import * as opening from "../dist/wire/opening.js";
import { SharedKey } from "../dist/api/shared_key.js";
import { ROOT } from "./support/service.js";

const read = (name) => JSON.parse(readFileSync(`${ROOT}docs/vectors/link/${name}.json`, "utf8"));
const bytes = (digits) => Uint8Array.from(Buffer.from(digits, "hex"));
/** An id is written with its most significant byte first, and is sent with its least significant one first. */
const id = (digits) => bytes(digits.slice(2)).reverse();
/** A limit `batch_max` is `batchMax` here. */
const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

/** A field of a vector: bytes are digits in hexadecimal, a large number is in a text too. */
function field(value, like) {
  if (like instanceof Uint8Array) return bytes(value);
  return typeof value === "number" ? value : BigInt(value);
}

const plain = (value) => (value instanceof Uint8Array ? hex(value) : Number(value));

/** The expected frames, with numbers in the form in which `found` has them. */
function expected({ frames }, found) {
  return frames.map(({ frame, fields }, at) => {
    const values = Object.values(fields).map((value, place) => (typeof found[at]?.[place + 1] === "number" ? Number(value) : value));
    return [frame, ...values];
  });
}

test("numbers are as in the vectors", () => {
  const { vectors, refused } = read("varint");
  for (const { value, hex: digits } of vectors) {
    assert.equal(hex(new Writer().number(BigInt(value)).finish()), digits);
    assert.equal(new Reader(bytes(digits)).exact(), BigInt(value));
    assert.equal(new Reader(bytes(digits)).number(), Number(value));
    if (Number.isSafeInteger(value)) assert.equal(hex(new Writer().number(value).finish()), digits);
  }
  for (const { name, hex: digits } of refused) {
    assert.throws(() => new Reader(bytes(digits)).number(), { code: Code.Protocol }, name);
    assert.throws(() => new Reader(bytes(digits)).exact(), { code: Code.Protocol }, name);
  }
});

test("what is no number of 64 bits is not written", () => {
  for (const value of [-1, -0.5, 0.5, 127.5, 1e6 + 0.5, NaN, Infinity, -Infinity, 2 ** 64, -1n, -128n, 2n ** 64n]) {
    assert.throws(() => new Writer().number(value), RangeError, String(value));
  }
  assert.equal(hex(new Writer().number(2 ** 53).finish()), "8080808080808010");
});

/** Frames of features that the client does not offer: it treats them as types that it does not know. */
const NOT_OFFERED = ["LINK", "UNLINK"];

test("every frame is written and read as in the vectors", () => {
  const seen = new Set();
  for (const { frame: name, fields, hex: digits } of read("frames").vectors) {
    if (NOT_OFFERED.includes(name)) {
      assert.ok(!isKnown(bytes(digits)[0]), name);
      continue;
    }
    seen.add(name);
    const type = Frame[name];
    const known = fieldsOf(type, bytes(digits).subarray(new Reader(bytes(digits).subarray(1)).exact() < 128n ? 2 : bytes(digits)[2] < 128 ? 3 : 4));
    const values = Object.values(fields).map((value, at) => field(value, known.all[at]));
    assert.deepEqual(known.all.map(plain), values.slice(0, known.all.length).map(plain), digits.slice(0, 40));
    // NEED and DETACHED have an optional field behind the known ones.
    const optional = values.slice(known.all.length).map((value) => (value instanceof Uint8Array ? new Writer().sized(value) : new Writer().number(value)).finish());
    const content = concat([body(type, ...values.slice(0, known.all.length)), ...optional]);
    assert.equal(hex(frameOf(type, content)), digits, name);
  }
  assert.ok(seen.size >= 25, [...seen].join());
});

test("the header of a batch is as in the vectors", () => {
  const { vectors, refused } = read("batch");
  for (const { fields, hex: digits } of vectors) {
    assert.equal(hex(batches.batchHead(BigInt(fields.ack), BigInt(fields.first_seq), BigInt(fields.count))), digits);
    const batch = batches.parseBatch(bytes(digits), 65_536);
    assert.deepEqual([batch.ack, batch.firstSeq, batch.count], Object.values(fields).map(Number));
  }
  for (const { name, hex: digits, code } of refused) {
    assert.throws(() => batches.parseBatch(bytes(digits), 65_536), { code }, name);
  }
});

test("opening messages are as in the vectors", () => {
  for (const { message, fields, hex: digits } of read("opening").vectors) {
    const reader = new Reader(bytes(digits).subarray(1));
    if (message === "HELLO") {
      const hello = opening.parseHello(bytes(digits));
      assert.equal(hex(opening.hello(hello)), digits);
      assert.equal(hex(hello.node), hex(id(fields.node)));
      assert.deepEqual(hello.limits, Object.fromEntries(Object.entries(fields.limits).map(([name, value]) => [camel(name), value])));
    } else if (message === "OPEN") {
      assert.equal(hex(opening.open(id(fields.session), "")), digits);
    } else if (message === "OPENED") {
      assert.deepEqual(opening.parseOpened(reader), { token: id(fields.token), ttlMs: fields.ttl_ms });
    } else if (message === "RESUME") {
      const { epoch, recv_next: recvNext } = fields;
      const [session, token, ourNonce, theirNonce] = [fields.session, fields.token, fields.dialer_nonce, fields.listener_nonce].map(id);
      assert.equal(hex(opening.resume({ session, token, ourNonce, theirNonce, epoch, recvNext })), digits);
    } else if (message === "RESUMED") {
      const { epoch, recv_next: recvNext, token } = fields;
      assert.deepEqual(opening.parseResumed(reader), { epoch, recvNext, token: id(token) });
    }
  }
});

test("each side proves a shared key as in the vectors", () => {
  const { dialer_hello: dialer, listener_hello: listener, vectors } = read("shared_key");
  const [ours, theirs] = [bytes(dialer), bytes(listener)];
  // A binding is that of TLS, of which a script is told nothing.
  for (const vector of vectors.filter((one) => one.binding === "")) {
    const key = new SharedKey(Buffer.from(vector.name, "hex").toString(), bytes(vector.secret));
    for (const [side, expected] of [["D", vector.dialer], ["L", vector.listener]]) {
      assert.equal(hex(key.proof(side, ours, theirs)), expected.proof);
      assert.equal(hex(key.auth(bytes(expected.proof))), expected.hex);
      const isProven = key.isProvenBy(new Reader(bytes(expected.hex).subarray(1)), ours, theirs);
      assert.equal(isProven, side === "L");
    }
  }
});

for (const file of ["runs", "mixed_runs"]) {
  test(`the batches of ${file} are read as in the vectors`, () => {
    for (const { name, hex: digits, expect } of read(file).vectors) {
      if (expect.code !== undefined) {
        assert.throws(() => framesOf(digits), { code: expect.code }, name);
        continue;
      }
      const { frames, count } = framesOf(digits);
      assert.deepEqual(frames, expected(expect, frames), name);
      assert.equal(count, expect.recv_next, name);
    }
  });
}

for (const file of ["ext/call_x", "ext/trailing_fields", "ext/unknown_frames"]) {
  test(`what a later release may send is handled as in ${file}`, () => {
    for (const { name, hex: digits, expect } of read(file).vectors) {
      // This client demands some features, and reads the frames of the others whether or not they are on.
      if (name.startsWith("of the feature")) continue;
      if (expect.code !== undefined) {
        assert.throws(() => framesOf(digits), { code: expect.code }, name);
        continue;
      }
      const { frames, count } = framesOf(digits);
      // What becomes of a call that is not understood is tested with the session.
      if (file === "ext/call_x" && expect.frames.some(({ frame }) => frame === "NOT_UNDERSTOOD" || frame === "ERROR")) continue;
      assert.deepEqual(frames, expected(expect, frames), name);
      assert.equal(count, expect.recv_next, name);
    }
  });
}

/** The frames of a batch by name and fields, with runs and extras taken apart. */
function framesOf(digits) {
  const batch = batches.parseBatch(bytes(digits), 65_536);
  const frames = [];
  let count = 0;
  for (const { type, body } of batch.frames) {
    if (type & 0x80) count += batches.numbersOf(type, body);
    if (!isKnown(type)) {
      if (!(type & MAY_BE_SKIPPED)) throw Object.assign(new Error("unknown"), { code: Code.UnknownFrame });
      frames.push(["SKIPPED", type]);
    } else if (batches.isCall(type)) {
      const extras = type === Frame.CALL_X ? batches.extended(body) : { type, body };
      if (extras.type === Frame.REPLY) frames.push(["REPLY", ...fieldsOf(Frame.REPLY, extras.body).all.map(plain)]);
      else {
        for (const call of batches.callsOf(extras.type, extras.body)) {
          const asker = call.asker ? [call.asker.slot, call.asker.generation] : [];
          frames.push([call.asker ? "ASK" : "TELL", call.channel, ...asker, call.method, hex(call.arguments)]);
        }
      }
    } else if (type === Frame.REPLIES) {
      const fields = fieldsOf(type, body);
      runItems(fields.bytes(2)).forEach((item, at) => frames.push(["REPLY", fields.number(0) + at, fields.number(1), hex(item)]));
    } else {
      const name = Object.keys(Frame).find((name) => Frame[name] === type);
      frames.push([name, ...fieldsOf(type, body).all.map(plain)]);
    }
  }
  if (count !== batch.count) throw Object.assign(new Error("count"), { code: Code.Protocol });
  return { frames, count };
}

test("the id of a node is that of the page", () => {
  assert.equal(hex(opening.nodeId("abc")), "ba7816bf8f01cfea414140de5dae2223");
  assert.equal(hex(utf8("é")), "c3a9");
});
