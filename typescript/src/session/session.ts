/**
 * A session of the link protocol as a pure state machine: messages and the time come in, messages and
 * events go out. The node beside it owns the connection and the timer.
 *
 * One session uses one connection at a time. `connect` begins the opening of a new one, which resumes
 * the session if it was opened before; `disconnected` says that it is gone.
 */

import * as batches from "../wire/batch.js";
import { EMPTY, utf8, Writer } from "../wire/bytes.js";
import * as Code from "../wire/code.js";
import { Broken } from "../wire/codes.js";
import * as Frame from "../wire/frame.js";
import { frame, frameOf, SEQUENCED } from "../wire/frames.js";
import { defaultLimits, type Hello, type Limits, nodeId, offers, OUTCOMES } from "../wire/opening.js";
import { Dispatch, type OutgoingStreams } from "./dispatch.js";
import * as Local from "../wire/local.js";
import type { Call, SessionContext, SessionEvent } from "./events.js";
import { Handshake, type Identity, Refused } from "./handshake.js";
import { Heartbeat, INTERVAL_MAX_MS } from "./heartbeat.js";
import { Outbound } from "./outbound.js";
import type { LongMessages } from "./long.js";
import { Outbox } from "./outbox.js";
import { type InboundSide, Refusing } from "./refusing.js";
import type { SharedKey } from "../api/shared_key.js";

/** The opening of a connection is complete within this time. */
const OPENING_MS = 5_000;
/** An ack goes alone after this time, or at once after so many bytes (with parts among them). */
const ACK_DELAY_MS = 10;
const ACK_BYTES = 1024 * 1024;
const ACK_PART_BYTES = 32 * 1024;
/** Bytes of sequenced frames in one batch, more for a longer frame. */
const BATCH_BYTES = 64 * 1024;
/** The dialer gives a session up so much later than the listener, so that the listener decides. */
const GIVE_UP_AFTER_MS = 5_000;
/** Frames that are published in one task before their callers wait for the writing of them. */
const BRIEF_FRAMES = 512;

export interface SessionOptions {
  /** The name of this end, if it has one. */
  name?: string | undefined;
  key?: SharedKey | undefined;
  /** Milliseconds of silence after which a sign of life is expected. */
  heartbeatMs?: number | undefined;
  random: (count: number) => Uint8Array;
}

export class Session implements SessionContext {
  readonly events: SessionEvent[];
  readonly outbound: Outbound;
  #inbound: InboundSide;
  /** The streams that this side sends; missing until the first one. */
  outgoing: OutgoingStreams | undefined;
  readonly #outbox = new Outbox();
  readonly #dispatch: Dispatch;
  readonly identity: Identity;
  readonly #random: (count: number) => Uint8Array;
  #state: "idle" | "opening" | "open" | "ended" = "idle";
  #handshake: Handshake | undefined;
  #openingEnds = 0;
  #peer: Hello | undefined;
  #token: Uint8Array = EMPTY;
  #ttlMs = 0;
  #epoch = 0;
  #recvNext = 0;
  #giveUpAt = Infinity;
  #heartbeat: Heartbeat | undefined;
  #ackDue = Infinity;
  #ackBytes = 0;
  #hasParts = false;
  #pong: number | undefined;
  #owesPong = false;
  /** A batch is due although it may be empty: the first on each connection. */
  #isGreetingDue = false;
  /** The broken rule with which the session is to be closed; without a code it is done. */
  #closing: { code?: number; rule?: string } | undefined;
  #now = 0;

