/** From the schema of an argument to a field, and from a text to JSON. */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { load } from "./support/load.js";

let schema;

before(async () => {
  schema = await load("ask/schema.ts");
});

const TYPES = {
  Order: {
    type: "object",
    description: "A purchase.",
    properties: { id: { type: "integer" }, paper: { $ref: "#/components/schemas/Paper" }, note: { anyOf: [{ type: "null" }, { type: "string" }] } },
  },
  Paper: { enum: ["Plain", "Glossy"], description: "The paper." },
  State: { oneOf: [{ enum: ["Open"] }, { type: "object", properties: { Paid: { type: "integer" } } }] },
  Loop: { type: "object", properties: { next: { $ref: "#/components/schemas/Loop" } } },
};

/** The field of one argument with this schema. */
function field(form, isRequired = true) {
  const method = { signature: "m(a: T) -> ()", stream: false, arguments: { properties: { a: form }, required: isRequired ? ["a"] : [] } };
  return schema.fieldsOf(method, TYPES)[0];
}

test("each type of an argument has a field of its own", () => {
  const bytes = { type: "array", items: { type: "integer" } };
  for (const [form, kind, initial] of [
    [{ type: "integer", minimum: 0 }, "integer", ""],
    [{ type: "number" }, "number", ""],
    [{ type: "string" }, "text", ""],
    [{ type: "boolean" }, "boolean", "false"],
    [{ $ref: "#/components/schemas/Paper" }, "choice", "Plain"],
    [{ $ref: "#/components/schemas/State" }, "json", '"Open"'],
    [{ $ref: "#/components/schemas/Order" }, "json", '{ "id": 0, "paper": "Plain", "note": null }'],
    [{ anyOf: [bytes, { type: "string" }] }, "json", "[]"],
    [{ anyOf: [{ type: "string", format: "ipv4" }, { type: "string", format: "ipv6" }] }, "text", ""],
    [{ anyOf: [{ type: "integer" }, { type: "array" }] }, "integer", ""],
    [{ type: "array", prefixItems: [{ type: "integer" }, { type: "string" }] }, "json", '[ 0, "" ]'],
    [{ type: "array", items: { type: "boolean" }, minItems: 2 }, "json", "[ false, false ]"],
    [{}, "json", "null"],
  ]) {
    const found = field(form);
    assert.deepEqual([found.kind, found.initial, found.isOptional], [kind, initial, false], JSON.stringify(form));
  }
});

test("what may be missing may be left empty", () => {
  const form = { anyOf: [{ type: "null" }, { $ref: "#/components/schemas/Paper" }] };
  const found = field(form, false);
  assert.deepEqual([found.kind, found.isOptional, found.initial, found.comment], ["choice", true, "", "The paper."]);
  assert.deepEqual(schema.read(found, ""), { json: undefined });
  assert.deepEqual(schema.read(found, "Glossy"), { json: '"Glossy"' });
});

test("a type that holds itself has an end", () => {
  assert.equal(field({ $ref: "#/components/schemas/Loop" }).kind, "json");
});

test("fields come in the order of the arguments", () => {
  const properties = Object.fromEntries(["b", "ab", "a"].map((name) => [name, { type: "string" }]));
  const method = { signature: "m(ab: String, b: String, a: String) -> ()", stream: false, arguments: { properties, required: [] } };
  assert.deepEqual(schema.fieldsOf(method, {}).map(({ name }) => name), ["ab", "b", "a"]);
});

test("texts become JSON as they are, and what is none is told", () => {
  for (const [kind, text, json] of [
    ["integer", " 18446744073709551615 ", "18446744073709551615"],
    ["integer", "-7", "-7"],
    ["integer", "007", undefined],
    ["integer", "1e3", undefined],
    ["integer", "", undefined],
    ["number", "1.50", "1.50"],
    ["number", "true", undefined],
    ["text", "", '""'],
    ["text", ' "a" ', '" \\"a\\" "'],
    ["boolean", "true", "true"],
    ["json", '{"a": [1]}', '{"a": [1]}'],
    ["json", "{a: 1}", undefined],
  ]) {
    const result = schema.read({ name: "a", kind, isOptional: false, options: [] }, text);
    assert.equal(result.json, json, `${kind} ${text}`);
    assert.equal(typeof result.wrong, json === undefined ? "string" : "undefined");
  }
  assert.equal(schema.bodyOf([["a", "1"], ['"', "2"]]), '{"a":1,"\\"":2}');
});

test("an answer is printed with line ends unless a number in it would change", () => {
  assert.equal(schema.pretty('{"a":[1]}'), '{\n  "a": [\n    1\n  ]\n}');
  assert.equal(schema.pretty('{"a":18446744073709551615}'), '{"a":18446744073709551615}');
  assert.equal(schema.pretty("no JSON"), "no JSON");
});
