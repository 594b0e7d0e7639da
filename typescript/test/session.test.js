/** The session as a state machine, in virtual time, against an end that a test controls. */

import assert from "node:assert/strict";
import { test } from "node:test";
import * as Code from "../dist/wire/code.js";
import { text, utf8 } from "../dist/wire/bytes.js";
import * as Frame from "../dist/wire/frame.js";
import * as Local from "../dist/wire/local.js";
import { Channel } from "../dist/session/channel.js";
import { Outgoing } from "../dist/items/outgoing.js";
import { SessionValues } from "../dist/api/session_values.js";
import { attached, lent } from "./support/lent.js";
import { Peer } from "./support/peer.js";

/** A stream that the session sends, and the items that were taken of it. */
function outgoing(peer, count, { hasThrown = false } = {}) {
  const values = { session: peer.session, node: { touch: () => {} } };
  const streams = Outgoing.of(values);
  const state = { streams, taken: 0, isClosed: false };
  const source = (function* () {
    try {
      for (; state.taken < count; state.taken += 1) yield state.taken;
      if (hasThrown) throw new Error("no more");
    } finally {
      state.isClosed = true;
    }
  })();
  state.number = streams.add(source, (item) => new Uint8Array([item]));
  return state;
}

/** Lets what waits for promises go on. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

const NONE = new Uint8Array(0);
const NIL = new Uint8Array([0xc0]);
const of = (frames, type) => frames.filter((one) => one.type === type);
const seqs = (frames) => frames.map((one) => one.seq);

test("an ack goes alone 10 ms after the first frame that it covers", () => {
  const peer = new Peer().open();
  const channel = peer.channel();
  const call = peer.call(channel, "ask");
  peer.at(1_000);
  const before = peer.batches.length;
  peer.send([Frame.REPLY, call.asker.slot, call.asker.generation, NIL]);
  assert.equal(peer.batches.length, before, "nothing is written at once");
  assert.equal(peer.session.deadline, 1_010);
  peer.at(1_009);
  assert.equal(peer.batches.length, before);
  peer.at(1_010);
  assert.equal(peer.batches.length, before + 1);
  assert.equal(peer.batches.at(-1).ack, peer.next);
});

test("a megabyte is acknowledged at once, and so are 32 KiB of parts", () => {
  const peer = new Peer().open();
  const call = peer.call(peer.channel(), "stream", { window: 65_536 });
  const { slot, generation } = call.asker;
  const item = [Frame.ITEM, slot, generation, 1, new Uint8Array(60_000)];
  for (let at = 0; at < 18; at += 1) {
    const before = peer.batches.length;
    peer.send(item);
    assert.equal(peer.batches.length - before, at === 17 ? 1 : 0, `item ${at}`);
  }
  const asked = peer.call(call.channel, "ask");
  const head = [asked.asker.slot, asked.asker.generation];
  const before = peer.batches.length;
  peer.send([Frame.PARTS, 0, Frame.REPLY, 200_000, new Uint8Array([...head, ...new Uint8Array(40_000)])]);
  assert.equal(peer.batches.length - before, 1);
});

test("what was not accepted goes again after a cut, in order and with its numbers", () => {
  const peer = new Peer().open();
  const channel = peer.channel();
  for (let at = 0; at < 5; at += 1) peer.call(channel);
  assert.deepEqual(seqs(of(peer.frames, Frame.TELL)), [1, 2, 3, 4, 5]);
  const again = peer.resume(3);
  assert.deepEqual(seqs(again), [3, 4, 5]);
  assert.deepEqual(peer.events.map((event) => event.kind).filter((kind) => kind === "resumed"), ["resumed"]);
});

test("a frame that comes again after a cut is handled once", () => {
  const peer = new Peer().open();
  const call = peer.call(peer.channel(), "stream", { window: 64 });
  const { slot, generation } = call.asker;
  const items = [1, 2, 3].map((value) => [Frame.ITEM, slot, generation, 1, new Uint8Array([value])]);
  peer.send(...items);
  const first = peer.next - 3;
  peer.resume();
  peer.sendFrom(first, ...items, [Frame.ITEM, slot, generation, 1, new Uint8Array([4])]);
  const got = peer.events.filter((event) => event.kind === "item").map((event) => event.value[0]);
  assert.deepEqual(got, [1, 2, 3, 4]);
});

test("calls stay within the credit of their channel, and NEED says once what is missing", () => {
  const peer = new Peer().open();
  const channel = peer.channel(3);
  const calls = Array.from({ length: 6 }, () => peer.call(channel));
  assert.equal(of(peer.frames, Frame.TELL).length, 3);
  assert.deepEqual(of(peer.frames, Frame.NEED).map(({ fields }) => fields.all), [[0, 4]]);
  assert.deepEqual(calls.map((call) => peer.outcomes(call).length), [1, 1, 1, 0, 0, 0]);
  // A limit that is not higher is ignored, and a higher one lets calls go on.
  peer.send([Frame.CREDIT, 0, 2, 0]);
  assert.equal(of(peer.frames, Frame.TELL).length, 3);
  peer.send([Frame.CREDIT, 0, 5, 0]);
  assert.equal(of(peer.frames, Frame.TELL).length, 5);
  // After a cut it is said again.
  assert.deepEqual(of(peer.resume(), Frame.NEED).map(({ fields }) => fields.all), [[0, 6]]);
});

test("calls stop at four mebibytes without an ack, and go on with it", () => {
  const peer = new Peer({ limits: { initialUnits: 1_000_000 } }).open();
  const channel = peer.channel(1_000_000);
  const long = { arguments: new Uint8Array(60_000) };
  const calls = Array.from({ length: 100 }, () => peer.call(channel, "tell", long));
  const accepted = calls.filter((call) => peer.outcomes(call).includes("accepted")).length;
  assert.ok(accepted >= 69 && accepted <= 71, `${accepted} calls of 60,000 bytes`);
  peer.send();
  assert.equal(of(peer.frames, Frame.TELL).length, 100);
});

test("a long call goes in parts, other calls between them, and its own channel in order", () => {
  const peer = new Peer().open();
  const [first, second] = [peer.channel(100_000), peer.channel(100_000)];
  const call = peer.call(first, "tell", { arguments: new Uint8Array(1_000_000) });
  peer.call(first);
  peer.call(second);
  const kinds = peer.frames.filter(({ type }) => type !== Frame.ATTACH).map(({ type }) => type);
  assert.equal(kinds[0], Frame.PARTS);
  assert.equal(kinds.at(-1), Frame.TELL, "the call on the other channel waits for nothing");
  assert.deepEqual(peer.outcomes(call), []);
  // Half a mebibyte of parts waits for acks.
  while (!peer.outcomes(call).includes("accepted")) {
    const before = peer.frames.length;
    peer.send();
    assert.ok(peer.frames.length > before, "each ack lets parts go on");
  }
  const tells = of(peer.frames, Frame.TELL).map(({ seq }) => seq);
  assert.ok(tells[1] > call.seq, "the next call of the channel is behind the last part");
  const total = peer.frames.reduce((sum, { type, fields }) => sum + (type === Frame.PARTS ? fields.bytes(3).length : type === Frame.PART ? fields.bytes(1).length : 0), 0);
  assert.equal(total, 1_000_002);
});

test("the slot of a cancelled ask is free when its completion has come, and not before", () => {
  const peer = new Peer().open();
  const channel = peer.channel();
  const call = peer.call(channel, "ask");
  peer.session.outbound.cancel(call);
  assert.equal(of(peer.take(), Frame.CANCEL).length, 1);
  const other = peer.call(channel, "ask");
  assert.notEqual(other.asker.slot, call.asker.slot);
  peer.send([Frame.ERROR, call.asker.slot, 0, Code.Cancelled, NONE, NONE]);
  const next = peer.call(channel, "ask");
  assert.deepEqual(next.asker, { slot: call.asker.slot, generation: 1 });
});

test("control characters in the words of the other side are replaced, and nothing else", () => {
  const words = utf8("\u001B[2Jno\r\nü\u009B \u{1F375}");
  const shown = " [2Jno  ü  \u{1F375}";
  const peer = new Peer().open();
  const channel = peer.channel();
  const call = peer.call(channel, "ask");
  peer.send([Frame.REJECTED, channel.number, 1, 1, Code.BadArguments, words]);
  peer.send([Frame.ERROR, call.asker.slot, call.asker.generation, 0x8007, words, NONE]);
  peer.send([Frame.CLOSE, Code.Protocol, words, NONE]);
  const said = new Map(peer.events.map(({ kind, text }) => [kind, text]));
  for (const [kind, text] of ["rejected", "failed", "ended"].map((kind) => [kind, said.get(kind)])) assert.ok(text.includes(shown) && !/\p{Cc}/u.test(text), `${kind}: ${text}`);
});

test("asks beyond the slots of the node wait for a completion", () => {
  const peer = new Peer({ limits: { slotsMax: 2 } }).open();
  const channel = peer.channel();
  const calls = [0, 1, 2].map(() => peer.call(channel, "ask"));
  const tell = peer.call(channel);
  assert.deepEqual(of(peer.frames, Frame.ASK).map(({ fields }) => [fields.number(1), fields.number(2)]), [[0, 0], [1, 0]]);
  peer.send([Frame.REPLY, 1, 0, NIL]);
  assert.deepEqual(calls[2].asker, { slot: 1, generation: 1 });
  assert.equal(of(peer.frames, Frame.ASK).length, 3);
  assert.ok(of(peer.frames, Frame.TELL)[0].seq > of(peer.frames, Frame.ASK)[2].seq, "a channel keeps its order");
  assert.deepEqual([peer.outcomes(calls[1]), peer.outcomes(tell)].map((kinds) => kinds.at(-1)), ["answered", "accepted"]);
});

test("ATTACHes beyond those that may be unanswered wait, and channels beyond all that there may be", () => {
  const peer = new Peer({ limits: { attachPendingMax: 2, channelsMax: 3 } }).open();
  const channels = Array.from({ length: 5 }, () => new Channel(0, new Uint8Array([97])));
  channels.forEach((channel) => peer.session.outbound.attach(channel, 0n));
  const attached = () => of(peer.frames, Frame.ATTACH).map(({ fields }) => fields.number(0));
  peer.take();
  assert.deepEqual(attached(), [0, 1]);
  peer.send([Frame.ATTACHED, 1, 64, 7n, 0, NONE]);
  assert.deepEqual(attached(), [0, 1, 2]);
  peer.send([Frame.ATTACHED, 0, 64, 7n, 0, NONE], [Frame.ATTACHED, 2, 64, 7n, 0, NONE]);
  assert.deepEqual(attached(), [0, 1, 2]);
  // The number of a channel that has ended is free.
  peer.send([Frame.DETACHED, 1, Code.NoSuchActor, 0]);
  assert.deepEqual(attached(), [0, 1, 2, 1]);
});

test("an ask that waits for credit is withdrawn without a frame", () => {
  const peer = new Peer().open();
  const channel = peer.channel(1);
  peer.call(channel);
  const waiting = peer.call(channel, "ask");
  peer.session.outbound.cancel(waiting);
  peer.take();
  const failed = peer.events.find((event) => event.call === waiting);
  assert.equal(failed.code, Local.Withdrawn);
  peer.send([Frame.CREDIT, 0, 64, 0]);
  assert.equal(of(peer.frames, Frame.ASK).length, 0);
});

test("a channel that is given up before its ATTACH is never attached", () => {
  const peer = new Peer({ limits: { attachPendingMax: 1 } }).open();
  const [first, second, third] = [97, 98, 99].map((letter) => new Channel(0, new Uint8Array([letter])));
  for (const channel of [first, second, third]) peer.session.outbound.attach(channel, 0n);
  peer.session.outbound.detach(second);
  peer.take();
  peer.send([Frame.ATTACHED, first.number, 64, 7n, 0, NONE]);
  const attached = of(peer.frames, Frame.ATTACH).map(({ fields }) => text(fields.bytes(2)));
  assert.deepEqual([attached, of(peer.frames, Frame.DETACH).length], [["a", "c"], 0]);
});

// Until it is told, the peer keeps its part of a channel that it has ended.
test("DETACH follows the end of a channel by the peer, and not one that it answers", () => {
  const peer = new Peer().open();
  const [ended, released] = [peer.channel(), peer.channel()];
  peer.send([Frame.DETACHED, ended.number, Code.ActorStopped, 0]);
  peer.session.outbound.detach(ended);
  peer.session.outbound.detach(released);
  peer.send([Frame.DETACHED, released.number, Code.Ok, 0]);
  const detached = of(peer.frames, Frame.DETACH).map(({ fields }) => fields.number(0));
  assert.deepEqual(detached, [ended.number, released.number]);
});

test("items free their window, and ITEM_CREDIT goes at half of it and again after a cut", () => {
  const peer = new Peer().open();
  const call = peer.call(peer.channel(), "stream", { window: 8 });
  const { slot, generation } = call.asker;
  const item = [Frame.ITEM, slot, generation, 1, NIL];
  peer.send(item, item, item, item);
  for (let at = 0; at < 3; at += 1) peer.session.outbound.itemsFreed(call, 1);
  assert.equal(of(peer.take(), Frame.ITEM_CREDIT).length, 0);
  peer.session.outbound.itemsFreed(call, 1);
  assert.deepEqual(of(peer.take(), Frame.ITEM_CREDIT)[0].fields.all, [slot, generation, 1, 12]);
  assert.deepEqual(of(peer.resume(), Frame.ITEM_CREDIT)[0].fields.all, [slot, generation, 1, 12]);
});

test("each call has its outcome when the session ends", () => {
  const peer = new Peer({ ttlMs: 0 }).open();
  const channel = peer.channel(1);
  const asked = peer.call(channel, "ask");
  const waiting = peer.call(channel, "ask");
  peer.session.disconnected(0);
  peer.take();
  const codeOf = (call) => peer.events.findLast((event) => event.call === call).code;
  assert.deepEqual([codeOf(asked), codeOf(waiting)], [Local.Unknown, Local.NotDelivered]);
  assert.equal(peer.events.filter((event) => event.kind === "ended").length, 1);
});

test("a session is given up 5 s after the node has given it up", () => {
  const peer = new Peer({ ttlMs: 2_000 }).open();
  peer.now = 100;
  peer.session.disconnected(100);
  peer.at(7_099);
  assert.ok(!peer.session.hasEnded);
  peer.at(7_100);
  assert.ok(peer.session.hasEnded);
});

test("a silent node is cut after three intervals, and a side that was away accuses nobody", () => {
  const peer = new Peer().open();
  // The first PING is due after an interval; from then on a PONG is owed.
  peer.at(1_000);
  assert.equal(of(peer.frames, Frame.PING).length, 1);
  peer.at(2_000);
  peer.at(2_999);
  assert.ok(!peer.events.some((event) => event.kind === "cut"));
  peer.at(3_000);
  assert.equal(peer.events.filter((event) => event.kind === "cut").length, 1);

  const away = new Peer().open();
  away.at(600_000);
  assert.ok(!away.events.some((event) => event.kind === "cut"), "it reads before it decides");
});

test("a node at rest may be silent for as long as it has said, unless it owes a PONG or an ack", () => {
  for (const calls of [false, true]) {
    const peer = new Peer().open();
    const channel = peer.channel();
    peer.send([Frame.PING, 1, 15_000]);
    if (calls) peer.call(channel);
    // Without a call, the first PING is what the node owes.
    const since = calls ? 0 : 1_000;
    for (let now = 1_000; now < since + 3_000; now += 1_000) peer.at(now);
    peer.at(since + 2_999);
    assert.ok(!peer.events.some((event) => event.kind === "cut"), `${calls}`);
    peer.at(since + 3_000);
    assert.equal(peer.events.filter((event) => event.kind === "cut").length, 1, `${calls}`);
  }
  const resting = new Peer().open();
  resting.send([Frame.PING, 1, 15_000]);
  for (let now = 1_000; now <= 14_000; now += 1_000) {
    for (const ping of of(resting.at(now), Frame.PING)) resting.send([Frame.PONG, ping.fields.number(0)]);
  }
  resting.at(14_900);
  assert.ok(!resting.events.some((event) => event.kind === "cut"));
});

test("a number of the node beyond those that are exact is answered with one that can be written", () => {
  const peer = new Peer().open();
  const channel = peer.channel(2n ** 64n - 1n);
  const frames = peer.send([Frame.PING, 2n ** 64n - 1n, 1_000], [Frame.REVOKE, channel.number, 2n ** 64n - 1n]);
  const [[pong], [, limit]] = [Frame.PONG, Frame.REVOKED].map((type) => of(frames, type)[0].fields.all);
  assert.deepEqual([pong, limit], [2 ** 53, 2 ** 53]);
});

test("a node that has been started anew ends the session", () => {
  const peer = new Peer().open();
  peer.session.disconnected(0);
  peer.session.connect(0);
  peer.session.takeMessage(0);
  peer.say(peer.hello(new Uint8Array(16).fill(0x99)));
  const ended = peer.events.find((event) => event.kind === "ended");
  assert.equal(ended?.code, Code.SessionUnknown);
});

const call = (peer) => peer.call(peer.channel(), "ask");

/** Each breach of a rule, and the code of the CLOSE that answers it. */
const BREACHES = [
  ["a gap", Code.Gap, (peer) => peer.sendFrom(5, [Frame.ATTACHED, 0, 1, 0n, 0, NONE])],
  ["an ack of what was never sent", Code.AckBeyondSent, (peer) => ((peer.expected = 9), peer.sendFrom(0))],
  ["an unknown frame", Code.UnknownFrame, (peer) => peer.say(new Uint8Array([0, 0, 0, 0, 0x33, 0]))],
  ["a false count", Code.Protocol, (peer) => peer.say(new Uint8Array([0, 0, 0, 2]))],
  ["a reply to nothing", Code.Protocol, (peer) => peer.send([Frame.REPLY, 3, 0, NIL])],
  ["a reply of another generation", Code.Protocol, (peer) => (call(peer), peer.send([Frame.REPLY, 0, 1, NIL]))],
  ["a second reply", Code.Protocol, (peer) => (call(peer), peer.send([Frame.REPLY, 0, 0, NIL], [Frame.REPLY, 0, 0, NIL]))],
  ["an item of an ordinary ask", Code.Protocol, (peer) => (call(peer), peer.send([Frame.ITEM, 0, 0, 1, NIL]))],
  ["an item beyond the credit", Code.CreditExceeded, (peer) => {
    peer.call(peer.channel(), "stream", { window: 1 });
    peer.send([Frame.ITEM, 0, 0, 1, NIL], [Frame.ITEM, 0, 0, 1, NIL]);
  }],
  ["a call on a channel never attached", Code.Protocol, (peer) => peer.send([Frame.TELL, 0, 1, NIL])],
  ["calls beyond the credit", Code.CreditExceeded, (peer) => {
    attached(peer);
    peer.send(...Array.from({ length: 65 }, () => [Frame.TELL, 0, 1, NIL]));
  }],
  ["a slot and generation used again behind the answer", Code.Protocol, (peer) => {
    attached(peer);
    peer.send([Frame.ASK, 0, 0, 0, 1, NIL]);
    peer.session.inbound.reply({ slot: 0, generation: 0 }, NIL);
    peer.send([Frame.ASK, 0, 0, 0, 1, NIL]);
  }],
  ["a slot and generation used twice", Code.Protocol, (peer) => {
    attached(peer);
    peer.send([Frame.ASK, 0, 0, 0, 1, NIL], [Frame.ASK, 0, 0, 0, 1, NIL]);
  }],
  ["the end of a stream never sent", Code.Protocol, (peer) => peer.send([Frame.ITEM_END, 0, 1, Code.Ok, NONE])],
  ["the end of another stream than those that were sent", Code.Protocol, (peer) => (outgoing(peer, 1), peer.send([Frame.ITEM_END, 1, 1, Code.Ok, NONE]))],
  ["the end of a stream that is not the reader's", Code.Protocol, (peer) => (outgoing(peer, 1), peer.send([Frame.ITEM_END, 0, 0, Code.Ok, NONE]))],
  ["an item of a stream never opened", Code.Protocol, (peer) => peer.send([Frame.ITEM, 0, 0, 0, NIL])],
  ["a release of what was never lent", Code.Protocol, (peer) => peer.send([Frame.RELEASE, lent, 1])],
  ["a message beyond message_max", Code.LimitExceeded, (peer) => peer.send([Frame.PARTS, 0, Frame.REPLY, 1 << 25, NIL])],
  ["parts of no open ask", Code.Protocol, (peer) => peer.send([Frame.PARTS, 0, Frame.REPLY, 100, new Uint8Array([0, 0])])],
];