  constructor(options: SessionOptions) {
    this.events = [];
    this.#random = options.random;
    const incarnation = options.random(16);
    const limits = { ...defaultLimits(), heartbeatMs: Math.ceil(Math.min(options.heartbeatMs ?? 1_000, INTERVAL_MAX_MS)) };
    const name = options.name ?? "";
    const node = name === "" ? incarnation : nodeId(name);
    this.identity = { node, incarnation, name, session: options.random(16), key: options.key, limits };
    this.outbound = new Outbound(this, this.#outbox, this.#theirs);
    this.#inbound = new Refusing(this);
    this.#dispatch = new Dispatch(this.outbound, limits.messageMax, this);
  }

  readonly #theirs = () => this.#peer?.limits ?? defaultLimits();

  /** The calls of the peer to this side. */
  get inbound(): InboundSide {
    return this.#inbound;
  }

  /** Lets the peer call actors of this side, which refuses all calls until then. */
  host<I extends InboundSide>(
    Class: new (
      context: SessionContext,
      long: LongMessages,
      ours: Limits,
      theirs: () => Limits,
      refused: Iterable<number>,
    ) => I,
  ): I {
    const refused = (this.#inbound as Refusing).channels;
    const inbound = new Class(this, this.outbound.long, this.identity.limits, this.#theirs, refused);
    this.#inbound = inbound;
    return inbound;
  }

  // Frames that concern the session as a whole.

  ping(id: number, nextMs: number): void {
    this.#pong = id;
    this.#heartbeat!.pingReceived(nextMs);
  }

  pong(): void {
    this.#owesPong = false;
  }


  get peer(): Hello | undefined {
    return this.#peer;
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  get hasEnded(): boolean {
    return this.#state === "ended";
  }

  /** True if nothing waits to be written, acknowledged or answered. */
  get isSettled(): boolean {
    const { long, hasWork } = this.outbound;
    return this.#outbox.isEmpty && !hasWork && !this.#inbound.hasWork && !this.outgoing?.hasWork && long.isEmpty;
  }

  /** True if calls and items may be published. */
  get hasRoom(): boolean {
    return !this.#outbox.isFull;
  }

  publish(bytes: Uint8Array): number {
    return this.#outbox.publish(bytes);
  }

  // The life of the session.

  /** A new connection is there. Its opening begins. */
  connect(now: number): void {
    if (this.#state === "ended") return;
    this.#now = now;
    const peer = this.#peer;
    if (peer) this.#epoch += 1;
    const resumable = peer && { peer, token: this.#token, epoch: this.#epoch, recvNext: this.#recvNext };
    this.#handshake = new Handshake(this.identity, resumable, this.#random);
    this.#state = "opening";
    this.#openingEnds = now + OPENING_MS;
  }

  /** The connection is gone. */
  disconnected(now: number): void {
    this.#now = now;
    if (this.#state === "ended") return;
    this.#state = "idle";
    this.#handshake = undefined;
    if (this.#peer && this.#giveUpAt === Infinity) this.#giveUpAt = now + this.#ttlMs + GIVE_UP_AFTER_MS;
    if (this.#peer && this.#ttlMs === 0) this.closed(Local.Lost, "the connection was lost with its session");
  }

  /** Says goodbye behind everything that was published. */
  close(): void {
    this.#closing ??= {};
  }

  /** Ends the session at once, without a goodbye. */
  abandon(why: string): void {
    this.closed(Local.Lost, why);
  }

  /** The session is over. */
  closed(code: number, why: string): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    // Tells among them have no caller any more that could be told.
    const lost = this.#outbox.next - this.#outbox.acked;
    if (lost > 0) why += `; ${lost} frames were not acknowledged`;
    this.outbound.end(this.#outbox.written, why);
    this.#inbound.end?.();
    this.outgoing?.end();
    this.events.push({ kind: "ended", code, text: why });
  }

  // Time.

  /** When `tick` is to be called. */
  get deadline(): number {
    if (this.#state === "ended") return Infinity;
    if (this.#state === "opening") return Math.min(this.#openingEnds, this.#giveUpAt);
    if (this.#state === "idle") return this.#giveUpAt;
    return Math.min(this.#heartbeat!.deadline, this.#ackDue);
  }

  tick(now: number): void {
    this.#now = now;
    if (this.#state === "ended") return;
    if (now >= this.#giveUpAt) {
      this.closed(Local.Lost, "the node no longer keeps the session");
    } else if (this.#state === "opening" && now >= this.#openingEnds) {
      this.#cut("not opened within 5 s");
    } else if (this.#state === "open" && this.#heartbeat!.isPeerSilent(now)) {
      this.#cut("the node was silent");
    }
  }

  #cut(why: string): void {
    this.disconnected(this.#now);
    this.events.push({ kind: "cut", why });
  }

  // What comes in.

  /** Takes one SP message. */
  receive(message: Uint8Array, now: number): void {
    this.#now = now;
    if (this.#state !== "opening" && this.#state !== "open") return;
    try {
      const content = batches.contentOf(message);
      if (content === undefined) throw new Broken(Code.Protocol, "a message has come over one hop");
      if (this.#state === "opening") this.#openingCame(content);
      else this.#batchCame(message.length, content);
    } catch (error) {
      if (error instanceof Refused) this.#refused(error);
      else if (error instanceof Broken && this.#state === "opening") this.#cut(`the opening broke a rule: ${error.message}`);
      else if (error instanceof Broken) this.#closing = error;
      else throw error;
    }
    this.#pump();
  }

  /** Publishes what has room now. */
  #pump(): void {
    if (this.#state !== "open") return;
    this.outbound.pump();
    this.outgoing?.pump();
  }

  #refused(refused: Refused): void {
    // A first opening has nothing to lose: its caller learns why.
    if (refused.isPassing && this.#peer) this.#cut(refused.message);
    else this.closed(refused.code, refused.message);
  }

  #openingCame(content: Uint8Array): void {
    const opened = this.#handshake!.receive(content);
    if (opened === undefined) return;
    this.#peer = opened.peer;
    this.#token = opened.token.slice();
    this.#handshake = undefined;
    this.#state = "open";
    this.#giveUpAt = Infinity;
    this.#heartbeat = new Heartbeat(this.identity.limits.heartbeatMs, opened.peer.limits.heartbeatMs, this.#now);
    this.#isGreetingDue = true;
    [this.#ackDue, this.#ackBytes, this.#pong, this.#owesPong] = [Infinity, 0, undefined, false];
    if (opened.kind === "opened") {
      this.#ttlMs = opened.ttlMs;
    } else {
      this.#outbox.resumed(opened.recvNext);
      this.outbound.resumed();
      this.#inbound.resumed?.();
    }
    this.events.push({ kind: opened.kind });
  }

  #batchCame(length: number, content: Uint8Array): void {
    const { batchMax, frameMax } = this.identity.limits;
    if (length > batchMax) throw new Broken(Code.LimitExceeded, "a message is within batch_max");
    const batch = batches.parseBatch(content, frameMax);
    if (batch.firstSeq > this.#recvNext) throw new Broken(Code.Gap, "sequence numbers have no gaps");
    this.#outbox.acknowledged(batch.ack);
    let seq = batch.firstSeq;
    for (const { type, body } of batch.frames) {
      if (type & SEQUENCED) {
        seq += batches.numbersOf(type, body);
        if (seq <= this.#recvNext) continue;
        this.#recvNext = seq;
        this.#ackBytes += body.length;
        this.#hasParts ||= type === Frame.PARTS || type === Frame.PART;
        this.#ackDue = Math.min(this.#ackDue, this.#now + ACK_DELAY_MS);
        this.#heartbeat!.active(this.#now);
      }
      this.#dispatch.frame(type, body, this.#now);
      if (this.#state !== "open") return;
    }
    if (seq !== batch.firstSeq + batch.count) throw new Broken(Code.Protocol, "a batch has its count of frames");
    this.#heartbeat!.received(this.#now, this.#owesPong || !this.#outbox.isEmpty);
  }

  // What goes out.

  /** The next SP message to write, if one is due. */
  takeMessage(now: number): Uint8Array | undefined {
    this.#now = now;
    if (this.#state === "opening") {
      const content = this.#handshake!.output.shift();
      return content && batches.spMessage(content);
    }
    if (this.#state !== "open") return undefined;
    this.#pump();
    const { code = Code.Bye, rule = "" } = this.#closing ?? {};
    const isBroken = code !== Code.Bye;
    const frames = isBroken ? [] : this.#control();
    const ping = this.#heartbeat!.ping(now, this.isSettled);
    if (ping) {
      frames.push(frame(Frame.PING, ...ping));
      this.#owesPong = true;
    }
    const firstSeq = this.#outbox.written;
    const sequenced = isBroken ? [] : this.#outbox.take(Math.min(BATCH_BYTES, this.#peer!.limits.batchMax - 1_035));
    const isClosing = isBroken || (this.#closing !== undefined && this.#outbox.unwritten === 0 && this.outbound.long.isEmpty);
    if (isClosing) sequenced.push(frame(Frame.CLOSE, code, utf8(rule), EMPTY));
    const ackBytes = this.#hasParts ? ACK_PART_BYTES : ACK_BYTES;
    const isAckDue = now >= this.#ackDue || this.#ackBytes >= ackBytes;
    if (frames.length === 0 && sequenced.length === 0 && !isAckDue && !this.#isGreetingDue) return undefined;
    [this.#ackDue, this.#ackBytes, this.#hasParts, this.#isGreetingDue] = [Infinity, 0, false, false];
    const count = isClosing ? sequenced.length - 1 : sequenced.length;
    if (count > 0) this.#heartbeat!.active(now);
    this.#heartbeat!.sent(now, count > 0 || ping !== undefined);
    if (isClosing) this.closed(code, isBroken ? `the node has broken a rule: ${rule}` : "the session was closed");
    return batches.spMessage(batches.batchHead(this.#recvNext, firstSeq, count), ...frames, ...sequenced);
  }

  /** The frames without numbers that are due. They are few, so they fit in front of any frame. */
  #control(): Uint8Array[] {
    const frames = [];
    const hasOutcomes = offers(this.#peer!, OUTCOMES);
    if (this.#pong !== undefined) frames.push(frame(Frame.PONG, this.#pong));
    this.#pong = undefined;
    for (const [channel, { limit, units }] of take(this.outbound.needs, CONTROL_MAX)) {
      const need = new Writer().number(channel).number(limit);
      // Only the cost of a long call is of interest to the peer.
      if (units > 1_024) need.number(units);
      frames.push(frameOf(Frame.NEED, need.finish()));
      this.outbound.needs.delete(channel);
    }
    for (const call of take(this.outbound.itemCredits, CONTROL_MAX)) {
      frames.push(frame(Frame.ITEM_CREDIT, call.asker!.slot, call.asker!.generation, 1, call.items!.limit));
      this.outbound.itemCredits.delete(call);
    }
    frames.push(...(this.#inbound.announcements?.(hasOutcomes) ?? []));
    return frames;
  }

  /** True while what waits to be written fits into one message, more or less. */
  get isBrief(): boolean {
    return this.#outbox.unwritten < BRIEF_FRAMES;
  }

  /** Sends a call; its outcome is an event. */
  send(call: Call, now: number): void {
    this.#now = now;
    this.#heartbeat?.active(now);
    this.outbound.send(call);
  }
}

/** Frames of one kind in a batch: with the header they take less than the 1,024 bytes reserved. */
const CONTROL_MAX = 8;

function* take<T>(all: Iterable<T>, most: number): Generator<T> {
  let count = 0;
  for (const one of all) {
    if (count++ >= most) return;
    yield one;
  }
}
