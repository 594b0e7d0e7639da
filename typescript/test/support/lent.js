/** A reference that the session has lent to its peer. */

import { Inbound } from "../../dist/host/inbound.js";
import * as Frame from "../../dist/wire/frame.js";

/** The number of the reference. */
export const lent = new Uint8Array(16).fill(5);

/** Lends it, and lets the peer open channel 0 to its object. */
export function attached(peer) {
  peer.session.host(Inbound).lend(lent);
  peer.send([Frame.ATTACH, 0, 1, lent, 0n, 0]);
}
