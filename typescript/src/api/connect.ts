/** `connect`: opens a session with a node. */

import * as errors from "../errors.js";
import { type FirstConnection, WigwagNode } from "./node.js";
import { atLeast, check } from "./calls.js";
import { Choice } from "../carrier/choice.js";
import type { SocketClass } from "../carrier/carrier.js";
import type { SharedKey } from "./shared_key.js";

export interface ConnectOptions {
  /** Gives the first connection up. A session that was opened is ended by `close`. */
  signal?: AbortSignal;
  /** Sent as `Authorization: Bearer`, or by the WebSocket of a browser as `access_token` in the query. */
  token?: string;
  /** A key that both sides prove. */
  key?: SharedKey;
  /** The name of this end, for people. */
  name?: string;
  /** Milliseconds of silence after which a sign of life is expected; 1,000 unless set. */
  heartbeat?: number;
  /** In place of the global ones. */
  fetch?: typeof fetch;
  WebSocket?: unknown;
}

/**
 * Opens a session with the node at `address`.
 *
 * `http://` and `https://` mean a gateway: a WebSocket at its `/session`, or long poll where that does
 * not get through. `ws://` and `wss://` mean this WebSocket alone. In a browser the address may be
 * relative to the page.
 */
export function connect(address: string | URL, options: ConnectOptions = {}): Promise<WigwagNode> {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    check({ signal });
    atLeast(0, "heartbeat", options.heartbeat);
    const choice = new Choice(String(address), globalThis.location?.href);
    const whys: string[] = [];
    let Failure: new (detail: errors.ErrorDetail) => errors.WigwagError = errors.ConnectFailed;
    const aborted = () => {
      first.ended(new errors.Cancelled({ cause: signal?.reason, mayBeHandled: false }));
      node.abandon();
    };
    const first: FirstConnection & { isOver: boolean } = {
      isOver: false,
      opened: (node) => {
        over();
        resolve(node);
      },
      failed: (why) => {
        whys.push(why);
        return whys.length < choice.count;
      },
      ended: (error) => {
        if (first.isOver) return;
        over();
        const isRefusal = error.number! < 0x0300;
        reject(isRefusal || whys.length === 0 ? error : new Failure({ text: whys.join("; then "), cause: error }));
      },
    };
    const over = () => {
      first.isOver = true;
      signal?.removeEventListener("abort", aborted);
    };
    signal?.addEventListener("abort", aborted, { once: true });
    const node = new WigwagNode(
      {
        name: options.name,
        key: options.key,
        heartbeatMs: options.heartbeat,
        random: (count) => crypto.getRandomValues(new Uint8Array(count)),
      },
      choice,
      {
        token: options.token,
        denied: () => (Failure = errors.AccessDenied),
        fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
        webSocket: options.WebSocket as SocketClass | undefined,
      },
      first,
    );
    node.start();
  });
}