for (const [what, code, breach] of BREACHES) {
  test(`a node that breaks a rule is told which: ${what}`, () => {
    const peer = new Peer().open();
    breach(peer);
    peer.take();
    const close = of(peer.frames, Frame.CLOSE);
    assert.equal(close.length, 1);
    assert.equal(close[0].fields.number(0), code);
    assert.ok(peer.session.hasEnded);
  });
}

test("a stream as an argument sends nothing before it is opened, and then within its credit", async () => {
  const peer = new Peer().open();
  const stream = outgoing(peer, 5);
  await settled();
  assert.deepEqual([peer.take().length, stream.taken], [0, 0]);
  peer.send([Frame.ITEM_CREDIT, 0, 0, 0, 2]);
  await settled();
  assert.deepEqual(of(peer.take(), Frame.ITEM).map(({ fields }) => fields.all), [0, 1].map((item) => [0, 0, 0, new Uint8Array([item])]));
  assert.equal(stream.taken, 1, "no item is taken that there is no credit for");
  // A limit that is not higher is ignored, as after a cut.
  peer.send([Frame.ITEM_CREDIT, 0, 0, 0, 1]);
  await settled();
  assert.equal(of(peer.take(), Frame.ITEM).length, 0);
  peer.send([Frame.ITEM_CREDIT, 0, 0, 0, 64]);
  await settled();
  const frames = peer.take();
  assert.deepEqual(of(frames, Frame.ITEM).map(({ fields }) => fields.bytes(3)[0]), [2, 3, 4]);
  assert.deepEqual(of(frames, Frame.ITEM_END).map(({ fields }) => fields.all), [[0, 0, Code.Ok, NONE]]);
  assert.ok(stream.isClosed && !stream.streams.hasWork);
  // What crosses the end is ignored.
  peer.send([Frame.ITEM_CREDIT, 0, 0, 0, 99], [Frame.ITEM_END, 0, 1, Code.Ok, NONE]);
  assert.ok(!peer.session.hasEnded);
});

