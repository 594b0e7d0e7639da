/**
 * Signs of life: when to send PING, and when a silent peer counts as dead (section 7 of the page).
 *
 * Time is milliseconds of a clock that never goes back.
 */

const INTERVAL_MIN_MS = 10;
export const INTERVAL_MAX_MS = 60_000;
/** A session at rest is silent for so long, after so long without work. */
const IDLE_MS = 15_000;
const IDLE_AFTER_MS = 10_000;
/** Intervals without a byte after which the connection is cut. */
const SILENCE_INTERVALS = 3;

export class Heartbeat {
  readonly interval: number;
  #received: number;
  #sent: number;
  #active: number;
  /** What the peer has announced with its last PING. */
  #allowedSilence: number;
  /** Since when the peer owes an ack or a PONG. */
  #owedSince: number | undefined;
  #isIdle = false;
  #pings = 0;

  constructor(oursMs: number, theirsMs: number, now: number) {
    const wanted = Math.max(oursMs, theirsMs);
    this.interval = Math.min(Math.max(wanted, INTERVAL_MIN_MS), INTERVAL_MAX_MS);
    this.#received = this.#sent = this.#active = now;
    this.#allowedSilence = this.interval;
  }

  /** Bytes have come; `owes` says whether the peer owes more. */
  received(now: number, owes: boolean): void {
    this.#received = now;
    this.#owedSince = owes ? now : undefined;
  }

  pingReceived(nextMs: number): void {
    this.#allowedSilence = Math.min(Math.max(nextMs, this.interval), INTERVAL_MAX_MS);
  }

  /** A batch was written; `asks` says whether it calls for an answer. */
  sent(now: number, asks: boolean): void {
    this.#sent = now;
    if (asks) this.#owedSince ??= now;
  }

  /** There is work, so the session is not at rest. */
  active(now: number): void {
    this.#active = now;
    this.#isIdle = false;
  }

  get deadline(): number {
    return Math.min(this.#pingDue, this.#deadDue);
  }

  get #pingDue(): number {
    return this.#sent + (this.#isIdle ? IDLE_MS : this.interval);
  }

  get #deadDue(): number {
    const silent = this.#received + this.#allowedSilence + this.interval * (SILENCE_INTERVALS - 1);
    if (this.#owedSince === undefined) return silent;
    return Math.min(silent, this.#owedSince + this.interval * SILENCE_INTERVALS);
  }

  /** True if the peer is dead. A side that was suspended itself reads before it decides. */
  isPeerSilent(now: number): boolean {
    const due = this.#deadDue;
    if (now < due) return false;
    if (now - due < this.interval) return true;
    this.#received = now;
    this.#owedSince = undefined;
    return false;
  }

  /** Id and next_ms of the PING that is due, if one is. */
  ping(now: number, isAtRest: boolean): [number, number] | undefined {
    if (now < this.#pingDue) return undefined;
    this.#isIdle = isAtRest && now - this.#active >= IDLE_AFTER_MS;
    this.#pings += 1;
    return [this.#pings, this.#isIdle ? IDLE_MS : this.interval];
  }
}
