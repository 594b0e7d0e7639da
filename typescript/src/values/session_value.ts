/**
 * Values whose form on the wire belongs to the session over which they are sent, such as references.
 *
 * Such a value knows how it is sent. So a bundle has the code for a kind of values only if the program
 * makes values of that kind.
 */

import type { Extension, Wire } from "./msgpack.js";

/** What the conversion of values needs of a session. */
export interface ValueSession {
  fromWire(extension: Extension): unknown;
  /** A reference of the peer is sent to it, which then releases it too. */
  sentBack(number: Uint8Array): void;
}

export abstract class SessionValue {
  /** @internal The form of the value; `toWire` gives that of what the value is made of. */
  abstract sentOver(session: ValueSession, toWire: (part: unknown) => Wire): Extension;
}
