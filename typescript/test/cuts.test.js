/** Connections to the gateway that are cut in the middle of frames, a hundred times in 100,000 messages. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, reference } from "../dist/index.js";
import { Cutter } from "./support/cutter.js";
import { startRelay } from "./support/relay.js";
import { startService } from "./support/service.js";
import { storm } from "./support/storm.js";

const HEARTBEAT = 30;
const CUTS = 100;

// Its work is bounded by its count; the limit is for machines with much more load than processors.
for (const carrier of ["webSocket", "longPoll"]) {
  test(`nothing is lost, doubled or reordered over a hundred cuts of a ${carrier}`, { timeout: 180_000 }, async () => {
    const service = await startService({ heartbeat: HEARTBEAT });
    const cutter = new Cutter({ seed: 7, most: CUTS });
    const relay = await startRelay(service.http, { cutter, refusesWebSocket: carrier === "longPoll" });
    try {
      // This address has nothing to fall back to.
      const address = carrier === "webSocket" ? `${relay.address.replace("http", "ws")}/session` : relay.address;
      const node = await connect(address, { heartbeat: HEARTBEAT });
      const { resumed } = await storm(node, reference);
      assert.equal(node.carrier, carrier);
      assert.equal(cutter.cuts, CUTS);
      assert.ok(resumed >= 1, `${resumed} resumptions`);
      console.log(`# ${carrier}: ${cutter.cuts} cuts, ${resumed} resumptions`);
      await node.close();
    } finally {
      await relay.stop();
      await service.stop();
    }
  });
}
