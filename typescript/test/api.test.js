/** Calls, streams, references and errors, against a node. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import * as wigwag from "../dist/index.js";
import { ask, ItemStream } from "../dist/api/calls.js";
import { after as timer } from "../dist/api/timer.js";
import { PIPES } from "../dist/wire/opening.js";
import WebSocket from "ws";
import { startGateway } from "./support/gateway.js";
import { startRelay } from "./support/relay.js";
import { startService } from "./support/service.js";

const { connect, items, pipe, reference } = wigwag;
let service;
let node;

before(async () => {
  service = await startService();
  node = await connect(service.ws, { name: "api test" });
});

after(async () => {
  await node?.close();
  await service?.stop();
});

test("numbers of 64 bits are exact, as bigints beyond the safe range", async () => {
  const ledger = await node.actor("ledger");
  for (const number of [0, -1, 127, 128, -33, 2 ** 31, -(2 ** 31) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
    assert.equal(await ledger.ask.number(number), number);
    assert.equal(await ledger.ask.number(BigInt(number)), number);
  }
  for (const number of [2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)]) assert.equal(await ledger.ask.number(number), number);
  await assert.rejects(ledger.ask.number(2n ** 64n), wigwag.NotSerializable);
  await assert.rejects(ledger.ask.number(1.5), wigwag.BadArguments);
  assert.ok(Object.is(await ledger.ask.number(-0), 0), "arithmetic that gives -0 gives 0");
});

test("a text arrives with each of its letters", async () => {
  const ledger = await node.actor("ledger");
  // The first is a mark of the byte order, at which a decoder for files begins.
  for (const sent of ["\uFEFFa", "\uFEFF\uFEFF", "a\uFEFF", "\0\u001B\r\n\u009B", "\u{1F375}\u202E"]) {
    assert.equal(await ledger.ask.echo(sent), sent);
  }
});

test("structs are objects, enums are unions, and maps of texts are objects", async () => {
  const shop = await node.actor("shop");
  const order = { thing: "tea", count: 2, price: 250, note: null };
  const { ok: number } = await shop.ask.place({ thing: "tea", count: 2, price: 250 });
  assert.deepEqual(await shop.ask.place({ ...order, count: 11 }), { err: { TooMany: 10 } });
  assert.deepEqual(await shop.ask.place({ ...order, thing: "nothing" }), { err: "SoldOut" });
  assert.equal(await shop.ask.state(number), "Open");
  for (const state of [{ Paid: 500 }, { Sent: { day: 3, by: "bike" } }, "Open"]) {
    assert.equal(await shop.ask.set(number, state), true);
    assert.deepEqual(await shop.ask.state(number), state);
  }
  assert.equal(await shop.ask.state(number + 1), null);
  assert.deepEqual(await shop.ask.sums(), { tea: 500 });
  const orders = [];
  for await (const one of shop.stream.orders()) orders.push(one);
  assert.deepEqual(orders, [order]);
  await assert.rejects(shop.ask.set(number, "Lost"), { code: "NotSerializable", message: /Open, Paid, Sent/ });
  await assert.rejects(shop.ask.place({ thing: "tea" }), { code: "NotSerializable", message: /`count` is missing/ });
});

test("long arguments and replies travel whole, and one that is too long is refused before it is sent", async () => {
  const ledger = await node.actor("ledger");
  for (const length of [0, 255, 65_000, 65_536, 1_000_003, 16_000_000]) {
    const bytes = new Uint8Array(length).map((_, at) => at * 7);
    assert.ok(Buffer.from(await ledger.ask.blob(bytes)).equals(bytes), `${length} bytes`);
  }
  await assert.rejects(ledger.ask.blob(new Uint8Array(17_000_000)), { code: "TooLarge", mayBeHandled: false });
});

test("errors have a class, a code, and say whose doing they are", async () => {
  const ledger = await node.actor("ledger");
  await assert.rejects(node.actor("nobody"), (error) => error instanceof wigwag.NoSuchActor && error.fault === "caller");
  await assert.rejects(ledger.ask.nothing(), (error) => error instanceof wigwag.NoSuchMethod && !error.mayBeHandled);
  await assert.rejects(ledger.ask.note(1), { code: "BadArguments", message: /note. takes \(number: u64, text: String\)/ });
  await assert.rejects(ledger.ask.note(-1, ""), wigwag.BadArguments);
  await assert.rejects(ledger.ask.numbers(1), wigwag.NotSerializable);
  assert.throws(() => ledger.stream.echo(""), wigwag.BadArguments);
  assert.ok(new wigwag.Timeout() instanceof wigwag.WigwagError);
});

test("a name that is longer than any is that of no actor, and the session goes on", async () => {
  const ledger = await node.actor("ledger");
  for (const length of [256, 70_000]) {
    await assert.rejects(node.actor("ä".repeat(length / 2)), { code: "NoSuchActor", message: new RegExp(`${length} bytes of at most 255`) });
  }
  assert.equal(await ledger.ask.number(1), 1);
});

test("tells that an actor does not understand are reported with their number", async () => {
  const ledger = await node.actor("ledger");
  const rejected = new Promise((resolve) => node.addEventListener("rejected", ({ detail }) => resolve(detail), { once: true }));
  await ledger.tell.note(-1, "no u64");
  const { method, tells, error } = await rejected;
  assert.deepEqual([method, tells, error.code], ["note", 1, "BadArguments"]);
});

test("an ask that was cancelled or timed out before its turn is never begun", async () => {
  const ledger = await node.actor("ticker");
  const naps = await ledger.ask.naps();
  const busy = ledger.ask.nap(300);
  const controller = new AbortController();
  const cancelled = ledger.with({ signal: controller.signal }).ask.nap(0);
  const late = ledger.with({ timeout: 50 }).ask.nap(0);
  controller.abort("enough");
  await assert.rejects(cancelled, (error) => error instanceof wigwag.Cancelled && error.cause === "enough");
  await assert.rejects(late, wigwag.Timeout);
  assert.equal(await busy, naps + 1);
  assert.equal(await ledger.ask.naps(), naps + 1, "neither was begun");
  await assert.rejects(ledger.with({ signal: controller.signal }).ask.naps(), { code: "Cancelled", mayBeHandled: false });
});

test("the reply to a cancelled ask reaches nobody, and its references are let go", async () => {
  const controller = new AbortController();
  const [discarded, sent] = [[], []];
  const owner = { send: (call) => sent.push(call), cancel: () => {}, itemsFreed: () => {}, discard: (value) => discarded.push(value) };
  let reads = 0;
  const answer = ask(owner, { method: 1 }, { signal: controller.signal }, () => (reads += 1));
  controller.abort();
  sent[0].sink.answered(new Uint8Array([5]));
  await assert.rejects(answer, wigwag.Cancelled);
  assert.deepEqual([reads, discarded.length], [0, 1]);
});

/** The owner of calls that are not sent, and what it was given. */
function silentOwner() {
  const sent = [];
  return { sent, send: (call) => sent.push(call), cancel: () => {}, itemsFreed: () => {}, discard: () => {} };
}

