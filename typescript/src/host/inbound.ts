/**
 * The calls of the peer to actors of this side, which it was given references to (sections 4 and 9 of
 * the page): channels, their credit, and how often each reference was lent.
 */

import type { InboundCall } from "../wire/batch.js";
import { concat, EMPTY, hex, utf8, Writer } from "../wire/bytes.js";
import * as Code from "../wire/code.js";
import { Broken } from "../wire/codes.js";
import * as Frame from "../wire/frame.js";
import { body, type Fields, frame, frameOf } from "../wire/frames.js";
import { effectiveFrameMax, type Limits } from "../wire/opening.js";
import type { SessionContext } from "../session/events.js";
import { Long, type LongMessages } from "../session/long.js";
import type { InboundSide } from "../session/refusing.js";

/** Units of a channel's first window, and of the widest one. */
const WINDOW_MIN = 64;
const WINDOW_MAX = 4_096;
/** References that a session lends at a time. */
export const LENT_MAX = 65_536;

/** A channel of the peer to an actor of this side. */
export class InboundChannel {
  limit: number;
  used = 0;
  /** Units whose calls were taken, and calls whose handlers have ended. */
  freed = 0;
  handled = 0;
  tells = 0;
  rejected = 0;
  window = WINDOW_MIN;
  isBlocked = false;
  readonly rejections = new Map<number, { tells: number; code: number; text: string }>();

  constructor(
    readonly number: number,
    /** The actor; missing if the ATTACH was refused, or the actor has stopped. */
    public key: string | undefined,
    /** The hash that the caller expects. */
    readonly schemaHash: bigint,
    initialUnits: number,
  ) {
    this.limit = initialUnits;
  }

  /** The limit that may be announced. */
  get grantable(): number {
    return this.freed + this.window;
  }
}

/** An ask of the peer, from its coming to its answer. */
interface OpenAsk {
  generation: number;
  isCancelled: boolean;
}

export class Inbound implements InboundSide {
  #channels = new Map<number, InboundChannel>();
  /** How often each reference was lent, by its number, and its place among all. */
  #lent = new Map<string, { times: number; place: number; hasStopped: boolean }>();
  #places = 0;
  #asks = new Map<number, OpenAsk>();
  /** The generation that is expected next, for each slot. */
  #generations = new Map<number, number>();
  /** Channels whose credit the next batches have. */
  readonly #credits = new Set<InboundChannel>();

  constructor(
    private readonly context: SessionContext,
    private readonly long: LongMessages,
    private readonly ours: Limits,
    private readonly theirs: () => Limits,
    /** Channels that were refused before anything was lent. */
    refused: Iterable<number>,
  ) {
    for (const number of refused) this.#channels.set(number, new InboundChannel(number, undefined, 0n, ours.initialUnits));
  }

  get hasWork(): boolean {
    return this.#asks.size > 0;
  }

