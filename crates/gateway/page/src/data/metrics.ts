/** A snapshot of a node, as `wigwag top --json` prints it. */

export interface Metrics {
  node: string | null;
  uptime_ms: number;
  actors_exported: number;
  actors: Actor[];
  sessions_open: number;
  sessions: Session[];
  ended: { closed: number; lost: number; evicted: number; counters: Counters };
  acceptor: { accepted: number; handshakes: number; opened: number; resumed: number; refused: Record<string, number> };
  sp_clients: { connections: number };
  lost_tells: Losses;
}

export interface Actor {
  /** Empty for the row with the sum of the actors that have none of their own. */
  actor: string;
  kind: string;
  has_ended: boolean;
  waiting: number;
  capacity: number;
  taken: number;
  dropped: number;
  restarts: number;
  rejected: Record<string, number>;
}

export interface Session {
  /** 0 for the row with the sum of the sessions that have none of their own. */
  session: number;
  peer: string;
  name: string | null;
  identity: string | null;
  dialed: boolean;
  cut_for_ms: number | null;
  rtt_us: number | null;
  unacked_frames: number;
  counters: Counters;
}

export interface Counters {
  bytes_sent: number;
  bytes_received: number;
  credit_stalls: number;
  cuts: number;
  resumes: number;
  frames_repeated: number;
}

export interface Losses {
  refused: number;
  ended: number;
  no_room: number;
  not_understood: number;
  rejected: number;
}

export const sum = (numbers: Iterable<number>): number => {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
};

/** A counter of all sessions, those that have ended too: so it never falls. */
export const ofSessions = ({ sessions, ended }: Metrics, counter: keyof Counters): number =>
  ended.counters[counter] + sum(sessions.map((session) => session.counters[counter]));

export const lostTells = (metrics: Metrics): number => sum(Object.values(metrics.lost_tells));

export const rejectedCalls = (actor: Actor): number => sum(Object.values(actor.rejected));
