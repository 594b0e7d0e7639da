/**
 * The sequenced frames that the peer has not acknowledged (section 5 of the page).
 *
 * A frame gets its number when it is published, and stays here until its ack. After a cut the frames
 * from the peer's next number on are written again, in order and with their numbers.
 */

import * as Code from "../wire/code.js";
import { Broken } from "../wire/codes.js";

/** Calls stop being published at so many unacknowledged bytes. */
export const UNACKED_BYTES_MAX = 4 * 1024 * 1024;
/** Parts of long messages take so many of them, so that other frames find room beside them. */
const PART_BYTES_MAX = 512 * 1024;

interface Segment {
  bytes: Uint8Array;
  isPart: boolean;
}

export class Outbox {
  /** Invariant: the frames from number `acked` to `next` - 1. */
  #segments: Segment[] = [];
  /** Segments in front of this place were acknowledged. */
  #head = 0;
  #partBytes = 0;
  /** The number of the first frame that is not acknowledged. */
  acked = 0;
  /** The number that the next frame gets. */
  next = 0;
  /** The number of the next frame to write. A resumption sets it back. */
  written = 0;
  /** The number behind all frames that were ever written. */
  #sent = 0;
  unackedBytes = 0;

  /** True if no further call may be published. */
  get isFull(): boolean {
    return this.unackedBytes >= UNACKED_BYTES_MAX;
  }

  /** True if no further part may be published. */
  get isFullOfParts(): boolean {
    return this.isFull || this.#partBytes >= PART_BYTES_MAX;
  }

  /** Frames that wait to be written. */
  get unwritten(): number {
    return this.next - this.written;
  }

  get isEmpty(): boolean {
    return this.acked === this.next;
  }

  /** Gives a frame its number, and returns it. */
  publish(bytes: Uint8Array, isPart = false): number {
    this.#segments.push({ bytes, isPart });
    this.unackedBytes += bytes.length;
    if (isPart) this.#partBytes += bytes.length;
    return this.next++;
  }

  /** Takes frames for a batch: up to `most` bytes, and one at least. */
  take(most: number): Uint8Array[] {
    const frames = [];
    let size = 0;
    while (this.unwritten > 0) {
      const { bytes } = this.#segments[this.#head + this.written - this.acked]!;
      if (frames.length > 0 && size + bytes.length > most) break;
      size += bytes.length;
      frames.push(bytes);
      this.written += 1;
    }
    this.#sent = Math.max(this.#sent, this.written);
    return frames;
  }

  /** Drops what the peer has accepted. An ack lower than an earlier one is ignored. */
  acknowledged(ack: number): void {
    if (ack > this.#sent) {
      throw new Broken(Code.AckBeyondSent, "an ack is of frames that were sent");
    }
    for (; this.acked < ack; this.acked += 1) {
      const { bytes, isPart } = this.#segments[this.#head]!;
      this.#segments[this.#head++] = GONE;
      this.unackedBytes -= bytes.length;
      if (isPart) this.#partBytes -= bytes.length;
    }
    // Moving the rest costs no more than appending it did.
    if (this.#head > 1_024 && 2 * this.#head > this.#segments.length) {
      this.#segments = this.#segments.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Goes on over a new connection, whose peer expects the frame `theirs` next. */
  resumed(theirs: number): void {
    if (theirs < this.acked) {
      throw new Broken(Code.Protocol, "a resumption is behind an ack");
    }
    this.acknowledged(theirs);
    this.written = theirs;
  }
}

const GONE: Segment = { bytes: new Uint8Array(0), isPart: false };
