/** The objects of this program that the peer of one session was lent, and the calls of the peer to them. */

import type { SessionValues } from "../api/session_values.js";
import * as errors from "../errors.js";
import type { SessionEvent } from "../session/events.js";
import { Extension } from "../values/msgpack.js";
import { hex } from "../wire/bytes.js";
import { REFERENCE, referenceBytes } from "../wire/reference.js";
import { Inbound } from "./inbound.js";
import { LocalActor } from "./local_actor.js";
import type { LocalReference } from "./local_reference.js";

export class Hosting {
  readonly inbound: Inbound;
  /** By the number of their reference. */
  readonly #actors = new Map<string, LocalActor>();

  /** The one of a session, which lends something for the first time, or again. */
  static of(values: SessionValues): Hosting {
    return (values.hosting ??= new Hosting(values)) as Hosting;
  }

  private constructor(private readonly values: SessionValues) {
    this.inbound = values.session.host(Inbound);
    this.inbound.hashOf = (key, expected) => this.#actors.get(key)?.hashFor(expected) ?? 0n;
  }

  /** The form of a reference on the wire. It is counted as lent until the peer releases it. */
  lend(local: LocalReference): Extension {
    const { session, node } = this.values;
    if (local.isReleased) throw new errors.NotSerializable({ text: "the reference was released" });
    if (!this.inbound.lend(local.number)) throw new errors.Backlog({ text: "65,536 references are lent" });
    this.values.done(() => this.inbound.release(local.number, 1));
    if (!this.#actors.has(local.key)) {
      this.#actors.set(local.key, new LocalActor({ ...node, inbound: this.inbound, values: this.values }, local));
      local.released.add(() => {
        this.inbound.stop(local.key);
        node.touch();
      });
    }
    const of = { ...session.identity, number: local.number, schemaHash: 0n };
    return new Extension(REFERENCE, referenceBytes(of));
  }

  /** The reference of this program with that number. */
  own(number: Uint8Array): LocalReference | undefined {
    return this.#actors.get(hex(number))?.reference;
  }

  /** Takes the events that concern the calls of the peer. */
  happened(event: SessionEvent): void {
    if (event.kind === "called") this.#actors.get(event.channel.key ?? "")?.take(event);
    else if (event.kind === "released") this.#actors.delete(event.key);
    else if (event.kind === "ended") this.#actors.clear();
  }
}
