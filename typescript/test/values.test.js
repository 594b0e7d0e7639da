/** Values are written and read as MessagePack has them, and types as a description spells them. */

import assert from "node:assert/strict";
import { createHash, createHmac, randomBytes } from "node:crypto";
import { test } from "node:test";
import { parseKind } from "../dist/values/kind.js";
import { decode, encode, Extension } from "../dist/values/msgpack.js";
import { concat, hex } from "../dist/wire/bytes.js";
import { hmac, sha256 } from "../dist/wire/sha256.js";

const bytes = (digits) => Uint8Array.from(Buffer.from(digits, "hex"));
const filled = (length) => new Uint8Array(length).fill(7);
const nulls = (length) => Array(length).fill(null);
const numbered = (length) => new Map(Array.from({ length }, (_, at) => [at, null]));

/** The first bytes of each value in its shortest form, at both sides of every limit of the format. */
const FORMS = [
  [0, "00"],
  [127, "7f"],
  [128, "cc80"],
  [255, "ccff"],
  [256, "cd0100"],
  [65_535, "cdffff"],
  [65_536, "ce00010000"],
  [2 ** 32 - 1, "ceffffffff"],
  [2 ** 32, "cf0000000100000000"],
  [2 ** 53 - 1, "cf001fffffffffffff"],
  [2n ** 53n, "cf0020000000000000"],
  [2n ** 64n - 1n, "cfffffffffffffffff"],
  [-1, "ff"],
  [-32, "e0"],
  [-33, "d0df"],
  [-128, "d080"],
  [-129, "d1ff7f"],
  [-32_768, "d18000"],
  [-32_769, "d2ffff7fff"],
  [-(2 ** 31), "d280000000"],
  [-(2 ** 31) - 1, "d3ffffffff7fffffff"],
  [-(2n ** 63n), "d38000000000000000"],
  [0.5, "cb3fe0000000000000"],
  [-0, "cb8000000000000000"],
  [null, "c0"],
  [false, "c2"],
  [true, "c3"],
  ["", "a0"],
  ["a".repeat(31), "bf61"],
  ["a".repeat(32), "d92061"],
  ["a".repeat(255), "d9ff61"],
  ["a".repeat(256), "da010061"],
  ["a".repeat(65_536), "db0001000061"],
  [filled(0), "c400"],
  [filled(255), "c4ff07"],
  [filled(256), "c5010007"],
  [filled(65_536), "c60001000007"],
  [nulls(0), "90"],
  [nulls(15), "9fc0"],
  [nulls(16), "dc0010c0"],
  [nulls(65_535), "dcffffc0"],
  [nulls(65_536), "dd00010000c0"],
  [numbered(0), "80"],
  [numbered(15), "8f00c001c0"],
  [numbered(16), "de001000c001c0"],
  [numbered(65_536), "df0001000000c001c0"],
  [new Extension(5, filled(255)), "c7ff0507"],
  [new Extension(-1, filled(256)), "c80100ff07"],
  [new Extension(5, filled(65_536)), "c9000100000507"],
];

test("a value is written in its shortest form, and read from it", () => {
  for (const [value, first] of FORMS) {
    const written = encode(value);
    assert.equal(hex(written.subarray(0, first.length / 2)), first);
    assert.deepEqual(decode(written), value, first);
    for (const end of [written.length - 1, Math.floor(written.length / 2)]) {
      assert.throws(() => decode(written.subarray(0, end)), first);
    }
    assert.throws(() => decode(concat([written, bytes("c0")])), /behind the value/);
  }
});

test("a value is read from the forms that other libraries write", () => {
  for (const [digits, value] of [
    ["ca3f000000", 0.5],
    ["cc01", 1],
    ["ce00000001", 1],
    ["cf0000000000000001", 1],
    ["d3ffffffffffffffff", -1],
    ["d0ff", -1],
    ["d2ffffffff", -1],
    ["da000161", "a"],
    ["db0000000161", "a"],
    ["c60000000107", filled(1)],
    ["dd00000001c0", [null]],
    ["df0000000100c0", numbered(1)],
    ["d40507", new Extension(5, filled(1))],
    ["d5050707", new Extension(5, filled(2))],
    ["d60507070707", new Extension(5, filled(4))],
    ["d705" + "07".repeat(8), new Extension(5, filled(8))],
    ["d8ff" + "07".repeat(16), new Extension(-1, filled(16))],
  ]) {
    assert.deepEqual(decode(bytes(digits)), value, digits);
  }
});