test("a time without an end is no limit and is not sent, and NaN is refused", async () => {
  const owner = silentOwner();
  for (const timeout of [undefined, Infinity, 1e300, 2 ** 40, 0.5]) ask(owner, { method: 1 }, { timeout }, () => {}).catch(() => {});
  assert.deepEqual(owner.sent.map((call) => call.milliseconds), [undefined, undefined, undefined, 2 ** 40, 1]);
  owner.sent.forEach((call) => call.sink.failed(new wigwag.Closed()));
  const ledger = await node.actor("ledger");
  for (const timeout of [Infinity, 1e300]) {
    assert.equal(await ledger.with({ timeout }).ask.echo("no limit"), "no limit");
    await ledger.with({ timeout }).tell.note(1, "");
    assert.equal((await node.actor("ledger", { timeout })).type, "Ledger");
  }
  const refusal = { name: "RangeError", message: /`timeout`/ };
  await assert.rejects(ledger.with({ timeout: NaN }).ask.naps(), refusal);
  await assert.rejects(ledger.with({ timeout: NaN }).tell.note(1, ""), refusal);
  await assert.rejects(node.actor("ledger", { timeout: NaN }), refusal);
  await assert.rejects(node.close({ timeout: NaN }), refusal);
  await assert.rejects(connect(service.ws, { heartbeat: NaN }), { name: "RangeError", message: /`heartbeat`/ });
});

