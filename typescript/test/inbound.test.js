/** The calls of the peer, and the references that both sides hold, against an end that a test controls. */

import assert from "node:assert/strict";
import { test } from "node:test";
import * as Code from "../dist/wire/code.js";
import { text } from "../dist/wire/bytes.js";
import * as Frame from "../dist/wire/frame.js";
import { RemoteReference } from "../dist/api/reference.js";
import { SessionValues } from "../dist/api/session_values.js";
import { Inbound } from "../dist/host/inbound.js";
import { attached, lent } from "./support/lent.js";
import { Peer } from "./support/peer.js";

const NONE = new Uint8Array(0);
const NIL = new Uint8Array([0xc0]);
const of = (frames, type) => frames.filter((one) => one.type === type);

test("a session that has lent nothing refuses the calls of its peer, also those that cross its refusal", () => {
  const peer = new Peer().open();
  const frames = peer.send([Frame.ATTACH, 0, 0, NONE, 0n, 0], [Frame.TELL, 0, 1, NIL], [Frame.ASK, 0, 0, 0, 1, NIL]);
  assert.deepEqual(of(frames, Frame.DETACHED)[0].fields.all, [0, Code.NoSuchActor, 0]);
  assert.deepEqual(of(frames, Frame.ERROR)[0].fields.all.slice(0, 3), [0, 0, Code.NoSuchActor]);
  // What was refused before something was lent stays refused.
  peer.session.host(Inbound).lend(lent);
  const later = peer.send([Frame.ASK, 0, 0, 1, 1, NIL], [Frame.ATTACH, 1, 1, lent, 0n, 0]);
  assert.deepEqual(of(later, Frame.ERROR)[0].fields.all.slice(0, 3), [0, 1, Code.NoSuchActor]);
  assert.equal(of(later, Frame.ATTACHED).length, 1);
  peer.send([Frame.DETACH, 0]);
  peer.send([Frame.TELL, 0, 1, NIL]);
  assert.equal(of(peer.frames, Frame.CLOSE)[0].fields.number(0), Code.Protocol);
});

test("calls of the peer are handed out in order, and their credit is renewed at half a window", () => {
  const peer = new Peer().open();
  attached(peer);
  peer.send(...Array.from({ length: 64 }, (_, at) => [Frame.TELL, 0, 1, new Uint8Array([at])]));
  const called = peer.events.filter((event) => event.kind === "called");
  assert.deepEqual(called.map(({ call }) => call.arguments[0]), Array.from({ length: 64 }, (_, at) => at));
  called.slice(0, 31).forEach(({ channel, call }) => peer.session.inbound.taken(channel, call));
  assert.equal(of(peer.take(), Frame.CREDIT).length, 0);
  peer.session.inbound.taken(called[31].channel, called[31].call);
  const frames = peer.take();
  assert.deepEqual(of(frames, Frame.CREDIT)[0].fields.all, [0, 96, 32]);
  assert.deepEqual(of(frames, Frame.OUTCOMES)[0].fields.all, [0, 32, 0]);
});

test("a call with an unknown extra is taken if the tag is odd, and not understood if it is even", () => {
  const peer = new Peer().open();
  attached(peer);
  let slot = 0;
  const extended = (type, extras) => {
    const head = type === Frame.ASK ? [0, slot++, 0, 1] : [0, 1];
    const before = peer.events.length;
    const frames = peer.send([Frame.CALL_X, type, new Uint8Array(extras), new Uint8Array([...head, 0xc0])]);
    return { called: peer.events.slice(before).find((event) => event.kind === "called"), frames };
  };
  // A tag, a length, and that many bytes.
  const [odd, even, limit, chain, items] = [[99, 1, 0], [98, 0], [2, 2, 0xf4, 3], [4, 1, 1], [6, 1, 1]];
  for (const extras of [odd, chain]) {
    assert.ok(extended(Frame.TELL, extras).called);
    assert.equal(extended(Frame.ASK, extras).called.deadline, Infinity);
  }
  // A tenth of the time that is left is for the way back.
  assert.equal(extended(Frame.ASK, [...odd, ...limit]).called.deadline, peer.now + 450);
  assert.ok(extended(Frame.ASK, items).called);
  for (const extras of [even, [...chain, ...even]]) {
    const { called, frames } = extended(Frame.ASK, extras);
    assert.equal(called, undefined);
    assert.equal(of(frames, Frame.ERROR)[0].fields.number(2), Code.BadArguments);
  }
  for (const extras of [even, items]) assert.equal(extended(Frame.TELL, extras).called, undefined);
  assert.deepEqual(of(peer.frames, Frame.OUTCOMES).at(-1).fields.all, [0, 2, 2], "those that are not handled yet are not counted");
});

test("the parts of a call are forgotten with its channel, whose number may be used again", () => {
  const peer = new Peer().open();
  attached(peer);
  const begin = [Frame.PARTS, 1, Frame.TELL, 3_000, new Uint8Array([0, 1, ...Array(998).fill(7)])];
  const rest = [Frame.PART, 1, new Uint8Array(2_000).fill(7)];
  peer.send(begin);
  peer.send([Frame.DETACH, 0], [Frame.ATTACH, 0, 1, lent, 0n, 0], begin, rest);
  const [{ call }] = peer.events.filter((event) => event.kind === "called");
  assert.equal(call.arguments.length, 2_998);
});

