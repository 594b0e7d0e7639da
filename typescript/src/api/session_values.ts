/** The values of one session: what is done for those that are sent, and what those that come mean. */

import type { Session } from "../session/session.js";
import type { SessionEvent } from "../session/events.js";
import { Converter } from "../values/convert.js";
import { decode, encode, Extension } from "../values/msgpack.js";
import type { ValueSession } from "../values/session_value.js";
import { EMPTY, isSame, Reader } from "../wire/bytes.js";
import * as Code from "../wire/code.js";
import * as Frame from "../wire/frame.js";
import { frame } from "../wire/frames.js";
import { parseReference, REFERENCE, STREAM } from "../wire/reference.js";
import { type Reference, type ReferenceOwner, RemoteReference } from "./reference.js";

/** What values need of the node. */
export interface ValueOwner {
  now(): number;
  /** Frames may wait to be written. */
  touch(): void;
  /** Code of this program has failed for a call of the peer that no caller waits for. */
  handlerFailed(error: unknown): void;
}

export class SessionValues implements ValueSession {
  /** The objects of this program that the peer calls; missing until the first one is lent. */
  hosting: { own(number: Uint8Array): Reference | undefined; happened(event: SessionEvent): void } | undefined;
  /** What takes back what was done for the value that is being encoded. */
  #takeBack: (() => void)[] = [];
  readonly #plain = new Converter(new Map(), this);

  constructor(
    readonly session: Session,
    readonly node: ValueOwner,
    private readonly owner: ReferenceOwner,
  ) {}

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

  /** Something was done for the value that is being encoded, which `takeBack` takes back. */
  done(takeBack: () => void): void {
    this.#takeBack.push(takeBack);
  }

  /** Runs `make`, and gives what it has returned with what takes back what was done for its values. */
  making<V>(make: () => V): [V, () => void] {
    const all: (() => void)[] = (this.#takeBack = []);
    const takeBack = () => all.forEach((one) => one());
    try {
      return [make(), takeBack];
    } catch (error) {
      takeBack();
      throw error;
    }
  }

  encode(value: unknown): Uint8Array {
    return this.making(() => encode(this.#plain.toWire(value, undefined)))[0];
  }

  decode(bytes: Uint8Array): unknown {
    return this.#plain.fromWire(decode(bytes), undefined);
  }

  sentBack(number: Uint8Array): void {
    this.session.outbound.sentBack(number);
    this.done(() => this.session.outbound.returned(number, 1));
  }

  fromWire(extension: Extension): unknown {
    if (extension.type === STREAM) this.#refuse(extension.data);
    if (extension.type !== REFERENCE) throw new TypeError("a value of this type needs a later release");
    const bytes = parseReference(extension.data);
    const own = isSame(bytes.incarnation, this.session.identity.incarnation) && this.hosting?.own(bytes.number);
    if (!own) return new RemoteReference(this.owner, bytes);
    // A reference to an object of this program that has come home needs nobody to hold it.
    this.owner.release(bytes.number);
    return own;
  }

  /** Tells the sender of a stream that nobody reads it. */
  #refuse(data: Uint8Array): void {
    const number = new Reader(data.subarray(1)).number();
    this.session.publish(frame(Frame.ITEM_END, number, 2, Code.NotSerializable, EMPTY));
    this.node.touch();
  }
}