/** A program in JavaScript has no types that keep it from this: `"5000"` of a form compares as a number does. */
test("an option that is no number is refused", async () => {
  const ledger = await node.actor("ledger");
  for (const [timeout, shown] of [["5000", /the string 5000/], ["", /the string $/], [null, /null/], [true, /true/], [5n, /5/], [[], /`timeout`/]]) {
    const refusal = { name: "RangeError", message: shown };
    await assert.rejects(ledger.with({ timeout }).ask.naps(), refusal);
    await assert.rejects(ledger.with({ timeout }).tell.note(1, ""), refusal);
    await assert.rejects(node.actor("ledger", { timeout }), refusal);
    await assert.rejects(node.close({ timeout }), refusal);
  }
  await assert.rejects(connect(service.ws, { heartbeat: "1000" }), { name: "RangeError", message: /`heartbeat`/ });
});

test("a window is more than nothing, and at most what a node has under way", { timeout: 20_000 }, async () => {
  const owner = silentOwner();
  for (const window of [undefined, Infinity, 1e300, 2 ** 22, 65, 0.5]) new ItemStream(owner, { method: 1 }, { window }, () => {});
  assert.deepEqual(owner.sent.map((call) => call.window), [1_024, 65_536, 65_536, 65_536, 2, 1]);
  const ticker = await node.actor("ticker");
  for (const window of [Infinity, 1e300, 0.5]) {
    const taken = [];
    for await (const number of ticker.with({ window }).stream.numbers(5)) taken.push(number);
    assert.deepEqual(taken, [0, 1, 2, 3, 4]);
  }
  for (const window of [NaN, 0, -64, -Infinity]) {
    assert.throws(() => ticker.with({ window }).stream.numbers(1), { name: "RangeError", message: /`window`/ });
  }
});

test("a call whose time is over is not sent, and the session goes on", async () => {
  const other = await connect(service.ws);
  const ticker = await other.actor("ticker");
  const naps = await ticker.ask.naps();
  const outcome = { code: "Timeout", mayBeHandled: false };
  for (const timeout of [0, -0, -1, -1e300, -Infinity]) {
    const late = ticker.with({ timeout });
    await assert.rejects(late.ask.nap(0), outcome);
    await assert.rejects(late.tell.nap(0), outcome);
    await assert.rejects(other.actor("ticker", { timeout }), outcome);
    const taken = [];
    for await (const number of late.stream.numbers(2)) taken.push(number);
    assert.deepEqual(taken, [0, 1], "a stream lasts as long as it is read");
  }
  assert.equal(await ticker.ask.naps(), naps);
  await other.close();
});

test("a timer of more than 24 days fires when its time is over, and one without an end never", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { timers } = context.mock;
  const fired = [];
  timer(2 ** 31 + 5, () => fired.push("long"));
  timer(Infinity, () => fired.push("endless"));
  const takeBack = timer(2 ** 31 + 5, () => fired.push("taken back"));
  timers.tick(2 ** 31 - 1);
  takeBack();
  timers.tick(5);
  assert.deepEqual(fired, []);
  timers.tick(1);
  assert.deepEqual(fired, ["long"]);
  timers.tick(2 ** 31);
  assert.deepEqual(fired, ["long"]);
});

test("a call, and a close, with more than 24 days to wait are not over at once", async () => {
  const other = await connect(service.ws);
  const patient = (await other.actor("ticker", { timeout: 2 ** 31 })).with({ timeout: 2 ** 31 });
  assert.ok((await patient.ask.nap(50)) > 0);
  await patient.tell.nap(0);
  const nap = patient.ask.nap(50);
  await other.close({ timeout: 2 ** 31 });
  assert.ok((await nap) > 0);
});