test("a byte that begins no value, and a false count, are refused", () => {
  assert.throws(() => decode(bytes("c1")), /no value begins with the byte 193/);
  for (const digits of ["dc0002c0", "ddffffffffc0", "de000100", "dfffffffff00c0", "dbffffffff61", "c6ffffffff07"]) {
    assert.throws(() => decode(bytes(digits)), digits);
  }
});

test("arrays take the memory of the values that have come, not of their counts", () => {
  const message = filled(1 << 20).fill(0xc0);
  const view = new DataView(message.buffer);
  for (let level = 0; level < 60; level += 1) {
    view.setUint8(5 * level, 0xdd);
    view.setUint32(5 * level + 1, message.length - 5 * (level + 1));
  }
  const { heapUsed } = process.memoryUsage();
  let most = 0;
  // The values of the innermost array end with the message, so the counts around it are false.
  assert.throws(() => decode(message), () => (most = process.memoryUsage().heapUsed) > 0);
  assert.ok(most - heapUsed < 128 << 20, `${(most - heapUsed) >> 20} MiB for a message of 1 MiB`);
});

test("values nest 64 levels deep, and no deeper", () => {
  const nested = (levels, around) => Array.from({ length: levels }).reduce(around, null);
  for (const around of [(inner) => [inner], (inner) => new Map([[0, inner]]), (inner) => new Map([[inner, 0]])]) {
    const deepest = nested(64, around);
    assert.deepEqual(decode(encode(deepest)), deepest);
    assert.throws(() => encode(around(deepest)), /64 levels/);
  }
  assert.throws(() => decode(concat([filled(65).fill(0x91), bytes("c0")])), /64 levels/);
  assert.throws(() => decode(concat([...Array(65).fill(bytes("8100")), bytes("c0")])), /64 levels/);
  assert.throws(() => decode(concat([filled(65).fill(0x81), bytes("c0")])), /64 levels/);
});

test("types are read as a description spells them", () => {
  const leaf = (name) => ({ name, parts: [] });
  for (const [spelled, kind] of [
    ["u64", leaf("u64")],
    ["&'a str", leaf("str")],
    ["& [u8]", { name: "[", parts: [leaf("u8")] }],
    ["[u8; 4]", { name: "[", parts: [leaf("u8")] }],
    ["[[u8; 4]; 2]", { name: "[", parts: [{ name: "[", parts: [leaf("u8")] }] }],
    ["()", { name: "(", parts: [] }],
    ["(u8,)", { name: "(", parts: [leaf("u8")] }],
    ["(u8, [i64; 3])", { name: "(", parts: [leaf("u8"), { name: "[", parts: [leaf("i64")] }] }],
    ["std::collections::HashMap<String, Vec<u8>>", { name: "HashMap", parts: [leaf("String"), { name: "Vec", parts: [leaf("u8")] }] }],
    ["Cow<'static, str>", { name: "Cow", parts: [leaf("str")] }],
    ["Vec<".repeat(31) + "u8" + ">".repeat(31), Array.from({ length: 31 }).reduce((inner) => ({ name: "Vec", parts: [inner] }), leaf("u8"))],
    ["Vec<".repeat(32) + "u8" + ">".repeat(32), undefined],
    ...["", "u8 u8", "Vec<", "Vec<u8", "(u8", "[u8; 4", "[", "impl Fn(u8) -> u8", "<u8>", "(u8))", "&"].map((spelled) => [spelled, undefined]),
  ]) {
    assert.deepEqual(parseKind(spelled), kind, spelled);
  }
});

test("digests are those of Node, at every length around a block", () => {
  for (let length = 0; length <= 200; length += 1) {
    const data = randomBytes(length);
    assert.equal(hex(sha256(data)), createHash("sha256").update(data).digest("hex"), `${length} bytes`);
    const key = randomBytes(length);
    assert.equal(hex(hmac(key, data)), createHmac("sha256", key).update(data).digest("hex"), `a key of ${length} bytes`);
  }
});
