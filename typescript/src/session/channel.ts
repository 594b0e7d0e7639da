/** A channel to an actor of the peer, and the credit for calls over it (section 4 of the page). */

import type { Call } from "./events.js";

export class Channel {
  /** The number on the wire, from ATTACH on. */
  number = -1;
  state: "waiting" | "attaching" | "attached" | "detaching" | "ended" = "waiting";
  /** Units that may be used and that are used; sums since ATTACH. */
  limit = 0;
  used = 0;
  /** The sum with which NEED was sent last: once for each. */
  #needed = 0;
  /** Why the channel has ended. */
  end: { code: number; text: string } | undefined;
  /** Calls that wait for credit, for room, or for their turn behind a long one. */
  readonly calls: Call[] = [];
  /** The hash of the actor, from ATTACHED on. */
  schemaHash = 0n;

  constructor(
    /** 0 for a name, 1 for a reference, 2 for a reference that the peer relays, 3 for an answer to come. */
    public how: number,
    public target: Uint8Array,
  ) {}

  /** True if a call of that cost may be sent. */
  mayUse(units: number): boolean {
    return this.used + units <= this.limit;
  }

  /** True if the peer is to be told that this channel is blocked, which happens once for each sum. */
  isNewlyBlocked(units: number): boolean {
    const isNew = this.used + units > this.#needed;
    this.#needed = Math.max(this.#needed, this.used + units);
    return isNew;
  }

  /** Takes a limit of the peer; one that is not higher than the known one is ignored. */
  raise(limit: number): void {
    this.limit = Math.max(this.limit, limit);
  }

  /** The limit from now on, when the peer asks for its units back. */
  revoke(wanted: number): number {
    this.limit = Math.min(this.limit, Math.max(this.used, wanted));
    return this.limit;
  }
}