test("a producer is ahead by the window of its reader at most, and stops when the reader leaves", async () => {
  const ticker = await node.actor("ticker");
  const window = 64 * 16;
  const stream = ticker.with({ window }).stream.numbers(1_000_000);
  const taken = [];
  for await (const number of stream) {
    taken.push(number);
    if (taken.length === 100) break;
  }
  assert.deepEqual(taken, Array.from({ length: 100 }, (_, at) => at));
  // The actor handles the next call when the stream has ended.
  const produced = await ticker.ask.produced();
  assert.ok(produced >= 100 && produced <= 100 + 2 * 16 + 1, `${produced} of a million`);
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
});

/** The numbers from 0 on, and whether their generator was closed. */
function numbers(count) {
  const state = { produced: 0, isClosed: false };
  async function* generate() {
    try {
      while (state.produced < count) yield state.produced++;
    } finally {
      state.isClosed = true;
    }
  }
  return Object.assign(state, { items: items(generate()) });
}

test("a stream travels as an argument, in order and with its end", async () => {
  const ticker = await node.actor("ticker");
  assert.deepEqual(await ticker.ask.take(numbers(50_000).items, 1e9), [50_000, (50_000 * 49_999) / 2, "finished"]);
  assert.deepEqual(await ticker.ask.take(items([1, 2n, Promise.resolve(3)]), 9), [3, 6, "finished"]);
  assert.deepEqual(await ticker.ask.take(items([]), 9), [0, 0, "finished"]);
  const [count, , end] = await ticker.ask.take(items((async function* () { yield 1; throw new Error("out of numbers"); })()), 9);
  assert.deepEqual([count, /out of numbers/.test(end)], [1, true]);
  const [whole, , wrong] = await ticker.ask.take(items([1, Symbol("two")]), 9);
  assert.deepEqual([whole, /symbol/.test(wrong)], [1, true]);
  const shop = await node.actor("shop");
  const orders = [1, 20, 3].map((count) => ({ thing: "cup", count, price: 1 }));
  assert.equal(await shop.ask.place_all(items(orders)), 2, "items are converted as arguments are");
});

test("a source is no further ahead than its reader allows, and is closed when the reader leaves", async () => {
  const ticker = await node.actor("ticker");
  const source = numbers(10_000_000);
  assert.deepEqual(await ticker.ask.take(source.items, 100), [100, 4_950, "left"]);
  // The node of the tests reads 4,096 units ahead, and renews them at half.
  assert.ok(source.produced < 100 + 3 * 4_096, `${source.produced} of ten million`);
  const other = await connect(service.ws);
  await other.close();
  assert.ok(source.isClosed);
});

test("a stream that reaches no handler is closed, and one is sent once", async () => {
  const ticker = await node.actor("ticker");
  const [refused, twice, unsent] = [numbers(9), numbers(9), numbers(9)];
  await assert.rejects(ticker.ask.take(refused.items, -1), wigwag.BadArguments);
  await ticker.ask.naps();
  assert.ok(refused.isClosed);
  await ticker.ask.take(twice.items, 9);
  await assert.rejects(ticker.ask.take(twice.items, 9), { code: "NotSerializable", message: /sent once/ });
  const aborted = AbortSignal.abort();
  await assert.rejects(ticker.with({ signal: aborted }).ask.take(unsent.items, 9), wigwag.Cancelled);
  assert.deepEqual(await ticker.ask.take(unsent.items, 10), [9, 36, "finished"], "it was not sent");
});

/** Schemas as `wigwag describe --ts` prints them. */
const BANK = { hash: 0n, description: ["Bank", 0, [["branch", [["pause", "u64"]], "BankRef"], ["account", [["owner", "String"]], "Option<AccountRef>"]]] };
const MEMBER = { hash: 0n, description: ["Member", 0, [["heard", [["number", "u64"], ["text", "String"]], "()"], ["name", [], "String"]]] };
const ACCOUNT = { hash: 0n, description: ["Account", 0, [["pay_in", [["amount", "i64"]], "i64"], ["owner", [], "String"]]] };

