/** The client in a page of a real browser. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pages, startBrowser } from "./support/browser.js";
import { Cutter } from "./support/cutter.js";
import { startGateway } from "./support/gateway.js";
import { startService } from "./support/service.js";

const HEARTBEAT = 30;
const CUTS = 100;
const TIMEOUT = { timeout: 60_000 };

let browser;
let service;
let served;

before(async () => {
  [browser, service, served] = await Promise.all([startBrowser(), startService({ heartbeat: HEARTBEAT }), pages()]);
});

after(async () => {
  await browser?.close();
  await service?.stop();
});

/** Opens the page of a gateway with these options, and runs `test` with both. */
async function inPage(options, test) {
  const gateway = await startGateway(service, { ...options, pages: served });
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.log(`# error in the page: ${error.stack}`));
  try {
    await page.goto(gateway.address);
    await test(page, gateway);
  } finally {
    await page.close();
    await gateway.stop();
  }
}

for (const [carrier, other] of [["webSocket", "longPoll"], ["longPoll", "webSocket"]]) {
  test(`in Chromium nothing is lost, doubled or reordered over a hundred cuts of a ${carrier}`, TIMEOUT, async () => {
    // A service of its own, because the ledger counts from 0.
    const own = await startService({ heartbeat: HEARTBEAT });
    const cutter = new Cutter({ seed: 11, most: CUTS });
    const gateway = await startGateway(own, { cutter, [other]: "refuse", pages: served });
    // The page itself comes whole: only carriers are cut.
    const page = await browser.newPage();
    try {
      await page.goto(gateway.address);
      const result = await page.evaluate(async (heartbeat) => {
        const { wigwag, storm } = globalThis.page;
        const node = await wigwag.connect("/", { heartbeat });
        const { resumed } = await storm(node, wigwag.reference);
        const { carrier } = node;
        await node.close();
        return { resumed, carrier };
      }, HEARTBEAT);
      assert.equal(result.carrier, carrier);
      assert.equal(cutter.cuts, CUTS);
      console.log(`# Chromium, ${carrier}: ${cutter.cuts} cuts, ${result.resumed} resumptions`);
    } finally {
      await page.close();
      await gateway.stop();
      await own.stop();
    }
  });
}

for (const webSocket of ["refuse", "swallow"]) {
  test(`a page falls back to long poll where a proxy does this to WebSockets: ${webSocket}`, TIMEOUT, async () => {
    await inPage({ webSocket }, async (page, gateway) => {
      const [carrier, echo] = await page.evaluate(async () => {
        const node = await globalThis.page.wigwag.connect(location.href);
        const ledger = await node.actor("ledger");
        const echo = await ledger.ask.echo("through the proxy");
        const { carrier } = node;
        await node.close();
        return [carrier, echo];
      });
      assert.deepEqual([carrier, echo], ["longPoll", "through the proxy"]);
      assert.ok(gateway.upgrades >= 1);
    });
  });
}

/** Joins the room in the page, and keeps what is heard there. */
function joinInPage() {
  return async () => {
    const node = await globalThis.page.wigwag.connect("/", { heartbeat: 30 });
    const room = await node.actor("room");
    const state = (globalThis.state = { node, room, heard: [], events: [], said: [] });
    for (const type of ["cut", "resumed", "ended"]) node.addEventListener(type, () => state.events.push(type));
    state.cut = new Promise((resolve) => node.addEventListener("cut", resolve, { once: true }));
    state.count = (count) =>
      new Promise((resolve) => (state.check = () => state.heard.length === count && resolve())) ;
    await room.ask.join(globalThis.page.wigwag.reference((number, text) => (state.heard.push(text), void state.check?.())));
    await room.tell.say("before");
  };
}

/** Says what was kept back, and returns what was heard and what has happened. */
function finishInPage() {
  return async (count) => {
    const { node, room, said, heard, events, count: counted } = globalThis.state;
    await Promise.all(said);
    const all = counted(count);
    await room.ask.say("after");
    globalThis.state.check();
    await all;
    await room.ask.leave_all();
    await node.close();
    return { heard, events };
  };
}

test("a page that loses its network and comes back has lost, doubled and reordered nothing", TIMEOUT, async () => {
  await inPage({}, async (page, gateway) => {
    await page.evaluate(joinInPage());
    await page.context().setOffline(true);
    // The emulation leaves an open WebSocket alone.
    gateway.cutAll();
    await page.evaluate(async () => {
      await globalThis.state.cut;
      const { room, said } = globalThis.state;
      for (let number = 0; number < 100; number += 1) said.push(room.tell.say(`offline ${number}`));
    });
    await page.context().setOffline(false);
    const state = await page.evaluate(finishInPage(), 102);
    assert.deepEqual(state.heard, ["before", ...Array.from({ length: 100 }, (_, at) => `offline ${at}`), "after"]);
    assert.ok(state.events.includes("resumed") && !state.events.slice(0, -1).includes("ended"), state.events.join());
  });
});

test("a page that was frozen comes back by resuming its session", TIMEOUT, async () => {
  await inPage({}, async (page, gateway) => {
    await page.evaluate(joinInPage());
    const gone = gateway.nextClose();
    // Nothing of the page runs for longer than the node waits for a sign of life.
    await page.evaluate((until) => {
      const end = performance.now() + until;
      while (performance.now() < end);
    }, 20 * HEARTBEAT);
    await gone;
    const state = await page.evaluate(finishInPage(), 2);
    assert.deepEqual(state.heard, ["before", "after"]);
    assert.ok(state.events.includes("resumed"), state.events.join());
  });
});
