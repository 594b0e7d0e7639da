/**
 * Between the values of a program and their form on the wire (docs/types.md).
 *
 * The description of the actor says which arrays are structs and enums. A value of a type that it does
 * not describe goes as it is.
 *
 * | type | value |
 * |---|---|
 * | a struct | an object of its fields; of a tuple struct, an array |
 * | an enum | the name of a variant without fields; otherwise an object of the name and the field, the array of the fields, or the object of the named fields |
 * | `Option<T>` | the value or `null`; `undefined` is taken too |
 * | `Result<T, E>` | `{ ok }` or `{ err }` |
 * | a map | an object if its keys are texts, otherwise a `Map` |
 */

import type { Field, Shape } from "./description.js";
import type { Kind } from "./kind.js";
import { Extension, type Wire } from "./msgpack.js";
import { SessionValue, type ValueSession } from "./session_value.js";

const OBJECT_KEYS = new Set(["String", "str", "char"]);
const SAME = new Set(["Box", "Arc", "Cow", "Wrapping", "NonZero"]);
const LISTS = new Set(["Vec", "VecDeque", "BTreeSet", "HashSet", "["]);
const MAPS = new Set(["BTreeMap", "HashMap"]);
const WHOLE = /^[iu](\d+|size)$/;

export class Converter {
  constructor(
    private readonly types: ReadonlyMap<string, Shape>,
    private readonly session: ValueSession,
  ) {}

  /** The form of a value on the wire. Throws if it has none. */
  toWire(value: unknown, kind?: Kind): Wire {
    if (value instanceof SessionValue) return value.sentOver(this.session, (part) => this.toWire(part, kind?.parts[0]));
    const shape = kind && this.types.get(kind.name);
    if (shape?.fields && isRecord(value)) return this.#fieldsToWire(value, shape.fields);
    if (shape?.variants) return this.#variantToWire(value, shape);
    if (kind === undefined) return this.#anyToWire(value);
    const [first, second] = kind.parts;
    if (SAME.has(kind.name)) return this.toWire(value, first);
    // Arithmetic gives -0 for 0 at times, and no integer has that sign.
    if (value === 0 && WHOLE.test(kind.name)) return 0;
    if (kind.name === "Option") {
      if (value === null || value === undefined) return null;
      return mayBeNil(first) ? [this.toWire(array(value)[0], first)] : this.toWire(value, first);
    }
    if (kind.name === "Result" && isRecord(value)) {
      return "err" in value ? [1, this.toWire(value["err"], second)] : [0, this.toWire(value["ok"], first)];
    }
    if (kind.name === "(" && Array.isArray(value)) return value.map((one, at) => this.toWire(one, kind.parts[at]));
    if (LISTS.has(kind.name) && !(value instanceof Uint8Array) && isIterable(value)) {
      return Array.from(value, (one) => this.toWire(one, first));
    }
    if (MAPS.has(kind.name) && typeof value === "object" && value !== null) {
      const entries = value instanceof Map ? value.entries() : Object.entries(value);
      return new Map(Array.from(entries, ([key, one]) => [this.toWire(key, first), this.toWire(one, second)]));
    }
    return this.#anyToWire(value);
  }