for (const isEarly of [true, false]) {
  test(`calls go through an answer that has not come, ${isEarly ? "and are sent in front of it" : "also at a node that knows no pipes"}`, { timeout: 20_000 }, async () => {
    const other = await connect(service.ws);
    const { session } = other;
    if (!isEarly) session.peer.offered &= ~BigInt(PIPES);
    const bank = await other.actor("bank");
    const slow = pipe(bank, BANK).branch(300);
    const account = pipe(slow, ACCOUNT).account("ann");
    const paid = Promise.all([account.ask.pay_in(3), account.ask.pay_in(4), account.ask.owner()]);
    const told = account.tell.pay_in(5);
    if (isEarly) assert.equal(await told, undefined, "it has its place before the answer");
    assert.equal(session.outbound.piped > 0, isEarly);
    assert.deepEqual(await paid, [3, 7, "ann"]);
    await told;
    assert.equal(await account.ask.pay_in(0), 12);
    assert.equal(session.outbound.piped, 0);
    // An answer without a reference fails the chain behind it, and so does an error.
    await assert.rejects(pipe(bank, ACCOUNT).account("nobody").ask.pay_in(1), wigwag.NoSuchActor);
    await assert.rejects(pipe(pipe(bank, BANK).account("nobody"), ACCOUNT).account("ann").ask.owner(), wigwag.NoSuchActor);
    await assert.rejects(pipe(bank, BANK).branch(-1).ask.account("ann"), wigwag.BadArguments);
    // What was told is handled, although the reference is given back before the answer has come.
    const released = pipe(slow, ACCOUNT).account("bob");
    const last = released.ask.pay_in(1);
    released.release();
    assert.equal(await last, 1);
    await assert.rejects(released.ask.pay_in(1), wigwag.ActorStopped);
    // The first reference of an answer that has several is called.
    const room = await other.actor("room");
    await room.ask.join(await room.ask.host());
    await room.ask.join(reference({ name: () => "own", heard() {} }));
    assert.equal(await pipe(room, MEMBER).members().ask.name(), "host");
    await room.ask.leave_all();
    await other.close();
  });
}

test("more calls wait for answers than a node holds channels for, and each gets its turn", { timeout: 30_000 }, async () => {
  const bank = await node.actor("bank");
  const slow = await (await bank.ask.branch(100)).actor();
  // The first one keeps the branch busy.
  const owners = Array.from({ length: 1_100 }, (_, at) => pipe(at === 0 ? slow : bank, ACCOUNT).account(`${at}`).ask.owner());
  assert.deepEqual(await Promise.all(owners), Array.from({ length: 1_100 }, (_, at) => `${at}`));
  assert.equal(node.session.outbound.piped, 0);
});

test("an ask that is given up before its turn ends the calls behind it, and a session its pipes", { timeout: 20_000 }, async () => {
  const own = await startService({ heartbeat: 50 });
  const other = await connect(own.ws, { heartbeat: 50 });
  const slow = pipe(await other.actor("bank"), BANK).branch(60_000);
  const busy = pipe(slow, ACCOUNT).account("ann").ask.owner();
  const controller = new AbortController();
  const behind = pipe(slow.with({ signal: controller.signal }), ACCOUNT).account("bob").ask.owner();
  controller.abort();
  await Promise.all([assert.rejects(busy, wigwag.Unknown), assert.rejects(behind, wigwag.WigwagError), own.kill().then(() => other.close({ timeout: 0 }))]);
});

test("objects and functions travel as references, are called in order, and come home as themselves", async () => {
  const room = await node.actor("room");
  const heard = [];
  const member = { heard: async (number, text) => void heard.push([number, text]), name: () => "an object" };
  await room.ask.join(reference(member));
  await room.ask.join(reference((...all) => (all.length > 0 ? void heard.push(["function", ...all]) : "a function")));
  await room.ask.join(reference({ name: () => { throw new Error("no name today"); }, heard(_number, _text) {} }));
  const names = await room.ask.names();
  assert.deepEqual(names.slice(0, 2), ["an object", "a function"]);
  assert.match(names[2], /no name today/);
  heard.length = 0;
  for (let number = 0; number < 50; number += 1) await room.tell.say(`text ${number}`);
  await room.ask.names();
  assert.deepEqual(heard.filter((one) => one.length === 2).map(([, text]) => text), Array.from({ length: 50 }, (_, at) => `text ${at}`));
  const [first] = await room.ask.members();
  assert.equal(first, reference(member), "it is the reference of the object itself");
  await room.ask.leave_all();
});

