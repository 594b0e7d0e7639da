/**
 * The calls of this side: each waits on its channel until the peer's credit, a slot and the outbox have
 * room for it, and then gets its place in the order of all frames.
 */

import { EMPTY, line, Writer } from "../wire/bytes.js";
import { unitsOf } from "../wire/batch.js";
import * as Code from "../wire/code.js";
import { Broken } from "../wire/codes.js";
import * as Frame from "../wire/frame.js";
import { body, type Fields, frame, frameOf } from "../wire/frames.js";
import { effectiveFrameMax, type Limits } from "../wire/opening.js";
import { Channel } from "./channel.js";
import * as Local from "../wire/local.js";
import type { Call, SessionContext } from "./events.js";
import { Long, LongMessages } from "./long.js";
import type { Outbox } from "./outbox.js";
import { Slots } from "./slots.js";

export class Outbound {
  readonly slots = new Slots();
  readonly long: LongMessages;
  #channels: (Channel | undefined)[] = [];
  /** Channels that wait for one of the ATTACHes before them to be answered. */
  #waiting: Channel[] = [];
  /** Channels whose ATTACH the peer has not answered. */
  readonly #attaching = new Set<Channel>();
  /** Channels with calls that wait, in turn. */
  #busy = new Set<Channel>();
  /** What the next batch says of blocked channels: units wanted, and the cost of the call. */
  readonly needs = new Map<number, { limit: number; units: number }>();
  /** Streams whose limit the next batch has. */
  readonly itemCredits = new Set<Call>();
  /** How often references of the peer were sent to it, by their numbers, and how often each is to be released then. */
  readonly #sentBack = new Map<string, [number, number]>();
  /** Bytes and calls that wait for their turn. */
  waitingBytes = 0;
  waitingCalls = 0;
  /** Channels that wait for the answer to an ask. */
  piped = 0;

  constructor(
    private readonly context: SessionContext,
    private readonly outbox: Outbox,
    private readonly limits: () => Limits,
  ) {
    this.long = new LongMessages(outbox);
  }

  get hasWork(): boolean {
    return this.slots.size > 0 || this.waitingCalls > 0 || this.#attaching.size > 0;
  }

  attach(channel: Channel, schemaHash: bigint): void {
    channel.schemaHash = schemaHash;
    this.#waiting.push(channel);
    this.pump();
  }

  /** Gives a channel back; one whose ATTACH was not sent is never attached. */
  detach(channel: Channel): void {
    if (channel.state === "ended") return;
    channel.state = "detaching";
    if (channel.calls.length === 0) this.#waiting = this.#waiting.filter((one) => one !== channel);
    this.pump();
  }

  send(call: Call): void {
    if (call.channel.state === "detaching") {
      // A call behind DETACH would break a rule.
      this.#fail(call, Local.Released, RELEASED);
      return;
    }
    this.waitingCalls += 1;
    this.waitingBytes += call.arguments.length;
    call.channel.calls.push(call);
    if (call.channel.state === "ended") this.#failWaiting(call.channel);
    else this.#busy.add(call.channel);
    this.pump();
  }

  /** The caller has left. A call that was not published is never sent. */
  cancel(call: Call): void {
    const at = call.seq === undefined ? call.channel.calls.indexOf(call) : -1;
    if (at >= 0) {
      call.channel.calls.splice(at, 1);
      this.#left(call);
      this.#fail(call, Local.Withdrawn, LEFT);
    } else if (this.long.drop(call)) {
      if (call.asker) this.slots.complete(call);
      this.#fail(call, Local.Withdrawn, LEFT);
    } else if (call.asker && !call.isCancelled) {
      call.isCancelled = true;
      const { slot, generation } = call.asker;
      this.context.publish(frame(Frame.CANCEL, slot, generation));
    }
  }

  /** A reference of the peer is held no more. One that is on its way back leads to its actor until it is there. */
  release(number: Uint8Array): void {
    const sent = this.#sentBack.get(String(number));
    if (sent) sent[1] += 1;
    else this.context.publish(frame(Frame.RELEASE, number, 1));
  }

  /** A reference of the peer is sent to it, which then releases it too. */
  sentBack(number: Uint8Array): void {
    const key = String(number);
    const sent = this.#sentBack.get(key) ?? [0, 0];
    sent[0] += 1;
    this.#sentBack.set(key, sent);
  }

  /** The peer has released what was sent to it, or it was not sent after all. False if it was not sent so often. */
  returned(number: Uint8Array, times: number): boolean {
    const key = String(number);
    const sent = this.#sentBack.get(key);
    if (sent === undefined || times > sent[0]) return false;
    sent[0] -= times;
    if (sent[0] === 0) {
      this.#sentBack.delete(key);
      if (sent[1] > 0) this.context.publish(frame(Frame.RELEASE, number, sent[1]));
    }
    return true;
  }