test("long replies go one after the other, each in parts", () => {
  const peer = new Peer().open();
  attached(peer);
  const replies = [1, 2, 3].map((byte) => new Uint8Array(400_000).fill(byte));
  peer.send(...replies.map((_, slot) => [Frame.ASK, 0, slot, 0, 1, NIL]));
  replies.forEach((reply, slot) => peer.session.inbound.reply({ slot, generation: 0 }, reply));
  // Half a mebibyte of parts waits for acks.
  peer.take();
  while (peer.send().length > 0);
  const parts = peer.frames.filter(({ type }) => type === Frame.PARTS || type === Frame.PART);
  const messages = [];
  for (const { type, fields } of parts) {
    if (type === Frame.PARTS) messages.push({ total: fields.number(2), bytes: [] });
    messages.at(-1).bytes.push(...fields.bytes(type === Frame.PARTS ? 3 : 1));
  }
  assert.deepEqual(messages.map(({ total, bytes }) => [total, bytes.length]), Array(3).fill([400_002, 400_002]));
  messages.forEach(({ bytes }, at) => assert.ok(bytes[0] === at && bytes.slice(2).every((byte) => byte === at + 1)));
});

test("an ask of the peer counts as given up once its own CANCEL has come", () => {
  const peer = new Peer().open();
  attached(peer);
  const [first, second] = [{ slot: 0, generation: 0 }, { slot: 1, generation: 0 }];
  peer.send([Frame.ASK, 0, 0, 0, 1, NIL], [Frame.ASK, 0, 1, 0, 1, NIL], [Frame.CANCEL, 0, 1]);
  assert.deepEqual([first, second].map((asker) => peer.session.inbound.isCancelled(asker)), [false, false]);
  peer.send([Frame.CANCEL, 0, 0]);
  assert.deepEqual([first, second].map((asker) => peer.session.inbound.isCancelled(asker)), [true, false]);
});

test("tells that were rejected are reported by method, with the first reason of each, and at once", () => {
  const peer = new Peer().open();
  attached(peer);
  peer.send(...[1, 2, 1].map((method) => [Frame.TELL, 0, method, NIL]));
  const called = peer.events.filter((event) => event.kind === "called");
  const reasons = ["no number", "no text", "no list"];
  called.forEach(({ channel, call }, at) => peer.session.inbound.taken(channel, call, { code: Code.BadArguments, text: reasons[at] }));
  const frames = peer.take();
  const rejected = of(frames, Frame.REJECTED).map(({ fields }) => [...[0, 1, 2, 3].map((at) => fields.number(at)), text(fields.bytes(4))]);
  assert.deepEqual(rejected, [
    [0, 1, 2, Code.BadArguments, "no number"],
    [0, 2, 1, Code.BadArguments, "no text"],
  ]);
  assert.deepEqual(of(frames, Frame.OUTCOMES)[0].fields.all, [0, 3, 3]);
});

test("a reference of the peer that is sent back is held until the peer has released that", () => {
  const peer = new Peer().open();
  const { outbound } = peer.session;
  const number = new Uint8Array(16).fill(9);
  const released = () => of(peer.frames, Frame.RELEASE).map(({ fields }) => fields.number(1));
  outbound.release(number);
  peer.take();
  assert.deepEqual(released(), [1], "it was not sent back");
  for (let times = 0; times < 3; times += 1) outbound.sentBack(number);
  for (let times = 0; times < 2; times += 1) outbound.release(number);
  peer.send([Frame.RELEASE, number, 2]);
  assert.deepEqual(released(), [1]);
  peer.send([Frame.RELEASE, number, 1]);
  assert.deepEqual(released(), [1, 2]);
  peer.send([Frame.RELEASE, number, 1]);
  assert.equal(of(peer.frames, Frame.CLOSE)[0].fields.number(0), Code.Protocol, "it was not sent so often");
});

test("a value that cannot be sent has sent no reference back", () => {
  const peer = new Peer().open();
  const owner = { release: (number) => peer.session.outbound.release(number) };
  const values = (owner.values = new SessionValues(peer.session, { touch: () => {} }, owner));
  const [node, incarnation, number] = [1, 2, 3].map((byte) => new Uint8Array(16).fill(byte));
  const remote = new RemoteReference(owner, { node, incarnation, number, schemaHash: 0n });
  assert.throws(() => values.encode([remote, () => {}]), TypeError);
  remote.release();
  assert.equal(of(peer.take(), Frame.RELEASE).length, 1);
});

test("a reference is let go when it was released as often as it was lent, and its channels are closed", () => {
  const peer = new Peer().open();
  attached(peer);
  peer.session.inbound.lend(lent);
  peer.send([Frame.RELEASE, lent, 2]);
  assert.ok(!peer.events.some((event) => event.kind === "released"), "a channel keeps it");
  const frames = peer.send([Frame.DETACH, 0]);
  assert.equal(of(frames, Frame.DETACHED)[0].fields.number(1), Code.Ok);
  assert.ok(peer.events.some((event) => event.kind === "released"));
});