test("a getter or a thenable that throws fails its call, and the object goes on", async () => {
  const room = await node.actor("room");
  const signatures = { heard: ["number", "text"], name: [] };
  const thrown = (text) => { throw new Error(text); };
  const members = [
    { heard() {}, get name() { return thrown("no getter"); } },
    { heard() {}, name: () => ({ get then() { return thrown("no then"); } }) },
    { heard() {}, name: () => ({ then: () => thrown("no wait") }) },
    { heard() {}, name: () => ({ then: (resolve) => resolve("a thenable") }) },
  ];
  for (const member of members) await room.ask.join(reference(member, signatures));
  for (let time = 0; time < 2; time += 1) {
    const names = await room.ask.names();
    for (const [at, expected] of [/no getter/, /no then/, /no wait/, /^a thenable$/].entries()) assert.match(names[at], expected);
  }
  await room.ask.leave_all();
});

test("what is no value is refused, with what makes a value of it", async () => {
  const room = await node.actor("room");
  const ledger = await node.actor("ledger");
  class Member { heard() {} }
  for (const value of [() => {}, new Member(), { heard() {} }, Symbol("x"), (async function* () {})()]) {
    await assert.rejects(room.ask.join(value), { code: "NotSerializable", message: /`reference`/ });
    await assert.rejects(ledger.ask.echo(value), { code: "NotSerializable" });
  }
});

test("an actor of the node is called by a reference that came in a reply", async () => {
  const room = await node.actor("room");
  const host = await room.ask.host();
  const actor = await host.actor();
  assert.deepEqual([actor.type, await actor.ask.name()], ["Host", "host"]);
  actor.release();
  await assert.rejects(actor.ask.name(), (error) => error instanceof wigwag.ActorStopped && !error.mayBeHandled);
});

test("a reference of the node can be given back to it, and let go at once", { timeout: 20_000 }, async () => {
  const other = await connect(service.ws);
  const { outbound } = other.session;
  const room = await other.actor("room");
  const hosts = [await room.ask.host(), await room.ask.host()];
  // A call that is not sent has given nothing back.
  await assert.rejects(room.with({ signal: AbortSignal.abort() }).ask.join(hosts[0]), wigwag.Cancelled);
  await assert.rejects(room.ask.join([hosts[0], () => {}]), wigwag.NotSerializable);
  const returned = new Promise((resolve) => {
    let left = hosts.length;
    outbound.returned = (number, times) => {
      const isSent = Object.getPrototypeOf(outbound).returned.call(outbound, number, times);
      if ((left -= times) === 0) resolve(isSent);
      return isSent;
    };
  });
  // The node reads them when they were let go here.
  const joins = hosts.map((host) => room.tell.join(host));
  hosts.forEach((host) => host.release());
  await Promise.all(joins);
  assert.deepEqual(await room.ask.names(), ["host", "host"]);
  assert.ok(await returned, "the node has them, and releases what has come");
  await room.ask.leave_all();
  assert.deepEqual(await room.ask.names(), []);
  await other.close();
});

test("a reference that was released is called no more", async () => {
  const room = await node.actor("room");
  const mine = reference({ name: () => "still here", heard: () => {} }, { name: [], heard: ["number", "text"] });
  await room.ask.join(mine);
  assert.deepEqual(await room.ask.names(), ["still here"]);
  mine.release();
  assert.match((await room.ask.names())[0], /error: .*stopped/);
  await room.ask.leave_all();
  await assert.rejects(room.ask.join(mine), wigwag.NotSerializable);
});

