/** A node as a program sees it: its actors, its references, and the events of its session. */

import * as errors from "../errors.js";
import type { Choice } from "../carrier/choice.js";
import type { CarrierOptions } from "../carrier/carrier.js";
import { Channel } from "../session/channel.js";
import { type Call, type SessionEvent } from "../session/events.js";
import { Session, type SessionOptions } from "../session/session.js";
import { Converter } from "../values/convert.js";
import { type Description, parseDescription } from "../values/description.js";
import { decode, encode } from "../values/msgpack.js";
import { isSame, utf8 } from "../wire/bytes.js";
import { ActorHandle } from "./actor.js";
import { ask, atLeast, check, type TrackedCall, watch } from "./calls.js";
import { Driver } from "./driver.js";
import { Reference, type RemoteReference } from "./reference.js";
import { SessionValues } from "./session_values.js";
import { after } from "./timer.js";
import type { Actor, CallOptions } from "./types.js";

/** Calls and bytes that may wait for their turn. More are refused with `Backlog`. */
export const WAITING_CALLS_MAX = 16_384;
export const WAITING_BYTES_MAX = 32 * 1024 * 1024;
const CLOSE_MS = 5_000;
/** No actor has a longer name. A node reads none that fills a frame, and ends the session of one that does. */
const NAME_BYTES_MAX = 255;
/** Events of a page that mean that a try may succeed now. */
const BACK = ["online", "pageshow", "resume", "focus"];

/** Tells that the actor has rejected, since the reference to it was got. */
export interface Rejected {
  method: string;
  tells: number;
  error: errors.WigwagError;
}

export interface NodeEvents {
  /** The connection was lost; `detail` says why. Calls wait until the session is resumed. */
  cut: CustomEvent<string>;
  /** The session goes on over a new connection; nothing was lost, doubled or reordered. */
  resumed: CustomEvent<undefined>;
  /** The session is over, and every call that it had has failed. */
  ended: CustomEvent<errors.WigwagError>;
  /** An actor has not understood tells. */
  rejected: CustomEvent<Rejected>;
  /** A handler of this program has failed with a tell. */
  failed: CustomEvent<unknown>;
}

/** What is internal is missing in the declarations, so the class does not say that it implements it. */
export class WigwagNode {
  readonly #target = new EventTarget();
  /** @internal */
  readonly session: Session;
  readonly #driver: Driver;
  /** @internal */
  readonly values: SessionValues;
  readonly #descriptions = new Map<bigint, Description>();
  readonly #attaching = new Map<Channel, (error?: errors.WigwagError) => void>();
  readonly #names = new Map<Channel, Description>();
  #end: errors.WigwagError | undefined;
  #isClosing = false;
  #over!: () => void;
  /** Kept when the session has ended. */
  readonly #whenOver = new Promise<void>((resolve) => (this.#over = resolve));

