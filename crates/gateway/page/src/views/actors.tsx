/** The exported actors. */

import { rate, whole } from "../data/format.js";
import type { Rates } from "../data/history.js";
import { rejectedCalls, type Actor } from "../data/metrics.js";
import { Table, type Column } from "./table.js";
import { clean, matches } from "./text.js";

interface Properties {
  actors: Actor[];
  /** The number of actors, those in the sum included. */
  total: number;
  rates: Rates;
  search: string;
  onOpen: (actor: string) => void;
}

export function Actors({ actors, total, rates, search, onOpen }: Properties) {
  const columns: Column<Actor>[] = [
    { name: "Actor", kind: "name", value: (actor) => actor.actor, cell: (actor) => <Name actor={actor} onOpen={onOpen} /> },
    { name: "Type", kind: "text", value: (actor) => actor.kind, cell: (actor) => <code>{clean(actor.kind)}</code> },
    { name: "Mailbox", kind: "wide", value: share, cell: (actor) => <Mailbox actor={actor} /> },
    { name: "Rate", kind: "number", value: (actor) => rates.messages(actor) ?? -1, cell: (actor) => <PerSecond value={rates.messages(actor)} /> },
    { name: "Handled", kind: "number", value: (actor) => actor.taken, cell: (actor) => whole(actor.taken) },
    { name: "Failed", kind: "number", value: rejectedCalls, cell: (actor) => <Bad count={rejectedCalls(actor)} title={reasons(actor)} /> },
    { name: "Dropped", kind: "number", value: (actor) => actor.dropped, cell: (actor) => <Bad count={actor.dropped} /> },
    { name: "Restarts", kind: "number", value: (actor) => actor.restarts, cell: (actor) => <Bad count={actor.restarts} /> },
  ];
  return (
    <Table
      id="actors"
      title="Actors"
      columns={columns}
      rows={actors.filter((actor) => matches(search, [actor.actor, actor.kind]))}
      isSum={(actor) => actor.actor === ""}
      keyOf={(actor) => actor.actor}
      count={actors.length}
      total={total}
      empty="The node exports no actor."
    />
  );
}

const share = ({ waiting, capacity }: Actor): number => (capacity === 0 ? 0 : waiting / capacity);

const reasons = (actor: Actor): string =>
  Object.entries(actor.rejected).map(([reason, calls]) => `${reason}: ${whole(calls)}`).join(", ");

function Name({ actor, onOpen }: { actor: Actor; onOpen: (actor: string) => void }) {
  if (actor.actor === "") return <span class="muted">all others</span>;
  return (
    <>
      <button type="button" class="link" onClick={() => onOpen(actor.actor)}>{clean(actor.actor)}</button>
      {actor.has_ended && <span class="chip bad">ended</span>}
    </>
  );
}

/** How full the mailbox is. Callers of other nodes may fill it beyond what local ones may. */
export function Mailbox({ actor }: { actor: Actor }) {
  const percent = Math.min(100, 100 * share(actor));
  const level = percent >= 90 ? "full" : percent >= 50 ? "half" : "low";
  return (
    <span class="mailbox">
      <span class={`meter ${level}`} aria-hidden="true"><span style={{ width: `${percent}%` }} /></span>
      <span class="figure">{whole(actor.waiting)}<span class="muted"> / {whole(actor.capacity)}</span></span>
    </span>
  );
}

/** A rate with its unit. */
function PerSecond({ value }: { value: number | null }) {
  return <>{rate(value)}{value !== null && <span class="muted">/s</span>}</>;
}

/** A count that is better zero. */
export function Bad({ count, title }: { count: number; title?: string }) {
  return <span class={count === 0 ? "zero muted" : "bad"} title={title ?? ""}>{whole(count)}</span>;
}