test("a node that is started anew ends the session with an error that says to connect again", async () => {
  const [old, anew] = await Promise.all([startService(), startService()]);
  const relay = await startRelay(old.http);
  const client = await connect(relay.address);
  const ended = new Promise((resolve) => client.addEventListener("ended", ({ detail }) => resolve(detail)));
  relay.gateway = new URL(anew.http);
  await old.kill();
  const error = await ended;
  assert.ok(error instanceof wigwag.Closed, `it is ${error}`);
  assert.match(error.message, /connect again.*started anew/);
  await (await connect(relay.address)).close();
  await relay.stop();
  await anew.stop();
});

test("a loop that does not wait is refused above the bound, and what was accepted arrives", async () => {
  const own = await startService();
  const node = await connect(own.ws);
  const ledger = await node.actor("ledger");
  // The first keeps the actor busy, so that the others wait.
  const nap = ledger.ask.nap(300);
  const tells = Array.from({ length: 40_000 }, (_, at) => ledger.tell.note(at, ""));
  const results = await Promise.allSettled(tells);
  const refused = results.filter(({ status }) => status === "rejected");
  assert.ok(refused.length > 0 && refused.every(({ reason }) => reason instanceof wigwag.Backlog));
  await nap;
  const [notes] = await ledger.ask.total();
  assert.equal(notes, tells.length - refused.length);
  await node.close();
  await own.stop();
});

test("close waits for what was accepted, and no longer", { timeout: 20_000 }, async () => {
  const other = await connect(service.ws);
  const ledger = await other.actor("ledger");
  const [before] = await ledger.ask.total();
  for (let number = 0; number < 1_000; number += 1) void ledger.tell.note(number, "");
  await other.close({ timeout: 60_000 });
  await assert.rejects(ledger.ask.total(), wigwag.Closed);
  const [notes] = await (await node.actor("ledger")).ask.total();
  assert.equal(notes, before + 1_000);
});

test("a node that is closed more than once has one end, which all of them wait for", { timeout: 20_000 }, async () => {
  const other = await connect(service.ws);
  const nap = (await other.actor("ticker")).ask.nap(50);
  const outcomes = await Promise.all([other.close({ timeout: Infinity }), other.close(), other[Symbol.asyncDispose]()]);
  assert.deepEqual([...outcomes, await other.close()], Array(4).fill(undefined));
  assert.ok((await nap) > 0);
  // The first time that is over counts.
  const own = await startService();
  const hasty = await connect(own.ws);
  const asked = (await hasty.actor("ledger")).ask.nap(60_000);
  await Promise.all([hasty.close({ timeout: Infinity }), hasty.close({ timeout: 20 }), assert.rejects(asked, wigwag.Unknown)]);
  await own.kill();
});

test("a reference that is waited for over a cut is given up in time or by its signal, and its channel is let go", { timeout: 20_000 }, async () => {
  const relay = await startRelay(service.http);
  const { port } = relay.server.address();
  const other = await connect(`ws://127.0.0.1:${port}/session`);
  const ledger = await other.actor("ledger");
  const host = await (await other.actor("room")).ask.host();
  const cut = new Promise((resolve) => other.addEventListener("cut", resolve, { once: true }));
  await Promise.all([relay.stop(), cut]);
  const controller = new AbortController();
  const aborted = other.actor("ledger", { signal: controller.signal });
  // More than may be unanswered at a time.
  const late = Array.from({ length: 40 }, () => other.actor("ledger", { timeout: 50 }));
  late.push(other.actor(host, { timeout: 50 }), host.actor({ timeout: 50 }));
  controller.abort("enough");
  await assert.rejects(aborted, (error) => error instanceof wigwag.Cancelled && error.cause === "enough");
  await Promise.all(late.map((one) => assert.rejects(one, wigwag.Timeout)));
  await assert.rejects(other.actor("ledger", { signal: controller.signal }), { code: "Cancelled", mayBeHandled: false });
  await new Promise((resolve) => relay.server.listen(port, "127.0.0.1", resolve));
  other.reconnect();
  assert.equal(await ledger.ask.echo("back"), "back");
  // A channel has the lowest free number: those that were given up become free, within the time of this test.
  let number;
  do {
    const again = await other.actor("ledger");
    number = again.channel.number;
    again.release();
  } while (number !== 2);
  await other.close();
  await relay.stop();
});

