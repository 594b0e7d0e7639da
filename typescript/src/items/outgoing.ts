/**
 * The streams that one session sends as values (section 6 of the page): each waits until the peer opens
 * it by its first credit, and then sends items within that and as far as the outbox has room.
 */

import type { SessionValues } from "../api/session_values.js";
import * as errors from "../errors.js";
import type { OutgoingStreams } from "../session/dispatch.js";
import { unitsOf } from "../wire/batch.js";
import { utf8 } from "../wire/bytes.js";
import * as Code from "../wire/code.js";
import { Broken } from "../wire/codes.js";
import * as Frame from "../wire/frame.js";
import { body, type Fields, frame, frameOf } from "../wire/frames.js";
import { effectiveFrameMax } from "../wire/opening.js";

/** Streams of a session at a time. */
const STREAMS_MAX = 4_096;
/** Bytes of the text of an end. */
const TEXT_BYTES_MAX = 4_096;

/** How a stream ends, in ITEM_END. */
const SENT = 0;
const LEFT = 1;
const REFUSED = 2;

interface OutgoingStream {
  readonly number: number;
  readonly iterator: AsyncIterator<unknown> | Iterator<unknown>;
  readonly encode: (item: unknown) => Uint8Array;
  /** Units of items that may be sent and that were sent; there is a limit once the peer reads. */
  limit: number;
  used: number;
  isOver: boolean;
  /** Lets the stream go on that waits for credit or room. */
  wake: () => void;
}

export class Outgoing implements OutgoingStreams {
  readonly #streams = new Map<number, OutgoingStream>();
  /** The number of the next stream: each is used once. */
  #next = 0;

  /** Those of a session, which sends one for the first time, or again. */
  static of(values: SessionValues): Outgoing {
    return (values.session.outgoing ??= new Outgoing(values)) as Outgoing;
  }

  private constructor(private readonly values: SessionValues) {}

  get hasWork(): boolean {
    return this.#streams.size > 0;
  }

  /** Adds a stream, and returns its number. */
  add(source: AsyncIterable<unknown> | Iterable<unknown>, encode: OutgoingStream["encode"]): number {
    if (this.#streams.size >= STREAMS_MAX) throw new errors.Backlog({ text: `${STREAMS_MAX} streams are being sent` });
    const number = this.#next++;
    const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    this.#streams.set(number, { number, iterator, encode, limit: 0, used: 0, isOver: false, wake: () => {} });
    return number;
  }

  /** The call with the stream is not sent after all. */
  withdraw(number: number): void {
    this.#stop(this.#streams.get(number));
  }

  credit(fields: Fields): void {
    const stream = this.#streams.get(fields.number(0));
    const limit = fields.number(3);
    // One of a stream that has ended may have crossed the end.
    if (stream === undefined || fields.number(2) !== 0 || limit <= stream.limit) return;
    const isNew = stream.limit === 0;
    stream.limit = limit;
    if (isNew) void this.#run(stream);
    else stream.wake();
  }

  ended(fields: Fields): void {
    const [number, how] = [fields.number(0), fields.number(1)];
    if ((how !== LEFT && how !== REFUSED) || number >= this.#next) {
      throw new Broken(Code.Protocol, "the end of a stream is that of one that was sent");
    }
    const stream = this.#streams.get(number);
    this.#stop(stream);
    if (stream && how === LEFT) this.#end(stream, Code.Ok, "");
  }

  pump(): void {
    for (const stream of this.#streams.values()) stream.wake();
  }

  /** The session has ended. */
  end(): void {
    for (const stream of this.#streams.values()) this.#stop(stream);
  }

  /** Nothing more is sent, and nothing more is taken from the iterator. */
  #stop(stream: OutgoingStream | undefined): void {
    if (stream === undefined) return;
    this.#streams.delete(stream.number);
    stream.isOver = true;
    stream.wake();
    // One that fails now has nobody who could be told.
    void (async () => stream.iterator.return?.())().catch(() => {});
  }

  #mayGo({ used, limit, isOver }: OutgoingStream): boolean {
    return isOver || (used < limit && this.values.session.hasRoom);
  }

  /** Sends the items, and the end. */
  async #run(stream: OutgoingStream): Promise<void> {
    try {
      for (;;) {
        while (!this.#mayGo(stream)) await new Promise<void>((resolve) => (stream.wake = resolve));
        const { done, value } = stream.isOver ? { done: true } : await stream.iterator.next();
        if (stream.isOver) return;
        if (done) return this.#finish(stream, Code.Ok, "");
        this.#send(stream, await value);
        this.values.node.touch();
      }
    } catch (error) {
      const code = error instanceof errors.WigwagError ? error.number : undefined;
      this.#finish(stream, code ?? Code.ReplyDropped, error instanceof Error ? error.message : String(error));
    }
  }

  #send(stream: OutgoingStream, item: unknown): void {
    const content = body(Frame.ITEM, stream.number, 0, 0, stream.encode(item));
    const { session } = this.values;
    const most = effectiveFrameMax(session.peer!.limits);
    if (content.length > most) {
      const error = new errors.TooLarge({ text: `an item has ${content.length} bytes of at most ${most}` });
      error.number = Code.TooLarge;
      throw error;
    }
    // The reader may have left while a promise among the items was awaited.
    if (stream.isOver) return;
    stream.used += unitsOf(content.length);
    session.publish(frameOf(Frame.ITEM, content));
  }

  #finish(stream: OutgoingStream, code: number, text: string): void {
    if (stream.isOver) return;
    this.#stop(stream);
    this.#end(stream, code, text);
    this.values.node.touch();
  }

  #end({ number }: OutgoingStream, code: number, text: string): void {
    const short = utf8(text).subarray(0, TEXT_BYTES_MAX);
    this.values.session.publish(frame(Frame.ITEM_END, number, SENT, code, short));
  }
}
