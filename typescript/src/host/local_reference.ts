/**
 * References to objects and functions of this program, which it hands out: `reference`.
 *
 * A program that makes none has nothing of this folder in its bundle.
 */

import { Reference } from "../api/reference.js";
import type { SessionValues } from "../api/session_values.js";
import type { Actor } from "../api/types.js";
import type { Extension } from "../values/msgpack.js";
import { hex } from "../wire/bytes.js";
import { Hosting } from "./hosting.js";

/** The methods of an object and the names of their arguments, in order. */
export type Signatures = Record<string, readonly string[]>;

/**
 * A reference to an object or a function of this program. Passed as an argument, it lets the other side
 * call the object's methods, one call at a time and in order, or the function.
 *
 * The other side finds methods and their arguments by name. The names of the arguments are read from
 * the source of the methods; where a bundler shortens them, pass `signatures`, such as
 * `{ moved: ["amount"] }`. A function takes the calls of any method, so it needs no names.
 */
export function reference(target: object, signatures?: Signatures): Reference {
  const known = KNOWN.get(target);
  if (known && signatures === undefined && !known.isReleased) return known;
  const made = new LocalReference(target, signatures ?? signaturesOf(target));
  KNOWN.set(target, made);
  return made;
}

/** The same object has the same reference, so that calls through both are in one order. */
const KNOWN = new WeakMap<object, LocalReference>();

export class LocalReference extends Reference {
  readonly number = crypto.getRandomValues(new Uint8Array(16));
  readonly key = hex(this.number);
  readonly methods: [string, readonly string[]][];
  isReleased = false;
  /** Told when the reference is released: by each node that has lent it. */
  readonly released = new Set<() => void>();

  constructor(
    readonly target: object,
    signatures: Signatures,
  ) {
    super();
    this.methods = Object.entries(signatures);
  }

  override sentOver(session: SessionValues): Extension {
    return Hosting.of(session).lend(this);
  }

  override release(): void {
    this.isReleased = true;
    for (const tell of this.released) tell();
    this.released.clear();
  }

  override actor<T>(): Promise<Actor<T>> {
    return Promise.reject(new TypeError("the actor is of this program: call the object"));
  }
}

function methodNames(target: object): string[] {
  const names = new Set<string>();
  for (let one: object | null = target; one && one !== Object.prototype; one = Object.getPrototypeOf(one) as object | null) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(one))) {
      if (name !== "constructor" && typeof value === "function") names.add(name);
    }
  }
  return [...names];
}

function signaturesOf(target: object): Signatures {
  if (typeof target === "function") return {};
  const methods = target as Record<string, (...all: unknown[]) => unknown>;
  return Object.fromEntries(methodNames(target).map((name) => [name, parameterNames(methods[name]!)]));
}

/** The names of a function's parameters, as its source has them. */
function parameterNames(of: (...all: unknown[]) => unknown): string[] {
  const source = of.toString().replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
  const lone = /^(?:async\s+)?([\w$]+)\s*=>/.exec(source);
  if (lone) return [lone[1]!];
  const list = /\(([^)]*)\)/.exec(source)?.[1] ?? "";
  const names = list.split(",").map((one) => one.replace(/=.*$/s, "").trim());
  // An argument that is not used may be marked so, and has its name nevertheless.
  return names.filter(Boolean).map((name) => name.replace(/^_(?=\w)/, ""));
}