  /** Counts a reference as sent once more. False if too many are lent. */
  lend(number: Uint8Array): boolean {
    const key = hex(number);
    const lent = this.#lent.get(key) ?? { times: 0, place: this.#places++, hasStopped: false };
    if (lent.times === 0 && this.#lent.size >= LENT_MAX) return false;
    lent.times += 1;
    this.#lent.set(key, lent);
    return true;
  }

  /** A reference was not sent after all, or the peer holds it no more. */
  release(number: Uint8Array, times: number): void {
    const key = hex(number);
    const lent = this.#lent.get(key);
    if (number.length !== 16 || lent === undefined || times > lent.times) {
      throw new Broken(Code.Protocol, "a reference is released as often as it was sent");
    }
    lent.times -= times;
    if (lent.times === 0) this.#lent.delete(key);
    this.#letGo(key);
  }

  /** Tells the program of an actor that no reference and no channel leads to any more. */
  #letGo(key: string): void {
    const isOpen = [...this.#channels.values()].some((channel) => channel.key === key);
    if (!isOpen && !this.#lent.has(key)) this.context.events.push({ kind: "released", key });
  }

  attach(fields: Fields): void {
    const [number, how, target] = [fields.number(0), fields.number(1), fields.bytes(2)];
    if (number >= this.ours.channelsMax) throw new Broken(Code.LimitExceeded, "a channel is below channels_max");
    const isOpen = this.#channels.get(number)?.key !== undefined;
    if (isOpen) throw new Broken(Code.Protocol, "a channel is attached once");
    const key = how === 1 && target.length === 16 ? hex(target) : "";
    const lent = this.#lent.get(key);
    const isKnown = lent?.hasStopped === false && fields.number(4) === 0;
    const schemaHash = fields.all[3] as bigint;
    const channel = new InboundChannel(number, isKnown ? key : undefined, schemaHash, this.ours.initialUnits);
    this.#channels.set(number, channel);
    if (!isKnown) {
      this.context.publish(frame(Frame.DETACHED, number, Code.NoSuchActor, 0));
      return;
    }
    const ids = concat([new Writer().u64(BigInt(lent.place)).finish(), target]);
    // A function takes every call, whatever the interface of its caller; an object describes itself.
    const hash = this.hashOf(key, schemaHash);
    this.context.publish(frame(Frame.ATTACHED, number, channel.limit, hash, 0, ids));
  }

  /** The hash of an actor's schema, for a caller that expects another one. */
  hashOf: (key: string, expected: bigint) => bigint = () => 0n;

  detach(fields: Fields): void {
    const channel = this.#channels.get(fields.number(0));
    if (channel === undefined) return;
    this.#channels.delete(channel.number);
    this.#credits.delete(channel);
    // A channel that has got its DETACHED gets no second one, which would hit the number's next use.
    if (channel.key === undefined) return;
    this.context.publish(frame(Frame.DETACHED, channel.number, Code.Ok, 0));
    this.#letGo(channel.key);
  }

  /** The actor has stopped: its channels end, and no new one leads to it. */
  stop(key: string): void {
    const lent = this.#lent.get(key);
    if (lent) lent.hasStopped = true;
    for (const channel of this.#channels.values()) {
      if (channel.key !== key) continue;
      channel.key = undefined;
      this.context.publish(frame(Frame.DETACHED, channel.number, Code.ActorStopped, channel.handled));
    }
  }

  charge(number: number, units: number): InboundChannel {
    const channel = this.#channels.get(number);
    if (channel === undefined) throw new Broken(Code.Protocol, "a call is on an attached channel");
    if (channel.used + units > channel.limit) {
      throw new Broken(Code.CreditExceeded, "calls stay within the credit of their channel");
    }
    channel.used += units;
    return channel;
  }

  call(call: InboundCall, isUnderstood: boolean, deadline: number): void {
    const channel = this.#channels.get(call.channel);
    if (channel === undefined) throw new Broken(Code.Protocol, "a call is on an attached channel");
    if (call.asker) this.#open(call.asker.slot, call.asker.generation);
    if (channel.key !== undefined && isUnderstood) {
      this.context.events.push({ kind: "called", channel, call, deadline });
      return;
    }
    const code = channel.key === undefined ? Code.NoSuchActor : Code.BadArguments;
    if (call.asker) this.error(call.asker, code, "the call cannot be taken");
    this.taken(channel, call, call.asker ? undefined : { code, text: "the call cannot be taken" });
  }

  #open(slot: number, generation: number): void {
    if (slot >= this.ours.slotsMax || generation >= 2 ** 32) {
      throw new Broken(Code.LimitExceeded, "slots and generations have limits");
    }
    // Serial numbers (RFC 1982): this generation or a later one.
    const ahead = (generation - (this.#generations.get(slot) ?? 0)) >>> 0;
    if (ahead >= 2 ** 31 || this.#asks.has(slot)) {
      throw new Broken(Code.Protocol, "a slot and generation are used once");
    }
    this.#generations.set(slot, (generation + 1) % 2 ** 32);
    this.#asks.set(slot, { generation, isCancelled: false });
  }

  cancel(fields: Fields): void {
    const ask = this.#asks.get(fields.number(0));
    if (ask?.generation === fields.number(1)) ask.isCancelled = true;
  }

  isCancelled(asker: { slot: number }): boolean {
    return this.#asks.get(asker.slot)?.isCancelled ?? true;
  }

  /** A call was handled, or rejected: its units are granted again. */
  taken(channel: InboundChannel, call: InboundCall, rejected?: { code: number; text: string }): void {
    channel.freed += call.units;
    channel.handled += 1;
    if (call.asker === undefined) channel.tells += 1;
    if (rejected !== undefined) {
      channel.rejected += 1;
      // Eight methods are kept apart; the calls of all others count as those of method 0.
      const isKept = channel.rejections.has(call.method) || channel.rejections.size < 8;
      const method = isKept ? call.method : 0;
      const known = channel.rejections.get(method) ?? { tells: 0, ...rejected };
      known.tells += 1;
      channel.rejections.set(method, known);
    }
    const free = channel.grantable - channel.limit;
    const isDue = 2 * free >= channel.window || (channel.isBlocked && free > 0) || rejected !== undefined;
    if (isDue && this.#channels.get(channel.number) === channel) this.#credits.add(channel);
  }

  need(fields: Fields): void {
    const channel = this.#channels.get(fields.number(0));
    const wanted = fields.number(1);
    if (channel === undefined || wanted <= channel.limit) return;
    const units = fields.behind.isEmpty ? 0 : fields.behind.number();
    channel.isBlocked = true;
    channel.window = Math.min(WINDOW_MAX, Math.max(2 * channel.window, wanted - channel.freed));
    // A call longer than the window is let through by a limit beyond it, when nothing else waits.
    const messageUnits = Math.ceil(this.ours.messageMax / 64) + 1;
    if (units > 1_024 && units <= messageUnits) {
      channel.window = Math.max(channel.window, Math.min(wanted - channel.freed, messageUnits));
    }
    if (channel.grantable > channel.limit) this.#credits.add(channel);
  }

  dropped(number: number, units: number): void {
    const channel = this.charge(number, 0);
    channel.freed += units;
    this.#credits.add(channel);
  }

  /** The frames that announce the credit of one channel, and what has become of its tells. */
  announcements(hasOutcomes: boolean): Uint8Array[] {
    const [channel] = this.#credits;
    if (channel === undefined) return [];
    this.#credits.delete(channel);
    channel.limit = Math.max(channel.limit, channel.grantable);
    channel.isBlocked = false;
    const { number } = channel;
    const frames = [];
    if (hasOutcomes) {
      for (const [method, { tells, code, text }] of channel.rejections) {
        frames.push(frame(Frame.REJECTED, number, method, tells, code, utf8(text).subarray(0, 60)));
      }
      frames.push(frame(Frame.OUTCOMES, number, channel.tells, channel.rejected));
    }
    frames.push(frame(Frame.CREDIT, number, channel.limit, channel.handled));
    return frames;
  }

  reply(asker: { slot: number; generation: number }, value: Uint8Array): void {
    const content = body(Frame.REPLY, asker.slot, asker.generation, value);
    const limits = this.theirs();
    if (content.length > limits.messageMax) {
      const text = `the reply has ${content.length} bytes, and the asker accepts ${limits.messageMax}`;
      this.error(asker, Code.TooLarge, text);
      return;
    }
    this.#asks.delete(asker.slot);
    if (content.length <= effectiveFrameMax(limits)) this.context.publish(frameOf(Frame.REPLY, content));
    else this.long.begin(new Long(0, Frame.REPLY, content));
  }

  error(asker: { slot: number; generation: number }, code: number, text: string): void {
    this.#asks.delete(asker.slot);
    const short = utf8(text).subarray(0, 4_096);
    this.context.publish(frame(Frame.ERROR, asker.slot, asker.generation, code, short, EMPTY));
  }

  /** After a cut: the credit of each channel is said again. */
  resumed(): void {
    for (const channel of this.#channels.values()) this.#credits.add(channel);
  }

  /** The session has ended: nobody holds a reference any more. */
  end(): void {
    const keys = new Set(this.#lent.keys());
    for (const channel of this.#channels.values()) if (channel.key) keys.add(channel.key);
    this.#lent.clear();
    this.#channels.clear();
    this.#asks.clear();
    for (const key of keys) this.context.events.push({ kind: "released", key });
  }
}
