/**
 * How long an ask of a page takes over a WebSocket, beside the echo of a bare one.
 *
 * One page of a headless Chromium sends bytes to a server of the package `ws` that echoes them, and asks
 * an actor for the number that it is given, one after the other, in rounds that take turns. It prints the
 * median and the 99th percentile of both, and the ratio of the medians of each round.
 *
 *     cargo build --release -p wigwag-gateway --example typescript_service
 *     npm run build && node bench/websocket.js [CALLS]
 */

import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { bundle, startBrowser } from "../test/support/browser.js";
import { startService } from "../test/support/service.js";

const CALLS = Number(process.argv[2] ?? 5_000);
const ROUNDS = 10;

/** A clock that is fine enough is that of a page which is isolated from others. */
const HEADERS = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

async function startPage() {
  const script = await bundle('export { connect } from "./dist/index.js"');
  const server = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.writeHead(200, { ...HEADERS, "content-type": isScript ? "text/javascript" : "text/html" });
    response.end(isScript ? script : '<!doctype html><title>wigwag</title><script src="/page.js"></script>');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Measures in the page: the milliseconds of each echo and of each ask, by rounds. */
async function measure({ echo, service, calls, rounds }) {
  const socket = new WebSocket(echo);
  socket.binaryType = "arraybuffer";
  await new Promise((resolve) => (socket.onopen = resolve));
  // As long as the message of an ask.
  const message = new Uint8Array(20);
  const node = await globalThis.page.connect(service);
  const ledger = await node.actor("ledger");
  const ways = {
    echo: () => new Promise((resolve) => ((socket.onmessage = resolve), socket.send(message))),
    ask: (at) => ledger.ask.number(at),
  };
  const times = { echo: [], ask: [] };
  // The first round warms both up.
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, call] of Object.entries(ways)) {
      const taken = [];
      for (let at = 0; at < calls / rounds; at += 1) {
        const begin = performance.now();
        await call(at);
        taken.push(performance.now() - begin);
      }
      if (round >= 0) times[name].push(taken);
    }
  }
  socket.close();
  await node.close();
  return times;
}

const at = (part, times) => times.toSorted((a, b) => a - b)[Math.floor(part * (times.length - 1))];
const micros = (milliseconds) => `${(1_000 * milliseconds).toFixed(0)} µs`;

const echo = new Worker(fileURLToPath(new URL("echo.js", import.meta.url)));
const [echoPort] = await once(echo, "message");
const service = await startService({ profile: "release" });
const pages = await startPage();
const browser = await startBrowser();
const page = await browser.newPage();
await page.goto(`http://127.0.0.1:${pages.address().port}/`);
const times = await page.evaluate(measure, { echo: `ws://127.0.0.1:${echoPort}/`, service: service.ws, calls: CALLS, rounds: ROUNDS });
for (const [name, rounds] of Object.entries(times)) {
  console.log(`${name.padEnd(5)} median ${micros(at(0.5, rounds.flat()))}, 99 % ${micros(at(0.99, rounds.flat()))}`);
}
const ratios = times.ask.map((round, index) => at(0.5, round) / at(0.5, times.echo[index]));
console.log(`ratio ${at(0.5, ratios).toFixed(2)} (${at(0, ratios).toFixed(2)} to ${at(1, ratios).toFixed(2)})`);
await browser.close();
await service.stop();
await echo.terminate();
pages.close();