  /** Publishes what has room. Each channel gets its turn, and keeps its own order. */
  pump(): void {
    this.#attachWaiting();
    for (const channel of this.#busy) {
      while (channel.calls.length > 0 && this.#publishNext(channel));
      if (channel.calls.length === 0) this.#busy.delete(channel);
    }
    this.long.pump();
    for (const channel of this.#channels) {
      // Calls that wait are in front of DETACH in the order of the caller.
      const isDone = channel?.state === "detaching" && channel.calls.length === 0;
      if (!isDone || channel.end || this.long.has(channel)) continue;
      channel.end = { code: Local.Released, text: RELEASED };
      this.context.publish(frame(Frame.DETACH, channel.number));
    }
  }

  #attachWaiting(): void {
    while (this.#waiting.length > 0 && this.#attaching.size < this.limits().attachPendingMax) {
      const channel = this.#waiting[0]!;
      if (!this.open(channel)) return;
      this.#waiting.shift();
      this.#attaching.add(channel);
    }
  }

  /** Attaches a channel with the lowest free number. False if there is none. */
  open(channel: Channel): boolean {
    const free = this.#channels.indexOf(undefined);
    const number = free < 0 ? this.#channels.length : free;
    if (number >= this.limits().channelsMax) return false;
    channel.number = number;
    if (channel.state === "waiting") channel.state = "attaching";
    this.#channels[number] = channel;
    this.context.publish(frame(Frame.ATTACH, number, channel.how, channel.target, channel.schemaHash, 0));
    return true;
  }

  /** A channel leads nowhere: the calls that wait on it fail. */
  fail(channel: Channel, code: number, text: string): void {
    channel.state = "ended";
    channel.end = { code, text };
    this.#failWaiting(channel);
  }

