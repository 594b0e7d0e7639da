/**
 * Messages that are longer than a frame, sent in parts (section 3 of the page).
 *
 * The messages of different sources take turns, part by part, and other frames go between the parts.
 */

import * as Frame from "../wire/frame.js";
import { frame } from "../wire/frames.js";
import type { Channel } from "./channel.js";
import type { Call } from "./events.js";
import type { Outbox } from "./outbox.js";

/** Bytes of a part: other frames wait behind no more. */
const PART_BYTES = 32 * 1024;

/** A message on its way, one for each source. */
export class Long {
  at = 0;
  done: (() => void) | undefined;

  constructor(
    /** 0 for a reply, and one more than the channel for a call. */
    readonly source: number,
    readonly type: number,
    readonly content: Uint8Array,
    readonly channel?: Channel,
    readonly call?: Call,
  ) {}
}

export class LongMessages {
  /** One for each source, in the order of their turns. */
  #underWay: Long[] = [];
  /** Replies that wait for the one before them. */
  #replies: Long[] = [];

  constructor(private readonly outbox: Outbox) {}

  get isEmpty(): boolean {
    return this.#underWay.length === 0;
  }

  has(channel: Channel): boolean {
    return this.#underWay.some((one) => one.channel === channel);
  }

  begin(long: Long, done?: () => void): void {
    long.done = done;
    const isBusy = long.source === 0 && this.#underWay.some((one) => one.source === 0);
    (isBusy ? this.#replies : this.#underWay).push(long);
    this.pump();
  }

  /** Publishes parts while there is room for them. */
  pump(): void {
    while (this.#underWay.length > 0 && !this.outbox.isFullOfParts) {
      const long = this.#underWay.shift()!;
      const from = long.at;
      long.at = Math.min(long.content.length, from + PART_BYTES);
      const bytes = long.content.subarray(from, long.at);
      const seq = this.outbox.publish(
        from === 0
          ? frame(Frame.PARTS, long.source, long.type, long.content.length, bytes)
          : frame(Frame.PART, long.source, bytes),
        true,
      );
      if (long.at < long.content.length) {
        this.#underWay.push(long);
        continue;
      }
      if (long.call) long.call.seq = seq;
      long.done?.();
      if (long.source === 0 && this.#replies.length > 0) this.#underWay.push(this.#replies.shift()!);
    }
  }

  /** Gives a call up whose last part was not published. False if there is none. */
  drop(call: Call): boolean {
    const long = this.#underWay.find((one) => one.call === call);
    if (long === undefined) return false;
    this.#underWay = this.#underWay.filter((one) => one !== long);
    if (long.at > 0) this.outbox.publish(frame(Frame.PARTS_DROP, long.source));
    return true;
  }

  /** The call under way on a channel that has ended; its rest is not sent. */
  ended(channel: Channel): Call | undefined {
    const call = this.#underWay.find((one) => one.channel === channel)?.call;
    if (call) this.drop(call);
    return call;
  }
}