  /** @internal */
  constructor(options: SessionOptions, choice: Choice, carriers: Omit<CarrierOptions, "url">, private readonly first: FirstConnection) {
    this.session = new Session(options);
    this.values = new SessionValues(
      this.session,
      {
        now: () => this.#driver.now(),
        touch: () => this.touch(),
        handlerFailed: (error) => this.#dispatch("failed", error),
      },
      this,
    );
    this.#driver = new Driver(this.session, choice, carriers, {
      event: (event) => this.#happened(event),
      // An ack settles the session without an event.
      drained: () => this.#closeIfSettled(),
      lost: (why) => {
        if (this.first.isOver) this.#dispatch("cut", why);
        else if (!this.first.failed(why)) this.session.abandon(why);
      },
    });
  }

  /** The carrier in use: `"webSocket"` or `"longPoll"`. */
  get carrier(): string {
    return this.#driver.carrier;
  }

  /** True while the session has a connection. */
  get isConnected(): boolean {
    return this.session.isOpen;
  }

  addEventListener<K extends keyof NodeEvents>(
    type: K,
    listener: (event: NodeEvents[K]) => void,
    options?: AddEventListenerOptions | boolean,
  ): void {
    this.#target.addEventListener(type, listener as EventListener, options);
  }

  removeEventListener<K extends keyof NodeEvents>(type: K, listener: (event: NodeEvents[K]) => void): void {
    this.#target.removeEventListener(type, listener as EventListener);
  }

  /** A reference to the actor of that name, or to that of a reference; `signal` and `timeout` give the wait for it up. */
  async actor<T = any>(target: string | Reference, options: CallOptions = {}): Promise<Actor<T>> {
    if (target instanceof Reference) return target.actor<T>(options);
    const name = utf8(target);
    if (name.length > NAME_BYTES_MAX) {
      throw new errors.NoSuchActor({ text: `${name.length} bytes of at most ${NAME_BYTES_MAX}` });
    }
    return this.#attach<T>(new Channel(0, name), 0n, options);
  }

  /** Dials at once, if the connection was lost: for a page that knows that its network is back. */
  reconnect(): void {
    this.#driver.dial();
  }

  /**
   * Ends the session, when all calls were accepted and answered, or the time is over: 5 s unless
   * `timeout` says another. Calls that are made behind it fail with `Closed`. Of several times the
   * first one that is over counts.
   */
  async close({ timeout = CLOSE_MS }: { timeout?: number } = {}): Promise<void> {
    atLeast(-Infinity, "timeout", timeout);
    if (this.#end) return;
    this.#isClosing = true;
    const stop = after(timeout, () => {
      if (this.session.isOpen) this.session.close();
      else this.session.abandon("closed without a connection");
      this.#driver.touch();
    });
    this.touch();
    this.#closeIfSettled();
    await this.#whenOver;
    stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #attach<T>(channel: Channel, schemaHash: bigint, options: CallOptions): Promise<Actor<T>> {
    check(options);
    if (this.#end || this.#isClosing) throw new errors.Closed();
    const { signal, timeout = Infinity } = options;
    const until = this.#driver.now() + timeout;
    try {
      await new Promise<void>((resolve, reject) => {
        const settle = (error?: errors.WigwagError) => {
          unwatch();
          this.#attaching.delete(channel);
          if (error) reject(error);
          else resolve();
        };
        const unwatch = watch(options, settle);
        this.#attaching.set(channel, settle);
        this.session.outbound.attach(channel, schemaHash);
        this.touch();
      });
      const left = { signal, timeout: until - this.#driver.now() };
      const description = this.#descriptions.get(channel.schemaHash) ?? (await this.#describe(channel, left));
      return this.handle(channel, description);
    } catch (error) {
      this.detach(channel);
      throw error;
    }
  }

  async #describe(channel: Channel, options: CallOptions): Promise<Description> {
    check(options);
    // With comments come the numbers of variants.
    const call = { channel, method: 0, arguments: encode([1]) };
    const answer = (await ask(this, call, options, decode)) as Parameters<typeof parseDescription>[0];
    const description = parseDescription(answer);
    if (channel.schemaHash !== 0n) this.#descriptions.set(channel.schemaHash, description);
    return description;
  }

  #happened(event: SessionEvent): void {
    switch (event.kind) {
      case "opened":
        this.first.opened(this);
        break;
      case "resumed":
        this.#dispatch("resumed");
        break;
      case "cut":
        break;
      case "ended":
        this.values.hosting?.happened(event);
        this.#ended(errors.errorOf(event.code, event.text));
        break;
      case "attached":
        this.#attaching.get(event.channel)?.();
        break;
      case "detached":
        this.#attaching.get(event.channel)?.(errors.errorOf(event.code, event.text));
        this.#names.delete(event.channel);
        break;
      case "rejected":
        this.#rejected(event);
        break;
      case "called":
      case "released":
        this.values.hosting?.happened(event);
        break;
      default:
        this.#toCaller(event);
    }
  }

  #toCaller(event: Extract<SessionEvent, { call: Call }>): void {
    const { sink } = event.call as TrackedCall;
    if (event.kind === "accepted") sink.accepted?.();
    else if (event.kind === "answered") sink.answered(event.value);
    else if (event.kind === "item") sink.item?.(event.value, event.units);
    else if (event.kind === "failed") {
      // What was never sent has lent nothing.
      const isUnsent = event.call.seq === undefined && !this.session.hasEnded;
      if (isUnsent) event.call.takeBack?.();
      sink.failed(errors.errorOf(event.code, event.text));
    }
  }

  #rejected({ channel, method, tells, code, text }: Extract<SessionEvent, { kind: "rejected" }>): void {
    const methods = [...(this.#names.get(channel)?.methods.values() ?? [])];
    const name = methods.find((one) => one.number === method)?.name ?? "";
    this.#dispatch("rejected", { method: name, tells, error: errors.errorOf(code, text) });
  }

  #ended(error: errors.WigwagError): void {
    this.#end = error;
    for (const type of BACK) globalThis.removeEventListener?.(type, this.#back);
    this.first.ended(error);
    this.#over();
    this.#dispatch("ended", error);
  }

  #closeIfSettled(): void {
    if (!this.#isClosing || !this.session.isOpen || !this.session.isSettled) return;
    this.session.close();
    this.touch();
  }

  #dispatch(type: keyof NodeEvents, detail?: unknown): void {
    this.#target.dispatchEvent(new CustomEvent(type, { detail }));
  }

  // What actors, calls and references need of their node.

  /** @internal */
  handle<T>(channel: Channel, description: Description): Actor<T> {
    this.#names.set(channel, description);
    return new ActorHandle<T>(this, channel, description, new Converter(description.types, this.values));
  }

  /** @internal */
  touch(): void {
    this.#driver.touch();
  }

  /** @internal */
  abandon(): void {
    this.session.abandon("the caller gave up");
    this.#driver.stop();
  }

  /** @internal */
  start(): void {
    this.#driver.dial();
    for (const type of BACK) globalThis.addEventListener?.(type, this.#back);
  }

  /** The page is back, or its network is: the wait for the next try is over. */
  readonly #back = () => this.#driver.dial();

  /** @internal */
  send(call: Call): void {
    const { sink } = call as TrackedCall;
    const { waitingCalls, waitingBytes } = this.session.outbound;
    const isFull = waitingCalls >= WAITING_CALLS_MAX || waitingBytes >= WAITING_BYTES_MAX;
    if (this.#end || this.#isClosing || isFull) {
      if (!this.#end) call.takeBack?.();
      return sink.failed(isFull && !this.#end ? new errors.Backlog({ text: `${waitingCalls} calls` }) : new errors.Closed());
    }
    this.session.send(call, this.#driver.now());
    // A call that has room is accepted in this task, so that a loop of tells fills a message. It does
    // not go on for ever without a pause, in which acks are read and signs of life are written.
    if (this.session.isBrief) this.#driver.drain();
    if (call.kind === "tell") this.touch();
    else this.#driver.hurry();
  }

  /** @internal */
  cancel(call: Call): void {
    if (this.#end) return;
    this.session.outbound.cancel(call);
    this.touch();
  }

  /** @internal */
  itemsFreed(call: Call, units: number): void {
    this.session.outbound.itemsFreed(call, units);
    if (this.session.outbound.itemCredits.size > 0) this.touch();
  }

  /** @internal */
  detach(channel: Channel): void {
    this.session.outbound.detach(channel);
    this.touch();
  }

  /** @internal */
  release(number: Uint8Array): void {
    if (this.#end) return;
    this.session.outbound.release(number);
    this.touch();
  }

  /** @internal */
  attach<T>(to: RemoteReference, options: CallOptions = {}): Promise<Actor<T>> {
    if (to.isReleased) return Promise.reject(new errors.ActorStopped({ text: "the reference was released" }));
    return this.#attach<T>(new Channel(this.howOf(to), to.bytes.number), to.bytes.schemaHash, options);
  }

  /** @internal An actor of a third node is called through this one. */
  howOf({ bytes }: RemoteReference): number {
    return isSame(bytes.incarnation, this.session.peer!.incarnation) ? 1 : 2;
  }

  /** @internal */
  discard(value: Uint8Array): void {
    this.values.discard(value);
  }
}

/** The first connection of a node, until it has opened the session or all ways have failed. */
export interface FirstConnection {
  readonly isOver: boolean;
  opened(node: WigwagNode): void;
  /** True if another way is to be tried. */
  failed(why: string): boolean;
  ended(error: errors.WigwagError): void;
}