  #fieldsToWire(value: Record<string, unknown>, fields: Field[]): Wire[] {
    return fields.map(({ name, kind }) => {
      if (!(name in value) && kind?.name !== "Option") throw new TypeError(`the field \`${name}\` is missing`);
      return this.toWire(value[name], kind);
    });
  }

  #variantToWire(value: unknown, shape: Shape): Wire {
    const [name, content] = isRecord(value) ? (Object.entries(value)[0] ?? []) : [value, undefined];
    const variant = shape.variants!.find((one) => one.name === name);
    if (variant === undefined) {
      const names = shape.variants!.map((one) => one.name).join(", ");
      throw new TypeError(`there is no variant \`${String(name)}\` among ${names}`);
    }
    const { fields, number } = variant;
    if (fields.length === 0) return [number];
    if (fields[0]!.name !== "0") return [number, ...this.#fieldsToWire(content as Record<string, unknown>, fields)];
    const values = fields.length === 1 ? [content] : array(content);
    return [number, ...fields.map(({ kind }, at) => this.toWire(values[at], kind))];
  }

  /** A value whose type is not known. */
  #anyToWire(value: unknown): Wire {
    if (value === undefined || value === null) return null;
    if (typeof value === "function" || typeof value === "symbol") {
      throw new TypeError(`a ${typeof value} ${UNSENT}`);
    }
    if (typeof value !== "object") return value as Wire;
    if (value instanceof Uint8Array) return value;
    if (value instanceof ArrayBuffer) return new Uint8Array(value);
    if (value instanceof Map) {
      return new Map(Array.from(value, ([key, one]) => [this.toWire(key), this.toWire(one)]));
    }
    if (isIterable(value)) return Array.from(value, (one) => this.toWire(one));
    if (![null, Object.prototype].includes(Object.getPrototypeOf(value))) {
      throw new TypeError(`an object of a class ${UNSENT}`);
    }
    return new Map(Object.entries(value).map(([key, one]) => [key, this.toWire(one)]));
  }

  /** The value of a program. Throws if the form is not that of the type. */
  fromWire(wire: Wire, kind: Kind | undefined): unknown {
    const shape = kind && this.types.get(kind.name);
    if (shape?.fields) return this.#fieldsFromWire(list(wire, kind), shape.fields);
    if (shape?.variants) return this.#variantFromWire(list(wire, kind), shape);
    if (kind === undefined) return this.#anyFromWire(wire);
    const [first, second] = kind.parts;
    if (SAME.has(kind.name)) return this.fromWire(wire, first);
    if (kind.name === "Option") {
      if (wire === null) return null;
      return mayBeNil(first) ? [this.fromWire(list(wire, kind)[0] ?? null, first)] : this.fromWire(wire, first);
    }
    if (kind.name === "Result") {
      const [which, value] = list(wire, kind);
      return which === 0 ? { ok: this.fromWire(value ?? null, first) } : { err: this.fromWire(value ?? null, second) };
    }
    if (kind.name === "(") {
      if (kind.parts.length === 0) return undefined;
      return list(wire, kind).map((one, at) => this.fromWire(one, kind.parts[at]));
    }
    if (LISTS.has(kind.name) && !(wire instanceof Uint8Array)) return list(wire, kind).map((one) => this.fromWire(one, first));
    if (MAPS.has(kind.name)) {
      if (!(wire instanceof Map)) throw mismatch(kind);
      const entries = Array.from(wire, ([key, one]) => [this.fromWire(key, first), this.fromWire(one, second)] as const);
      return OBJECT_KEYS.has(first?.name ?? "") ? record(entries) : new Map(entries);
    }
    return this.#anyFromWire(wire);
  }

  #fieldsFromWire(values: Wire[], fields: Field[]): unknown {
    const read = fields.map(({ kind }, at) => this.fromWire(values[at] ?? null, kind));
    return fields[0]?.name === "0" ? read : record(fields.map(({ name }, at) => [name, read[at]]));
  }

  #variantFromWire([number, ...values]: Wire[], shape: Shape): unknown {
    const variant = shape.variants!.find((one) => one.number === number);
    if (variant === undefined) throw new TypeError(`there is no variant ${String(number)}`);
    if (variant.fields.length === 0) return variant.name;
    const read = this.#fieldsFromWire(values, variant.fields);
    return { [variant.name]: variant.fields.length === 1 && Array.isArray(read) ? read[0] : read };
  }

  #anyFromWire(wire: Wire): unknown {
    if (wire instanceof Extension) return this.session.fromWire(wire);
    if (Array.isArray(wire)) return wire.map((one) => this.#anyFromWire(one));
    if (!(wire instanceof Map)) return wire;
    const entries = Array.from(wire, ([key, one]) => [this.#anyFromWire(key), this.#anyFromWire(one)] as const);
    return entries.every(([key]) => typeof key === "string") ? record(entries) : new Map(entries);
  }
}

const UNSENT = "cannot be sent; `reference` makes a value of an object or function, `items` of a stream";

/** An object with these entries; `__proto__` is a name like any other. */
function record(entries: readonly (readonly [unknown, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(entries as [string, unknown][]);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Map);
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}

function array(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new TypeError("an array is expected");
  return value;
}

function list(wire: Wire, kind: Kind | undefined): Wire[] {
  if (!Array.isArray(wire)) throw mismatch(kind);
  return wire;
}

function mismatch(kind: Kind | undefined): TypeError {
  return new TypeError(`the value is no ${kind?.name}`);
}

/** True for a type of which nil is a form. */
function mayBeNil(kind: Kind | undefined): boolean {
  if (kind?.name === "(") return kind.parts.length === 0;
  if (kind?.name === "Option" || kind?.name === "PhantomData") return true;
  return kind !== undefined && SAME.has(kind.name) && kind.name !== "NonZero" && mayBeNil(kind.parts[0]);
}
