/** References to actors of the node: their methods by name, called as the description says. */

import * as errors from "../errors.js";
import { Channel } from "../session/channel.js";
import type { Call } from "../session/events.js";
import type { Session } from "../session/session.js";
import type { Converter } from "../values/convert.js";
import type { Description, Method } from "../values/description.js";
import { decode, encode } from "../values/msgpack.js";
import { ask, type CallOwner, check, ItemStream, tell } from "./calls.js";
import type { RemoteReference } from "./reference.js";
import type { Actor, CallOptions } from "./types.js";

/** What an actor needs of its node. */
export interface ActorHost extends CallOwner {
  readonly session: Session;
  detach(channel: Channel): void;
  touch(): void;
  /** How the channel to the actor of a reference is attached. */
  howOf(reference: RemoteReference): number;
  handle<T>(channel: Channel, description: Description): Actor<T>;
  readonly values: { making<V>(make: () => V): [V, () => void] };
}

export class ActorHandle<T> implements Actor<T> {
  readonly tell: Actor<T>["tell"];
  readonly ask: Actor<T>["ask"];
  readonly stream: Actor<T>["stream"];

  constructor(
    /** @internal */
    readonly host: ActorHost,
    private readonly channel: Channel,
    private readonly description: Description,
    private readonly converter: Converter,
    /** @internal */
    readonly options: CallOptions = {},
  ) {
    this.tell = byName((name, values) => this.#call(name, values, (call) => tell(host, call, options))) as never;
    this.ask = byName((name, values) =>
      this.#call(name, values, (call, method) => ask(host, call, options, (value) => this.read(value, method))),
    ) as never;
    this.stream = byName((name, values) => this.#stream(name, values)) as never;
  }

  get type(): string {
    return this.description.name;
  }

  with(options: CallOptions): Actor<T> {
    const all = { ...this.options, ...options };
    return new ActorHandle<T>(this.host, this.channel, this.description, this.converter, all);
  }

  release(): void {
    this.host.detach(this.channel);
  }

  [Symbol.dispose](): void {
    this.release();
  }

  /** @internal */
  read(value: Uint8Array, method: Method): unknown {
    return this.converter.fromWire(decode(value), method.reply);
  }

  /** Encodes a call and sends it; what is wrong with it rejects the promise. */
  #call<R>(name: string, values: unknown[], send: (call: Omit<Call, "kind">, method: Method) => Promise<R>): Promise<R> {
    try {
      const method = this.method(name);
      if (method.isStream) throw new errors.NotSerializable({ text: `\`${name}\` answers with a stream: call it with \`stream\`` });
      return send(this.encoded(method, values), method);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #stream(name: string, values: unknown[]): ItemStream<unknown> {
    const method = this.method(name);
    if (!method.isStream) throw new errors.BadArguments({ text: `\`${name}\` answers with one value: call it with \`ask\`` });
    return new ItemStream(this.host, this.encoded(method, values), this.options, (value) => this.read(value, method));
  }

  /** @internal */
  method(name: string): Method {
    const method = this.description.methods.get(name);
    if (method === undefined) throw new errors.NoSuchMethod({ text: `\`${this.type}\` has no \`${name}\`` });
    return method;
  }

  /** @internal */
  encoded(method: Method, values: unknown[]): Omit<Call, "kind"> {
    const { options } = this;
    // A stream lasts as long as it is read.
    check(method.isStream ? { ...options, timeout: undefined } : options);
    const { parameters, name, number } = method;
    const isMissing = (at: number) => values[at] === undefined && parameters[at]!.kind?.name !== "Option";
    const missing = parameters.findIndex((_, at) => at >= values.length && isMissing(at));
    if (missing >= 0 || values.length > parameters.length) {
      const expected = parameters.map((one) => `${one.name}: ${one.spelled}`).join(", ");
      throw new errors.BadArguments({ text: `\`${name}\` takes (${expected})` });
    }
    const [bytes, takeBack] = this.host.values.making(() => {
      try {
        return encode(parameters.map(({ kind }, at) => this.converter.toWire(values[at], kind)));
      } catch (cause) {
        if (cause instanceof errors.WigwagError) throw cause;
        throw new errors.NotSerializable({ text: `\`${name}\`: ${(cause as Error).message}`, cause });
      }
    });
    // The fields in front of the arguments take a few bytes of the message.
    const { messageMax = 0 } = this.host.session.peer?.limits ?? {};
    if (bytes.length > messageMax - 64) {
      takeBack();
      throw new errors.TooLarge({ text: `${bytes.length} bytes of at most ${messageMax}` });
    }
    return { channel: this.channel, method: number, arguments: bytes, takeBack };
  }
}

/** An object with a function for each name. It is no promise: nobody may wait for it. */
export function byName(call: (name: string, values: unknown[]) => unknown): object {
  const made = new Map<string, unknown>();
  return new Proxy(Object.create(null) as object, {
    get(_, name) {
      if (typeof name !== "string" || name === "then") return undefined;
      if (!made.has(name)) made.set(name, (...values: unknown[]) => call(name, values));
      return made.get(name);
    },
  });
}