  /** Publishes the first call that waits on a channel. False if it has to wait on. */
  #publishNext(channel: Channel): boolean {
    const isOpen = channel.state === "attached" || channel.state === "detaching";
    if (!isOpen || channel.limit === 0 || this.outbox.isFull || this.long.has(channel)) return false;
    const call = channel.calls[0]!;
    const isAsk = call.kind !== "tell";
    // A slot and the units are taken together, or neither.
    if (isAsk && !this.slots.take(call, this.limits().slotsMax)) return false;
    const [type, content] = encoded(call);
    const units = unitsOf(content.length);
    const mayGo = channel.mayUse(units);
    if (!mayGo || call.publishing?.(call) === false) {
      if (isAsk) this.slots.putBack(call);
      if (!mayGo && channel.isNewlyBlocked(units)) this.#need(channel, units);
      return false;
    }
    channel.calls.shift();
    channel.used += units;
    this.#left(call);
    if (call.kind === "stream") call.items = { limit: call.window!, used: 0, freed: 0 };
    if (content.length > effectiveFrameMax(this.limits())) {
      this.long.begin(new Long(channel.number + 1, type, content, channel, call), () => {
        this.context.events.push({ kind: "accepted", call });
      });
    } else {
      call.seq = this.context.publish(frameOf(type, content));
      this.context.events.push({ kind: "accepted", call });
    }
    return true;
  }

  #need(channel: Channel, units: number): void {
    this.needs.set(channel.number, { limit: channel.used + units, units });
  }

  #left(call: Call): void {
    this.waitingCalls -= 1;
    this.waitingBytes -= call.arguments.length;
  }

  #fail(call: Call, code: number, text: string): void {
    this.context.events.push({ kind: "failed", call, code, text });
  }

  #failWaiting(channel: Channel): void {
    const { code, text } = channel.end ?? { code: Code.ActorStopped, text: "the channel has ended" };
    for (const call of channel.calls.splice(0)) {
      this.#left(call);
      this.#fail(call, code, text);
    }
    this.#busy.delete(channel);
  }

  // What comes in.

  attached(fields: Fields): void {
    const channel = this.#channels[fields.number(0)];
    if (!channel) return;
    // The limit of a channel that was given back at once is of use to the calls that wait on it.
    channel.raise(fields.number(1));
    this.#attaching.delete(channel);
    if (channel.state !== "attaching") return;
    channel.state = "attached";
    channel.schemaHash = fields.all[2] as bigint;
    this.context.events.push({ kind: "attached", channel });
  }

  detached(fields: Fields): void {
    const channel = this.#channels[fields.number(0)];
    if (!channel) return;
    this.#attaching.delete(channel);
    this.#channels[channel.number] = undefined;
    this.needs.delete(channel.number);
    // The peer keeps its part of a channel that it has ended until it is told that nobody calls there any more.
    if (!channel.end) this.context.publish(frame(Frame.DETACH, channel.number));
    const reason = fields.behind.isEmpty ? EMPTY : fields.behind.sized();
    const end = channel.end ?? { code: fields.number(1), text: reason.length > 1 ? line(reason.subarray(1)) : "" };
    const long = this.long.ended(channel);
    if (long?.asker) this.slots.complete(long);
    if (long) this.#fail(long, end.code, end.text);
    this.fail(channel, end.code, end.text);
    this.context.events.push({ kind: "detached", channel, ...end });
  }

  credit(fields: Fields): void {
    this.#channels[fields.number(0)]?.raise(fields.number(1));
  }

  revoke(fields: Fields): void {
    const channel = this.#channels[fields.number(0)];
    if (!channel) return;
    this.context.publish(frame(Frame.REVOKED, channel.number, channel.revoke(fields.number(1))));
  }

  rejected(fields: Fields): void {
    const channel = this.#channels[fields.number(0)];
    if (!channel) return;
    const [method, tells, code] = [fields.number(1), fields.number(2), fields.number(3)];
    this.context.events.push({ kind: "rejected", channel, method, tells, code, text: line(fields.bytes(4)) });
  }

  answered(slot: number, generation: number, value: Uint8Array): void {
    const call = this.slots.find(slot, generation);
    this.#complete(call);
    this.context.events.push({ kind: "answered", call, value });
  }

  failed(slot: number, generation: number, code: number, text: string): void {
    const call = this.slots.find(slot, generation);
    this.#complete(call);
    this.#fail(call, code, text);
  }

  #complete(call: Call): void {
    this.slots.complete(call);
    this.itemCredits.delete(call);
  }

  item(fields: Fields, length: number): void {
    const call = this.slots.find(fields.number(0), fields.number(1));
    const { items } = call;
    if (items === undefined || fields.number(2) !== 1) {
      throw new Broken(Code.Protocol, "an item is that of an open stream");
    }
    if (items.used >= items.limit) {
      throw new Broken(Code.CreditExceeded, "items are within their limit");
    }
    const units = unitsOf(length);
    items.used += units;
    this.context.events.push({ kind: "item", call, value: fields.bytes(3), units });
  }

  /** The reader of a stream has taken items of so many units. */
  itemsFreed(call: Call, units: number): void {
    const { items, window } = call;
    if (items === undefined || window === undefined || call.isCancelled) return;
    items.freed += units;
    if (2 * (items.freed + window - items.limit) < window) return;
    items.limit = items.freed + window;
    this.itemCredits.add(call);
  }

  /** After a cut: what has no number is said again. */
  resumed(): void {
    for (const channel of this.#channels) {
      const call = channel?.calls[0];
      if (!channel || !call) continue;
      const units = unitsOf(encoded(call)[1].length);
      if (!channel.mayUse(units)) this.#need(channel, units);
    }
    for (const call of this.slots.calls()) {
      if (call.items !== undefined && !call.isCancelled) this.itemCredits.add(call);
    }
  }

  /** The session has ended: every call gets its outcome. `written` is the first number not written. */
  end(written: number, why: string): void {
    for (const call of [...this.slots.calls()]) {
      const isUnsent = call.seq === undefined || call.seq >= written;
      this.#complete(call);
      this.#fail(call, isUnsent ? Local.NotDelivered : Local.Unknown, why);
    }
    for (const channel of [...this.#channels, ...this.#waiting]) {
      if (!channel) continue;
      const long = this.long.ended(channel);
      if (long?.kind === "tell") this.#fail(long, Local.NotDelivered, why);
      this.fail(channel, Local.NotDelivered, why);
      this.context.events.push({ kind: "detached", channel, code: Local.NotDelivered, text: why });
    }
    this.#channels = [];
    this.#waiting = [];
  }
}

const RELEASED = "the reference was released";
const LEFT = "the caller has left";

/** The type and the body of a call's frame; without a slot yet, those of the same length. */
function encoded(call: Call): [number, Uint8Array] {
  const { slot, generation } = call.asker ?? { slot: 0, generation: 0 };
  const { number } = call.channel;
  if (call.kind === "tell") return [Frame.TELL, body(Frame.TELL, number, call.method, call.arguments)];
  const content = body(Frame.ASK, number, slot, generation, call.method, call.arguments);
  if (call.milliseconds === undefined && call.kind === "ask") return [Frame.ASK, content];
  const extras = new Writer();
  if (call.milliseconds !== undefined) {
    extras.number(2).sized(new Writer().number(call.milliseconds).finish());
  }
  if (call.kind === "stream") extras.number(6).sized(new Writer().number(call.window!).finish());
  return [Frame.CALL_X, body(Frame.CALL_X, Frame.ASK, extras.finish(), content)];
}
