/** The other end of a session in virtual time: a listener that does what a test tells it. */

import * as batches from "../../dist/wire/batch.js";
import { concat, Writer } from "../../dist/wire/bytes.js";
import * as Frame from "../../dist/wire/frame.js";
import { fieldsOf, frame } from "../../dist/wire/frames.js";
import * as Opening from "../../dist/wire/opening_type.js";
import { defaultLimits, hello, OFFERED, parseHello } from "../../dist/wire/opening.js";
import { Session } from "../../dist/session/session.js";
import { Channel } from "../../dist/session/channel.js";

const filled = (byte, count = 16) => new Uint8Array(count).fill(byte);

export class Peer {
  now = 0;
  /** The number that the next frame of this end gets, and the one that is expected of the other. */
  next = 0;
  expected = 0;
  /** All frames of the other end, in order: `{ seq, type, fields }`, without a number if it has none. */
  frames = [];
  batches = [];
  /** All events of the session. */
  events = [];

  constructor({ limits = {}, ttlMs = 60_000, session = {} } = {}) {
    this.limits = { ...defaultLimits(), ...limits };
    this.ttlMs = ttlMs;
    let drawn = 0;
    this.session = new Session({ random: (count) => filled(++drawn, count), ...session });
  }

  /** Opens the session. */
  open() {
    this.session.connect(this.now);
    parseHello(batches.contentOf(this.session.takeMessage(this.now)));
    this.say(this.hello());
    this.openSent = batches.contentOf(this.session.takeMessage(this.now));
    this.say(new Writer().u8(Opening.OPENED).put(filled(0x40)).number(this.ttlMs).finish());
    this.take();
    return this;
  }

  hello(incarnation = filled(0xee)) {
    const numbers = { versionMin: 1, versionMax: 1, offered: OFFERED, required: 0n };
    return hello({ ...numbers, node: filled(0xdd), incarnation, nonce: filled(0xcc), limits: this.limits });
  }

  /** Cuts the connection and resumes over a new one; the number that this end claims to expect. */
  resume(expected = this.expected) {
    this.session.disconnected(this.now);
    this.session.connect(this.now);
    this.session.takeMessage(this.now);
    this.say(this.hello());
    const claim = batches.contentOf(this.session.takeMessage(this.now));
    const epoch = claim[19];
    this.expected = expected;
    this.say(new Writer().u8(Opening.RESUMED).number(epoch).number(expected).put(filled(0x41)).finish());
    return this.take();
  }

  /** Gives the session a message as it is. */
  say(content) {
    this.session.receive(batches.spMessage(content), this.now);
    this.#drain();
  }

  /** Sends frames in a batch: those without a number in front. */
  send(...frames) {
    this.sendFrom(this.next, ...frames);
    this.next += frames.filter(([type]) => type & 0x80).length;
    return this.take();
  }

  /** Sends frames with numbers from `first` on, whatever was sent before. */
  sendFrom(first, ...frames) {
    const count = frames.filter(([type]) => type & 0x80).length;
    const bodies = frames.map(([type, ...fields]) => frame(type, ...fields));
    this.say(concat([batches.batchHead(this.expected, first, count), ...bodies]));
  }

  /** Takes what the session has to write, as this end reads it. The new frames. */
  take() {
    const from = this.frames.length;
    for (let message = this.session.takeMessage(this.now); message; message = this.session.takeMessage(this.now)) {
      const batch = batches.parseBatch(batches.contentOf(message), 1 << 20);
      this.batches.push(batch);
      let seq = batch.firstSeq;
      for (const { type, body } of batch.frames) {
        const isNew = !(type & 0x80) || seq >= this.expected;
        this.frames.push({ type, fields: fieldsOf(type, body), ...(type & 0x80 ? { seq: seq++ } : {}), isNew });
      }
      this.expected = Math.max(this.expected, seq);
    }
    this.#drain();
    return this.frames.slice(from);
  }

  /** Lets time pass up to `now`, and takes what the session writes then. */
  at(now) {
    this.now = now;
    this.session.tick(now);
    return this.take();
  }

  #drain() {
    this.events.push(...this.session.events.splice(0));
  }

  /** A channel that the session has attached, with the limit. */
  channel(limit = 64) {
    const channel = new Channel(0, new Uint8Array([97]));
    this.session.outbound.attach(channel, 0n);
    this.take();
    this.send([Frame.ATTACHED, channel.number, limit, 7n, 0, new Uint8Array(0)]);
    return channel;
  }

  /** Sends a call over a channel, and returns it. */
  call(channel, kind = "tell", more = {}) {
    const call = { channel, method: 1, arguments: new Uint8Array([0x90]), kind, ...more };
    this.session.send(call, this.now);
    this.take();
    return call;
  }

  /** The kinds of the events about a call. */
  outcomes(call) {
    return this.events.filter((event) => event.call === call).map((event) => event.kind);
  }
}