test("calls of a node that has died have an outcome, and the node an event", async () => {
  const own = await startService({ heartbeat: 50 });
  const other = await connect(own.ws, { heartbeat: 50 });
  const ledger = await other.actor("ledger");
  const ended = new Promise((resolve) => other.addEventListener("ended", resolve));
  const asked = ledger.ask.nap(60_000);
  await (await other.actor("ticker")).ask.naps();
  await own.kill();
  // The session would wait for its node for its whole time.
  void other.close({ timeout: 0 });
  await assert.rejects(asked, (error) => error instanceof wigwag.Unknown && error.mayBeHandled);
  await ended;
});

test("an actor that panics is an error of its caller", async () => {
  const own = await startService();
  const other = await connect(own.ws);
  const ledger = await other.actor("ledger");
  await assert.rejects(ledger.ask.panic(), (error) => error instanceof wigwag.Remote && error.mayBeHandled);
  await assert.rejects(ledger.ask.total(), wigwag.WigwagError);
  await other.close();
  await own.stop();
});

test("both sides prove a shared key, and a client without it is refused", async () => {
  const secret = randomBytes(32);
  const own = await startService({ key: `client:${secret.toString("hex")}` });
  const other = await connect(own.ws, { key: new wigwag.SharedKey("client", secret) });
  assert.equal(await (await other.actor("ledger")).ask.echo("proven"), "proven");
  await other.close();
  await assert.rejects(connect(own.ws), (error) => error instanceof wigwag.AccessDenied);
  await assert.rejects(connect(own.ws, { key: new wigwag.SharedKey("client", randomBytes(32)) }), wigwag.AccessDenied);
  await own.stop();
});

test("the client falls back to long poll where WebSockets are refused, and sends its token", async () => {
  const gateway = await startGateway(service, { webSocket: "refuse" });
  const other = await connect(gateway.address, { token: "secret" });
  assert.equal(other.carrier, "longPoll");
  const ledger = await other.actor("ledger");
  assert.equal((await ledger.ask.echo("a".repeat(2_000_000))).length, 2_000_000);
  await other.close();
  assert.deepEqual([...gateway.tokens], ["Bearer secret"]);
  await gateway.stop();
});

test("the query of an address is that of each request of a long poll", async () => {
  const gateway = await startGateway(service, { webSocket: "refuse" });
  const asked = [];
  const noting = (url, init) => (asked.push(new URL(url)), fetch(url, init));
  const other = await connect(`${gateway.address}/?access_token=a%2Bb`, { fetch: noting });
  assert.equal(await (await other.actor("ledger")).ask.echo("polled"), "polled");
  await other.close();
  assert.ok(asked.some(({ searchParams }) => searchParams.has("at")));
  for (const { href, pathname, searchParams } of asked) {
    assert.match(pathname, /^\/session(\/[0-9a-f-]+)?$/, href);
    assert.equal(searchParams.get("access_token"), "a+b", href);
  }
  await gateway.stop();
});

test("a gateway that does not accept the token of a client is told from one that is not reached", async () => {
  const denied = (error) => error instanceof wigwag.AccessDenied && error.fault === "caller" && /401/.test(error.text);
  await assert.rejects(connect(service.http, { token: "wrong" }), denied);
  await assert.rejects(connect(`${service.http.replace(/^http/, "ws")}/session`, { token: "wrong" }), denied);
  // As in a browser, whose class does not see the answer to its request.
  class Blind extends WebSocket {
    constructor(url, protocols) {
      super(url, protocols, { headers: { authorization: "Bearer wrong" } });
    }
  }
  await assert.rejects(connect(service.http, { token: "wrong", WebSocket: Blind }), denied);
});

test("an address where nothing listens, or of no known form, is refused with the reason", async () => {
  await assert.rejects(connect("http://127.0.0.1:9"), (error) => error instanceof wigwag.ConnectFailed && /then/.test(error.text));
  await assert.rejects(connect("tcp://127.0.0.1:9"), TypeError);
  await assert.rejects(connect("ws://127.0.0.1:9", { signal: AbortSignal.abort("no") }), wigwag.Cancelled);
});
