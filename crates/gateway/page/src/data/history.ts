/** The last five minutes of a node, and the rates between its last two snapshots. */

import { lostTells, ofSessions, type Actor, type Metrics, type Session } from "./metrics.js";

/** Snapshots that are kept: five minutes, one a second. */
export const POINTS_MAX = 300;

/** What is plotted. */
export const SERIES = ["messages", "stalls", "resumes", "losses"] as const;
export type Series = (typeof SERIES)[number];

/** One second: the seconds of the clock, and what has grown by how much a second. `null` is a gap. */
export type Point = { at: number } & Record<Series, number | null>;

export interface History {
  latest: Metrics;
  previous: Metrics | undefined;
  points: Point[];
}

/**
 * The history with one more snapshot, which came at the time `at` in seconds. A node that was started
 * anew counts from zero, so nothing is known of the time between.
 */
export function withSnapshot(history: History | undefined, latest: Metrics, at: number): History {
  const before = history?.latest;
  if (history !== undefined && before?.uptime_ms === latest.uptime_ms) return history;
  const previous = before !== undefined && before.uptime_ms < latest.uptime_ms ? before : undefined;
  const known = history?.points ?? [];
  const last = known.at(-1);
  // A line across a time that nobody has seen would be made up.
  const gap = last !== undefined && at - last.at > 3 ? [empty(last.at + 1)] : [];
  const points = [...known, ...gap, pointOf(previous, latest, at)];
  return { latest, previous, points: points.filter((point) => at - point.at <= POINTS_MAX).slice(-2 * POINTS_MAX) };
}

const empty = (at: number): Point => ({ at, messages: null, stalls: null, resumes: null, losses: null });

function pointOf(previous: Metrics | undefined, latest: Metrics, at: number): Point {
  if (previous === undefined) return empty(at);
  const seconds = secondsBetween(previous, latest);
  const growth = (of: (metrics: Metrics) => number) => Math.max(0, of(latest) - of(previous)) / seconds;
  return {
    at,
    messages: messagesRate(previous, latest),
    stalls: growth((metrics) => ofSessions(metrics, "credit_stalls")),
    resumes: growth((metrics) => ofSessions(metrics, "resumes")),
    losses: growth(lostTells),
  };
}

const secondsBetween = (previous: Metrics, latest: Metrics): number =>
  Math.max(1, latest.uptime_ms - previous.uptime_ms) / 1000;

/** Messages that all actors have taken in a second. One that has a name less since has not untaken any. */
function messagesRate(previous: Metrics, latest: Metrics): number {
  const before = new Map(previous.actors.map((actor) => [actor.actor, actor.taken]));
  let grown = 0;
  for (const { actor, taken } of latest.actors) grown += Math.max(0, taken - (before.get(actor) ?? taken));
  return grown / secondsBetween(previous, latest);
}

/** The rates of the rows of a snapshot; `null` where they are not known. */
export class Rates {
  readonly #seconds: number;
  readonly #actors: Map<string, Actor>;
  readonly #sessions: Map<number, Session>;

  constructor({ previous, latest }: History) {
    this.#seconds = previous === undefined ? 1 : secondsBetween(previous, latest);
    this.#actors = new Map(previous?.actors.map((actor) => [actor.actor, actor]));
    this.#sessions = new Map(previous?.sessions.map((session) => [session.session, session]));
  }

  messages(actor: Actor): number | null {
    return this.#rate(this.#actors.get(actor.actor)?.taken, actor.taken);
  }

  received(session: Session): number | null {
    const before = this.#sessions.get(session.session);
    return this.#rate(before?.counters.bytes_received, session.counters.bytes_received);
  }

  sent(session: Session): number | null {
    const before = this.#sessions.get(session.session);
    return this.#rate(before?.counters.bytes_sent, session.counters.bytes_sent);
  }

  /** A counter that is smaller than before is that of another actor of this name. */
  #rate(before: number | undefined, now: number): number | null {
    return before === undefined || now < before ? null : (now - before) / this.#seconds;
  }
}