test("a stream whose reader leaves is closed and ended, one that is refused is closed", async () => {
  const peer = new Peer().open();
  for (const [how, ends] of [[1, 1], [2, 0]]) {
    const stream = outgoing(peer, 100);
    peer.send([Frame.ITEM_CREDIT, stream.number, 0, 0, 2]);
    await settled();
    peer.take();
    const frames = peer.send([Frame.ITEM_END, stream.number, how, Code.Ok, NONE]);
    await settled();
    assert.equal(of(frames, Frame.ITEM_END).length, ends);
    assert.ok(stream.isClosed && !stream.streams.hasWork);
  }
});

test("the error of a source is the end of its stream, and a session that ends closes its sources", async () => {
  const peer = new Peer().open();
  const [failing, other] = [outgoing(peer, 1, { hasThrown: true }), outgoing(peer, 100)];
  peer.send([Frame.ITEM_CREDIT, 0, 0, 0, 64], [Frame.ITEM_CREDIT, 1, 0, 0, 1]);
  await settled();
  const [end] = of(peer.take(), Frame.ITEM_END);
  assert.deepEqual([end.fields.number(0), end.fields.number(2), text(end.fields.bytes(3))], [0, Code.ReplyDropped, "no more"]);
  assert.ok(failing.isClosed && !other.isClosed);
  peer.send([Frame.CLOSE, Code.Bye, NONE, NONE]);
  await settled();
  assert.ok(other.isClosed);
});

test("a stream in an answer is refused, so that its sender stops", () => {
  const peer = new Peer().open();
  const values = new SessionValues(peer.session, { touch: () => {} }, {});
  assert.throws(() => values.decode(new Uint8Array([0x91, 0xd5, 0x53, 1, 7])), /later release/);
  assert.deepEqual(of(peer.take(), Frame.ITEM_END)[0].fields.all, [7, 2, Code.NotSerializable, NONE]);
});
