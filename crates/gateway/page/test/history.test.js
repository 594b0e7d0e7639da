/** The last five minutes, from snapshots. */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { load } from "./support/load.js";

let history;
let format;

before(async () => {
  [history, format] = await Promise.all([load("data/history.ts"), load("data/format.ts")]);
});

const COUNTERS = { bytes_sent: 0, bytes_received: 0, credit_stalls: 0, cuts: 0, resumes: 0, frames_repeated: 0 };

function snapshot(uptime_ms, { taken = {}, sessions = [], ended = {}, refused = 0 } = {}) {
  return {
    node: null,
    uptime_ms,
    actors: Object.entries(taken).map(([actor, count]) => ({ actor, taken: count })),
    sessions: sessions.map(([session, counters]) => ({ session, counters: { ...COUNTERS, ...counters } })),
    ended: { closed: 0, lost: 0, evicted: 0, counters: { ...COUNTERS, ...ended } },
    lost_tells: { refused, ended: 0, no_room: 0, not_understood: 0, rejected: 0 },
  };
}

/** The history of these snapshots, one a second. */
function historyOf(...snapshots) {
  return snapshots.reduce((known, one, at) => history.withSnapshot(known, one, 1000 + at), undefined);
}

test("rates are the growth in the time that the node has counted", () => {
  const stalls = [[7, { credit_stalls: 3, resumes: 1, bytes_sent: 100 }]];
  const more = [[7, { credit_stalls: 9, resumes: 2, bytes_sent: 500 }]];
  const known = historyOf(
    snapshot(1000, { taken: { a: 10, b: 1 }, sessions: stalls }),
    snapshot(3000, { taken: { a: 30, b: 1, c: 1000 }, sessions: more, refused: 4 }),
  );
  assert.deepEqual(known.points.at(-1), { at: 1001, messages: 10, stalls: 3, resumes: 0.5, losses: 2 });
  const rates = new history.Rates(known);
  const [a, b, c] = known.latest.actors;
  assert.deepEqual([rates.messages(a), rates.messages(b), rates.messages(c)], [10, 0, null]);
  assert.deepEqual([rates.sent(known.latest.sessions[0]), rates.received(known.latest.sessions[0])], [200, 0]);
});

test("a session that ends and an actor that goes take nothing back", () => {
  const known = historyOf(
    snapshot(1000, { taken: { a: 10, b: 500 }, sessions: [[7, { credit_stalls: 3 }]] }),
    snapshot(2000, { taken: { a: 11 }, ended: { credit_stalls: 3 } }),
  );
  const { messages, stalls } = known.points.at(-1);
  assert.deepEqual([messages, stalls], [1, 0]);
});

test("an actor that was started anew under its name has no rate at first", () => {
  const known = historyOf(snapshot(1000, { taken: { a: 10 } }), snapshot(2000, { taken: { a: 3 } }));
  assert.equal(new history.Rates(known).messages(known.latest.actors[0]), null);
  assert.equal(known.points.at(-1).messages, 0);
});

test("a node that was started anew begins anew, and what was seen of it before stays", () => {
  const known = historyOf(snapshot(5000, { taken: { a: 9 } }), snapshot(6000, { taken: { a: 12 } }), snapshot(100, { taken: { a: 1 } }));
  assert.deepEqual(known.points.map(({ messages }) => messages), [null, 3, null]);
});

test("a time that was not seen is a gap", () => {
  const first = historyOf(snapshot(1000), snapshot(2000));
  const later = history.withSnapshot(first, snapshot(60_000), 1060);
  assert.deepEqual(later.points.map(({ at, stalls }) => [at, stalls]), [[1000, null], [1001, 0], [1002, null], [1060, 0]]);
});

test("the same snapshot counts once, and five minutes are kept", () => {
  const once = historyOf(snapshot(1000), snapshot(2000));
  assert.equal(history.withSnapshot(once, snapshot(2000), 1002), once);
  let known;
  for (let at = 0; at < 1000; at += 1) known = history.withSnapshot(known, snapshot(1000 * at), at);
  assert.equal(known.points.length, history.POINTS_MAX + 1);
});

test("figures have three digits and times two units", () => {
  for (const [value, text] of [[null, "–"], [0, "0"], [0.4, "0.4"], [3, "3"], [12.34, "12.3"], [431.2, "431"], [4321, "4,321"], [12_345, "12.3k"], [4.56e6, "4.56M"]]) {
    assert.equal(format.rate(value), text);
  }
  for (const [value, text] of [[null, "–"], [12, "12 B/s"], [2048, "2 KiB/s"], [1.5 * 2 ** 20, "1.5 MiB/s"]]) {
    assert.equal(format.bytesRate(value), text);
  }
  for (const [us, text] of [[null, "–"], [249, "249 µs"], [1500, "1.5 ms"], [2_000_000, "2 s"]]) {
    assert.equal(format.roundTrip(us), text);
  }
  assert.deepEqual([900, 61_000, 3_700_000, 90_000_000].map(format.duration), ["0 s", "1 min 1 s", "1 h 1 min", "1 d 1 h"]);
});
