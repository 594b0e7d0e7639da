/** Connections that are cut in the middle of frames, a hundred times in 100,000 messages. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, reference } from "../dist/index.js";
import { Cutter } from "./support/cutter.js";
import { startGateway } from "./support/gateway.js";
import { startService } from "./support/service.js";
import { storm } from "./support/storm.js";

const HEARTBEAT = 30;
const CUTS = 100;

for (const carrier of ["webSocket", "longPoll"]) {
  test(`nothing is lost, doubled or reordered over a hundred cuts of a ${carrier}`, { timeout: 60_000 }, async () => {
    const service = await startService({ heartbeat: HEARTBEAT });
    const cutter = new Cutter({ seed: 7, most: CUTS });
    const gateway = await startGateway(service, { cutter, [carrier === "webSocket" ? "longPoll" : "webSocket"]: "refuse" });
    try {
      const node = await connect(gateway.address, { heartbeat: HEARTBEAT });
      const { resumed } = await storm(node, reference);
      assert.equal(node.carrier, carrier);
      assert.equal(cutter.cuts, CUTS);
      assert.ok(resumed >= 1, `${resumed} resumptions`);
      console.log(`# ${carrier}: ${cutter.cuts} cuts, ${resumed} resumptions`);
      await node.close();
    } finally {
      await gateway.stop();
      await service.stop();
    }
  });
}
