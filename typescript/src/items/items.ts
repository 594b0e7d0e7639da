/** Streams as arguments: `items`. A program that sends none has nothing of this folder in its bundle. */

import type { SessionValues } from "../api/session_values.js";
import * as errors from "../errors.js";
import { encode, Extension, type Wire } from "../values/msgpack.js";
import { SessionValue } from "../values/session_value.js";
import { Writer } from "../wire/bytes.js";
import { offers, STREAM_VALUES } from "../wire/opening.js";
import { STREAM } from "../wire/reference.js";
import { Outgoing } from "./outgoing.js";

/** A stream of items as an argument. */
export class Items<T> extends SessionValue {
  /** Holds the type of an item. */
  declare readonly of?: T;
  #source: AsyncIterable<T> | Iterable<T> | undefined;

  /** @internal */
  constructor(source: AsyncIterable<T> | Iterable<T>) {
    super();
    this.#source = source;
  }

  /** @internal */
  override sentOver(values: SessionValues, toWire: (part: unknown) => Wire): Extension {
    if (this.#source === undefined) throw new errors.NotSerializable({ text: "a stream is sent once" });
    if (!offers(values.session.peer!, STREAM_VALUES)) {
      throw new errors.NotSerializable({ text: "the node takes no streams as arguments" });
    }
    const outgoing = Outgoing.of(values);
    const number = outgoing.add(this.#source, (item) => encode(toWire(item)));
    this.#source = undefined;
    values.done(() => outgoing.withdraw(number));
    return new Extension(STREAM, new Writer().u8(1).number(number).finish());
  }
}

/**
 * A stream of items as an argument: `ledger.ask.take(items(numbers()), 10)`.
 *
 * Nothing is taken from `source` before the other side reads the stream, and then no more than it
 * wants. Its iterator is closed when the reader leaves or the session ends. An error that it throws is
 * the end that the reader is told.
 */
export function items<T>(source: AsyncIterable<T> | Iterable<T>): Items<T> {
  return new Items(source);
}
