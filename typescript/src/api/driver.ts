/**
 * Runs a session over carriers: one at a time, dialed again after a cut, with one timer.
 *
 * Tells are written at the end of the task that has published them, so those of a loop that awaits each
 * of them travel in one message. An ask is written before that, when the promises that were kept have
 * been gone through as far as they were at its time: asks that are made together travel together too.
 */

import type { Carrier, CarrierOptions } from "../carrier/carrier.js";
import type { Choice } from "../carrier/choice.js";
import type { SessionEvent } from "../session/events.js";
import type { Session } from "../session/session.js";
import { after } from "./timer.js";

/** A carrier is open within this time. */
const DIAL_MS = 5_000;
/** The wait before a session's next connection: doubled with each try that fails, and shortened at random. */
const REDIAL_MIN_MS = 20;
const REDIAL_MAX_MS = 5_000;

export interface DriverEvents {
  event(event: SessionEvent): void;
  /** Something was read or written, and all events were handed out. */
  drained(): void;
  /** A connection has ended. */
  lost(why: string): void;
}

export class Driver {
  #carrier: Carrier | undefined;
  /** Whether the carrier is open, so that the session has a connection. */
  #isUp = false;
  #tries = 0;
  #isOver = false;
  #isFlushing = false;
  #isHurrying = false;
  #isDraining = false;
  #wakesAt = Infinity;
  #sleepOn = () => {};
  #dialing: ReturnType<typeof setTimeout> | undefined;
  #redialing: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly session: Session,
    private readonly choice: Choice,
    private readonly options: Omit<CarrierOptions, "url">,
    private readonly events: DriverEvents,
  ) {}

  now(): number {
    return performance.now();
  }

  /** The kind of carrier that is used, or tried. */
  get carrier(): string {
    return this.choice.way.kind;
  }

  /** Dials, also when a wait for the next try is not over. */
  dial(): void {
    if (this.#isOver || this.#carrier) return;
    clearTimeout(this.#redialing);
    const { dial, url } = this.choice.way;
    const live = () => this.#carrier === carrier;
    // A carrier may fail within its constructor, before it is known here.
    const later = (act: () => void) => (carrier === undefined ? queueMicrotask(() => live() && act()) : live() && act());
    let carrier: Carrier | undefined;
    this.#dialing = setTimeout(() => this.#lost("not opened within 5 s"), DIAL_MS);
    try {
      carrier = dial(
        { ...this.options, url },
        {
          opened: () => later(() => this.#opened()),
          message: (message) => later(() => this.#received(message)),
          closed: (why) => later(() => this.#lost(why)),
        },
      );
    } catch (error) {
      carrier = { send: () => {}, close: () => {}, abort: () => {} };
      this.#carrier = carrier;
      return this.#lost(String(error));
    }
    this.#carrier = carrier;
  }

  /** The session may have something to write, at the end of this task. */
  touch(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    endOfTask(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  /** Somebody waits for the answer to what there is to write: it goes when this step of the task is over. */
  hurry(): void {
    if (this.#isHurrying) return;
    this.#isHurrying = true;
    queueMicrotask(() => {
      this.#isHurrying = false;
      this.#flush();
    });
  }

  /** Gives the connection up, and with it all timers. */
  stop(): void {
    this.#isOver = true;
    this.#sleepOn();
    clearTimeout(this.#dialing);
    clearTimeout(this.#redialing);
    this.#carrier?.close();
    this.#carrier = undefined;
  }

  #opened(): void {
    clearTimeout(this.#dialing);
    this.#isUp = true;
    this.session.connect(this.now());
    this.#flush();
  }

  #received(message: Uint8Array): void {
    this.session.receive(message, this.now());
    this.drain();
    this.hurry();
  }

  #flush(): void {
    const now = this.now();
    while (this.#isUp) {
      const message = this.session.takeMessage(now);
      if (message === undefined) break;
      this.#carrier?.send(message);
    }
    this.drain();
    if (!this.#isOver) this.#arm();
  }

  /** Sets the timer for the session's deadline; one that is early enough stays, since most deadlines move on. */
  #arm(): void {
    const { deadline } = this.session;
    if (deadline >= this.#wakesAt) return;
    this.#sleepOn();
    this.#wakesAt = deadline;
    this.#sleepOn = after(deadline - this.now(), () => {
      this.#wakesAt = Infinity;
      this.session.tick(this.now());
      this.#flush();
    });
  }

  /** Hands the events of the session out, in order. */
  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    const { events } = this.session;
    // What is done for one event may bring others.
    for (let at = 0; at < events.length; at += 1) {
      const event = events[at]!;
      if (event.kind === "opened" || event.kind === "resumed") {
        this.#tries = 0;
        this.choice.opened(this.now());
      }
      if (event.kind === "cut") this.#lost(event.why);
      if (event.kind === "ended") this.stop();
      this.events.event(event);
    }
    events.length = 0;
    this.#isDraining = false;
    this.events.drained();
  }

  #lost(why: string): void {
    if (this.#isOver || this.#carrier === undefined) return;
    clearTimeout(this.#dialing);
    this.#carrier.abort();
    this.#carrier = undefined;
    this.#isUp = false;
    this.choice.ended(this.now());
    this.session.disconnected(this.now());
    this.events.lost(why);
    if (this.#isOver || this.session.hasEnded) return this.touch();
    const most = Math.min(REDIAL_MAX_MS, REDIAL_MIN_MS * 2 ** Math.min(this.#tries++, 10));
    this.#redialing = setTimeout(() => this.dial(), most * (0.5 + Math.random() / 2));
    this.#arm();
  }
}

/** Runs `act` behind the promises that are kept in this task. */
const endOfTask: (act: () => void) => void =
  typeof setImmediate === "function"
    ? (act) => void setImmediate(act)
    : (() => {
        const { port1, port2 } = new MessageChannel();
        const acts: (() => void)[] = [];
        port1.onmessage = () => acts.shift()?.();
        return (act: () => void) => {
          acts.push(act);
          port2.postMessage(null);
        };
      })();
