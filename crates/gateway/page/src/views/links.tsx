/** The sessions with other nodes. */

import { bytesRate, duration, roundTrip, whole } from "../data/format.js";
import type { Rates } from "../data/history.js";
import type { Counters, Session } from "../data/metrics.js";
import { Bad } from "./actors.js";
import { Table, type Column } from "./table.js";
import { clean, matches } from "./text.js";

interface Properties {
  sessions: Session[];
  /** The number of sessions, those in the sum included. */
  total: number;
  rates: Rates;
  search: string;
}

export function Links({ sessions, total, rates, search }: Properties) {
  const counter = (name: string, key: keyof Counters): Column<Session> => ({
    name,
    kind: "number",
    value: (session) => session.counters[key],
    cell: (session) => <Bad count={session.counters[key]} />,
  });
  const columns: Column<Session>[] = [
    { name: "Peer", kind: "name", value: nameOf, cell: (session) => <Peer session={session} /> },
    { name: "State", kind: "text", value: (session) => session.cut_for_ms ?? -1, cell: (session) => <Connection session={session} /> },
    { name: "In", kind: "number", value: (session) => rates.received(session) ?? -1, cell: (session) => bytesRate(rates.received(session)) },
    { name: "Out", kind: "number", value: (session) => rates.sent(session) ?? -1, cell: (session) => bytesRate(rates.sent(session)) },
    { name: "Round trip", kind: "number", value: (session) => session.rtt_us ?? -1, cell: (session) => roundTrip(session.rtt_us) },
    { name: "Unacked", kind: "number", value: (session) => session.unacked_frames, cell: (session) => whole(session.unacked_frames) },
    counter("Stalls", "credit_stalls"),
    counter("Cuts", "cuts"),
    counter("Resumes", "resumes"),
    counter("Resent", "frames_repeated"),
  ];
  return (
    <Table
      id="links"
      title="Links"
      columns={columns}
      rows={sessions.filter((session) => matches(search, [session.peer, session.name, session.identity]))}
      isSum={(session) => session.session === 0}
      keyOf={(session) => session.session}
      count={sessions.length}
      total={total}
      empty="No other node has a session with this one."
    />
  );
}

const nameOf = (session: Session): string => session.name ?? session.identity ?? session.peer;

function Peer({ session }: { session: Session }) {
  if (session.session === 0) return <span class="muted">all others</span>;
  const name = nameOf(session);
  // That a peer has proved nothing is no name.
  const others = [session.identity, session.peer].filter((text) => text !== null && text !== name && text !== "anonymous");
  return (
    <span class="peer" title={session.dialed ? "this node has dialed" : "the peer has dialed"}>
      <span>{clean(name)}</span>
      {others.length > 0 && <span class="muted">{session.dialed ? "to" : "from"} {clean(others.join(", "))}</span>}
    </span>
  );
}

function Connection({ session }: { session: Session }) {
  if (session.session === 0) return <span class="muted">–</span>;
  if (session.cut_for_ms === null) return <span class="chip good">connected</span>;
  return <span class="chip bad">cut for {duration(session.cut_for_ms)}</span>;
}
