/** Calls on their way, and the items of streams: what the events of a session do for their callers. */

import * as errors from "../errors.js";
import type { Call } from "../session/events.js";
import { after } from "./timer.js";
import type { CallOptions, Stream } from "./types.js";

/** The units of 64 bytes that a node lets a stream have under way, at most. */
const WINDOW_UNITS_MAX = 65_536;

/** A call that has somewhere to go with its outcome. */
export interface TrackedCall extends Call {
  readonly sink: Sink;
}

export interface Sink {
  accepted?(): void;
  answered(value: Uint8Array): void;
  failed(error: errors.WigwagError): void;
  item?(value: Uint8Array, units: number): void;
}

/** What a call needs of its node. */
export interface CallOwner {
  send(call: Call): void;
  cancel(call: Call): void;
  itemsFreed(call: Call, units: number): void;
  /** Lets the references go that a value holds which nobody reads. */
  discard(value: Uint8Array): void;
}

/** Refuses an option that is no number, or less than the least. */
export function atLeast(least: number, name: string, value: number | undefined): void {
  // Text in place of a number compares as one, and a sum of both is text.
  if (value === undefined || (typeof value === "number" && value >= least)) return;
  throw new RangeError(`\`${name}\` cannot be the ${typeof value} ${value}`);
}

/** Refuses options that mean nothing, and a call that is over before it is sent. */
export function check({ signal, timeout, window }: CallOptions): void {
  atLeast(-Infinity, "timeout", timeout);
  atLeast(Number.MIN_VALUE, "window", window);
  if (signal?.aborted) throw new errors.Cancelled({ cause: signal.reason, mayBeHandled: false });
  if (timeout! <= 0) throw new errors.Timeout({ mayBeHandled: false });
}

/** Ends a call when its signal is aborted or its time is over; returns what takes both back. */
export function watch({ signal, timeout = Infinity }: CallOptions, leave: (error: errors.WigwagError) => void): () => void {
  const aborted = () => leave(new errors.Cancelled({ cause: signal?.reason }));
  signal?.addEventListener("abort", aborted, { once: true });
  const stop = after(timeout, () => leave(new errors.Timeout()));
  return () => {
    signal?.removeEventListener("abort", aborted);
    stop();
  };
}

/** Sends a tell. */
export function tell(owner: CallOwner, call: Omit<Call, "kind">, options: CallOptions): Promise<void> {
  return send(owner, { ...call, kind: "tell" }, options) as Promise<void>;
}

/** Sends an ask; `read` makes its answer a value. */
export function ask(
  owner: CallOwner,
  call: Omit<Call, "kind">,
  options: CallOptions,
  read: (value: Uint8Array) => unknown,
): Promise<unknown> {
  const { timeout = Infinity } = options;
  const milliseconds = timeout < 2 ** 53 ? Math.ceil(timeout) : undefined;
  return send(owner, { ...call, kind: "ask", milliseconds }, options, read);
}

/** Sends a call; without `read` a tell, which has no caller any more once it is accepted. */
function send(owner: CallOwner, call: Call, options: CallOptions, read?: (value: Uint8Array) => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let hasLeft = false;
    const sent: TrackedCall = {
      ...call,
      sink: {
        accepted: () => {
          if (read) return;
          unwatch();
          resolve(undefined);
        },
        answered: (value) => {
          unwatch();
          if (hasLeft) return owner.discard(value);
          try {
            resolve(read!(value));
          } catch (cause) {
            reject(badReply(cause));
          }
        },
        failed: (error) => (unwatch(), reject(error)),
      },
    };
    const unwatch = watch(options, (error) => {
      hasLeft = true;
      reject(error);
      owner.cancel(sent);
    });
    owner.send(sent);
  });
}

function badReply(cause: unknown): errors.BadReply {
  return new errors.BadReply({ text: cause instanceof Error ? cause.message : String(cause), cause });
}

/** The items of one stream, in order, with one end. */
export class ItemStream<T> implements Stream<T> {
  #items: { value: Uint8Array; units: number }[] = [];
  #waiting: ((result: IteratorResult<T> | Promise<never>) => void)[] = [];
  #end: { error: errors.WigwagError | undefined } | undefined;
  readonly #unwatch: () => void;
  readonly #call: TrackedCall;

  constructor(
    private readonly owner: CallOwner,
    call: Omit<Call, "kind">,
    options: CallOptions,
    private readonly read: (value: Uint8Array) => unknown,
  ) {
    this.#call = {
      ...call,
      kind: "stream",
      window: Math.min(WINDOW_UNITS_MAX, Math.ceil((options.window ?? 65_536) / 64)),
      sink: {
        answered: () => this.#ended(),
        failed: (error) => this.#ended(error),
        item: (value, units) => this.#came(value, units),
      },
    };
    // The time is that of each item's arrival for nobody: a stream lasts as long as it is read.
    this.#unwatch = watch({ signal: options.signal }, (error) => this.#leave(error));
    owner.send(this.#call);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T>> {
    const item = this.#items.shift();
    if (item) return this.#taken(item.value, item.units);
    if (this.#end) {
      const { error } = this.#end;
      // An error is told once; behind it the stream is at its end.
      this.#end = { error: undefined };
      return error ? Promise.reject(error) : Promise.resolve({ done: true, value: undefined });
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async return(value?: unknown): Promise<IteratorResult<T>> {
    this.#leave();
    return { done: true, value: value as T };
  }

  #came(value: Uint8Array, units: number): void {
    // A producer that has not read the CANCEL yet may go on within its credit.
    if (this.#end) return this.owner.discard(value);
    const waiting = this.#waiting.shift();
    if (waiting) void waiting(this.#taken(value, units) as Promise<never>);
    else this.#items.push({ value, units });
  }

  async #taken(value: Uint8Array, units: number): Promise<IteratorResult<T>> {
    this.owner.itemsFreed(this.#call, units);
    try {
      return { done: false, value: this.read(value) as T };
    } catch (cause) {
      this.#leave();
      throw badReply(cause);
    }
  }

  #leave(error?: errors.WigwagError): void {
    const hasEnded = this.#end !== undefined;
    this.#ended(error);
    for (const { value } of this.#items.splice(0)) this.owner.discard(value);
    if (!hasEnded) this.owner.cancel(this.#call);
  }

  #ended(error?: errors.WigwagError): void {
    if (this.#end) return;
    this.#unwatch();
    this.#end = { error };
    while (this.#waiting.length > 0) this.#waiting.shift()!(this.next() as Promise<never>);
  }
}
