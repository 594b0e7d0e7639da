/** The references of one session: those that it has lent, and those that come in values. */

import * as errors from "../errors.js";
import type { Session } from "../session/session.js";
import { Converter, type References } from "../values/convert.js";
import { decode, encode, Extension } from "../values/msgpack.js";
import { hex, isSame } from "../wire/bytes.js";
import { parseReference, REFERENCE, referenceBytes } from "../wire/reference.js";
import { type ActorOwner, LocalActor } from "./local_actor.js";
import { isReferable, LocalReference, reference, type ReferenceOwner, RemoteReference } from "./reference.js";

export class SessionReferences implements References {
  /** The actors of this program that the node was lent, by the number of their reference. */
  readonly locals = new Map<string, LocalActor>();
  /** The references that the value which is being encoded lends. */
  #lending: Uint8Array[] | undefined;
  readonly #plain = new Converter(new Map(), this);

  constructor(
    private readonly session: Session,
    private readonly node: ActorOwner & ReferenceOwner,
  ) {
    session.inbound.hashOf = (key, expected) => this.locals.get(key)?.hashFor(expected) ?? 0n;
  }

  /** Lets the references go that a value holds which nobody reads. */
  discard(value: Uint8Array): void {
    try {
      this.#letGo(this.decode(value));
    } catch {
      // Bytes that are no value hold no reference either.
    }
  }

  #letGo(value: unknown): void {
    if (value instanceof RemoteReference) value.release();
    else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
      for (const one of value instanceof Map ? [...value.keys(), ...value.values()] : Object.values(value)) this.#letGo(one);
    }
  }

  /** Runs `make`, and gives what it has returned with the references that it has lent. */
  lending<V>(make: () => V): [V, Uint8Array[]] {
    const lent: Uint8Array[] = [];
    this.#lending = lent;
    try {
      return [make(), lent];
    } catch (error) {
      for (const number of lent) this.session.inbound.release(number, 1);
      throw error;
    } finally {
      this.#lending = undefined;
    }
  }

  encode(value: unknown): Uint8Array {
    return this.lending(() => encode(this.#plain.toWire(value, undefined)))[0];
  }

  decode(bytes: Uint8Array): unknown {
    return this.#plain.fromWire(decode(bytes), undefined);
  }

  toWire(value: object): Extension | undefined {
    if (value instanceof RemoteReference) {
      if (value.owner !== this.node || value.isReleased) {
        throw new errors.NotSerializable({ text: "a reference is sent over the session that has brought it, until it is released" });
      }
      return new Extension(REFERENCE, referenceBytes(value.bytes));
    }
    if (!(value instanceof LocalReference) && !isReferable(value)) return undefined;
    const local = value instanceof LocalReference ? value : (reference(value) as LocalReference);
    if (local.isReleased) throw new errors.NotSerializable({ text: "the reference was released" });
    if (!this.session.inbound.lend(local.number)) throw new errors.Backlog({ text: "65,536 references are lent" });
    this.#lending?.push(local.number);
    if (!this.locals.has(local.key)) {
      this.locals.set(local.key, new LocalActor(this.node, local));
      local.released.add(() => {
        this.session.inbound.stop(local.key);
        this.node.touch();
      });
    }
    const { node, incarnation } = this.session;
    return new Extension(REFERENCE, referenceBytes({ node, incarnation, number: local.number, schemaHash: 0n }));
  }

  fromWire(extension: Extension): unknown {
    if (extension.type !== REFERENCE) throw new TypeError("a value of this type needs a later release of this package");
    const bytes = parseReference(extension.data);
    const own = isSame(bytes.incarnation, this.session.incarnation) ? this.locals.get(hex(bytes.number)) : undefined;
    if (own === undefined) return new RemoteReference(this.node, bytes);
    // A reference to an object of this program that has come home needs nobody to hold it.
    this.node.release(bytes.number);
    return own.reference;
  }
}
