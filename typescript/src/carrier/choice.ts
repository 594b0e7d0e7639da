/**
 * Which carrier the next connection uses.
 *
 * The address of a gateway, `http://` or `https://`, means a WebSocket at `/session`, and long poll
 * where that does not get through: when it was refused, or when a proxy lets it open and nothing
 * passes. What has carried a session is tried first the next time; what has failed makes room for the
 * other. An address that begins with `ws` means a WebSocket and nothing else.
 */

import type { Carrier, CarrierEvents, CarrierOptions, Dial } from "./carrier.js";
import { dialWebSocket } from "./web_socket.js";

/** A WebSocket that was cut so often, each time this soon after its opening, is not tried again. */
const SHORT_LIVED_MAX = 3;
const SHORT_LIVED_MS = 2_000;

/** Tries that fail over the way that has carried the session, until the other is tried once. */
const TRIES_OF_PROVEN = 4;

export interface Way {
  kind: "webSocket" | "longPoll";
  url: string;
  dial: Dial;
}

export class Choice {
  readonly #ways: Way[];
  #next = 0;
  /** The way that has carried the session last, and the tries that have failed since. */
  #proven: number | undefined;
  #failed = 0;
  #openedAt: number | undefined;
  #shortLived = 0;

  constructor(address: string, base?: string) {
    const url = new URL(address, base);
    url.hash = "";
    if (/^wss?:/.test(url.protocol)) {
      this.#ways = [{ kind: "webSocket", url: url.href, dial: dialWebSocket }];
      return;
    }
    if (!/^https?:/.test(url.protocol)) {
      throw new TypeError(`${address}: an address begins with ws:, wss:, http: or https:`);
    }
    const path = url.pathname.replace(/\/+$/, "");
    url.pathname = path.endsWith("/session") ? path : `${path}/session`;
    this.#ways = [
      { kind: "webSocket", url: url.href.replace(/^http/, "ws"), dial: dialWebSocket },
      { kind: "longPoll", url: url.href, dial: dialLongPoll },
    ];
  }

  get count(): number {
    return this.#ways.length;
  }

  get way(): Way {
    return this.#ways[this.#next % this.#ways.length]!;
  }

  /** The session was opened or resumed over this way. */
  opened(now: number): void {
    this.#openedAt = now;
    this.#proven = this.#next % this.#ways.length;
    this.#failed = 0;
  }

  /** The connection over this way has ended. */
  ended(now: number): void {
    const openedAt = this.#openedAt;
    this.#openedAt = undefined;
    if (openedAt === undefined) {
      this.#failed += 1;
      // The way that has carried the session is tried more often than the other.
      const isTurnOfOther = this.#proven === undefined || this.#failed % TRIES_OF_PROVEN === 0;
      this.#next = isTurnOfOther ? this.#next + 1 : this.#proven!;
    } else if (this.way.kind === "webSocket") {
      this.#shortLived = now - openedAt < SHORT_LIVED_MS ? this.#shortLived + 1 : 0;
      if (this.#shortLived < SHORT_LIVED_MAX) return;
      this.#shortLived = 0;
      this.#next += 1;
    }
  }
}

/** Long poll, whose code is loaded when it is needed: most pages never do. */
function dialLongPoll(options: CarrierOptions, events: CarrierEvents): Carrier {
  let isOver = false;
  let carrier: Carrier | undefined;
  const loaded = import("./long_poll.js").then(({ dialLongPoll }) => {
    if (!isOver) carrier = dialLongPoll(options, events);
  });
  loaded.catch((error: unknown) => !isOver && events.closed(`long poll could not be loaded: ${error}`));
  const end = (how: "close" | "abort") => () => {
    isOver = true;
    carrier?.[how]();
  };
  return { send: (message) => carrier?.send(message), close: end("close"), abort: end("abort") };
}
