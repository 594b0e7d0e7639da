/** A secret that both ends of a session have, which each of them proves (section 1 of the page). */

import { AccessDenied } from "../errors.js";
import { concat, EMPTY, isSame, Reader, utf8, Writer } from "../wire/bytes.js";
import { hmac } from "../wire/sha256.js";
import * as Opening from "../wire/opening_type.js";

const LABEL = "wigwag shared key 1";

export class SharedKey {
  readonly #name: Uint8Array;
  readonly #secret: Uint8Array;

  /** A key of that name, with a secret of at least 32 bytes. */
  constructor(name: string, secret: Uint8Array | string) {
    this.#name = utf8(name);
    this.#secret = typeof secret === "string" ? utf8(secret) : secret;
    if (this.#secret.length < 32) throw new AccessDenied({ text: "the secret of a key has at least 32 bytes" });
  }

  /**
   * @internal The proof of the dialer (`D`) or the listener (`L`). The binding to a certificate is
   * empty: a script is not told the certificate of its connection.
   */
  proof(side: "D" | "L", ours: Uint8Array, theirs: Uint8Array): Uint8Array {
    const covered = new Writer().put(utf8(LABEL + side)).sized(this.#name);
    return hmac(this.#secret, covered.sized(ours).sized(theirs).sized(EMPTY).finish());
  }

  /** @internal AUTH of method 2 with a proof. */
  auth(proof: Uint8Array): Uint8Array {
    const data = new Writer().sized(this.#name).put(proof).finish();
    return concat([new Uint8Array([Opening.AUTH, 2, 0]), new Writer().sized(data).finish()]);
  }

  /** @internal True if the AUTH of the listener, behind its type, proves the key. */
  isProvenBy(reader: Reader, ours: Uint8Array, theirs: Uint8Array): boolean {
    if (reader.u16() !== 2) return false;
    const data = new Reader(reader.sized());
    data.sized();
    return isSame(data.take(32), this.proof("L", ours, theirs));
  }
}
