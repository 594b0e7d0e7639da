/** References to actors of the other side, which came in its values. */

import * as errors from "../errors.js";
import { Extension } from "../values/msgpack.js";
import { SessionValue, type ValueSession } from "../values/session_value.js";
import { REFERENCE, type ReferenceBytes, referenceBytes } from "../wire/reference.js";
import type { Actor, CallOptions } from "./types.js";

/** A reference to an actor, as an argument or in a reply. */
export abstract class Reference extends SessionValue {
  /** Lets the actor go: no more calls go to it by this reference. */
  abstract release(): void;

  /** A reference to call the actor by. */
  abstract actor<T = any>(options?: CallOptions): Promise<Actor<T>>;

  [Symbol.dispose](): void {
    this.release();
  }
}

/** What a reference of the other side needs of the node that it came to. */
export interface ReferenceOwner {
  readonly values: ValueSession;
  release(number: Uint8Array): void;
  attach<T>(reference: RemoteReference, options?: CallOptions): Promise<Actor<T>>;
}

export class RemoteReference extends Reference {
  #isReleased = false;

  constructor(
    readonly owner: ReferenceOwner,
    readonly bytes: ReferenceBytes,
  ) {
    super();
  }

  override release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.owner.release(this.bytes.number);
  }

  override actor<T>(options?: CallOptions): Promise<Actor<T>> {
    return this.owner.attach<T>(this, options);
  }

  get isReleased(): boolean {
    return this.#isReleased;
  }

  override sentOver(session: ValueSession): Extension {
    if (session !== this.owner.values || this.#isReleased) {
      throw new errors.NotSerializable({ text: "a reference is sent over its own session, until it is released" });
    }
    session.sentBack(this.bytes.number);
    return new Extension(REFERENCE, referenceBytes(this.bytes));
  }
}
