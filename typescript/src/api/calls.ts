/** Calls on their way, and the items of streams: what the events of a session do for their callers. */

import * as errors from "../errors.js";
import type { Call } from "../session/events.js";
import type { CallOptions, Stream } from "./types.js";

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

/** Ends a call when its signal is aborted or its time is over; returns what takes both back. */
function watch(options: CallOptions, leave: (error: errors.WigwagError) => void): () => void {
  const { signal, timeout } = options;
  const aborted = () => leave(new errors.Cancelled({ cause: signal?.reason }));
  signal?.addEventListener("abort", aborted, { once: true });
  const timer = timeout === undefined ? undefined : setTimeout(() => leave(new errors.Timeout()), timeout);
  return () => {
    signal?.removeEventListener("abort", aborted);
    clearTimeout(timer);
  };
}

/** Sends a tell. */
export function tell(owner: CallOwner, call: Omit<Call, "kind">, options: CallOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent: TrackedCall = {
      ...call,
      kind: "tell",
      sink: {
        accepted: () => (unwatch(), resolve()),
        answered: () => {},
        // A tell that was accepted has no caller any more that could be told.
        failed: (error) => (unwatch(), reject(error)),
      },
    };
    const unwatch = watch(options, (error) => {
      reject(error);
      owner.cancel(sent);
    });
    owner.send(sent);
  });
}

/** Sends an ask; `read` makes its answer a value. */
export function ask(
  owner: CallOwner,
  call: Omit<Call, "kind">,
  options: CallOptions,
  read: (value: Uint8Array) => unknown,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let hasLeft = false;
    const sent: TrackedCall = {
      ...call,
      kind: "ask",
      milliseconds: options.timeout,
      sink: {
        answered: (value) => {
          unwatch();
          if (hasLeft) return owner.discard(value);
          try {
            resolve(read(value));
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
      window: Math.max(1, Math.ceil((options.window ?? 65_536) / 64)),
      sink: {
        answered: () => this.#ended(undefined),
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

  return(value?: unknown): Promise<IteratorResult<T>> {
    this.#leave(undefined);
    return Promise.resolve({ done: true, value: value as T });
  }

  #came(value: Uint8Array, units: number): void {
    // A producer that has not read the CANCEL yet may go on within its credit.
    if (this.#end) return this.owner.discard(value);
    const waiting = this.#waiting.shift();
    if (waiting) void waiting(this.#taken(value, units) as Promise<never>);
    else this.#items.push({ value, units });
  }

  #taken(value: Uint8Array, units: number): Promise<IteratorResult<T>> {
    this.owner.itemsFreed(this.#call, units);
    try {
      return Promise.resolve({ done: false, value: this.read(value) as T });
    } catch (cause) {
      this.#leave(undefined);
      return Promise.reject(badReply(cause));
    }
  }

  #leave(error: errors.WigwagError | undefined): void {
    if (this.#end) {
      for (const { value } of this.#items.splice(0)) this.owner.discard(value);
      return;
    }
    this.#ended(error);
    for (const { value } of this.#items.splice(0)) this.owner.discard(value);
    this.owner.cancel(this.#call);
  }

  #ended(error: errors.WigwagError | undefined): void {
    if (this.#end) return;
    this.#unwatch();
    this.#end = { error };
    while (this.#waiting.length > 0) this.#waiting.shift()!(this.next() as Promise<never>);
  }
}
