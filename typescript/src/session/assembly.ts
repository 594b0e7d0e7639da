/** Messages of the peer that come in parts (section 3 of the page). */

import { concat, Reader } from "../wire/bytes.js";
import * as Code from "../wire/code.js";
import { Broken } from "../wire/codes.js";
import * as Frame from "../wire/frame.js";
import type { Fields } from "../wire/frames.js";

interface Partial {
  type: number;
  total: number;
  parts: Uint8Array[];
  got: number;
}

/** A message whose last part has come. */
export interface Whole {
  source: number;
  type: number;
  body: Uint8Array;
}

export class Assembly {
  #messages = new Map<number, Partial>();

  /**
   * Begins a message. `check` looks at its first bytes before anything is kept: a call pays for its
   * whole body, and a reply is that of an open ask.
   */
  begin(fields: Fields, messageMax: number, check: (source: number, total: number, start: Reader) => void): Whole | undefined {
    const [source, type, total] = [fields.number(0), fields.number(1), fields.number(2)];
    const isCall = type === Frame.TELL || type === Frame.ASK || type === Frame.CALL_X;
    if (source === 0 ? type !== Frame.REPLY : !isCall) {
      throw new Broken(Code.Protocol, "parts are of a call or a reply");
    }
    if (total > messageMax) throw new Broken(Code.LimitExceeded, "a message is within message_max");
    if (this.#messages.has(source)) throw new Broken(Code.Protocol, "a source has one message");
    check(source, total, new Reader(fields.bytes(3)));
    this.#messages.set(source, { type, total, parts: [], got: 0 });
    return this.add(source, fields.bytes(3));
  }

  /** Adds a part. The whole message, if it was the last. */
  add(source: number, bytes: Uint8Array): Whole | undefined {
    const message = this.#messages.get(source);
    if (message === undefined) throw new Broken(Code.Protocol, "a part is that of a message");
    message.got += bytes.length;
    if (bytes.length === 0 || message.got > message.total) {
      throw new Broken(Code.Protocol, "a part has some bytes of its message");
    }
    // The bytes are a part of a larger buffer, which is not to be kept.
    message.parts.push(bytes.slice());
    if (message.got < message.total) return undefined;
    this.#messages.delete(source);
    return { source, type: message.type, body: concat(message.parts) };
  }

  /** The rest of a call will not come. Its length, whose units are granted again. */
  drop(source: number): number {
    const message = this.#messages.get(source);
    if (message === undefined || source === 0) throw new Broken(Code.Protocol, "a message of that source is dropped");
    this.#messages.delete(source);
    return message.total;
  }

  /** ATTACH and DETACH of a channel drop its message. */
  forget(channel: number): void {
    this.#messages.delete(channel + 1);
  }
}
