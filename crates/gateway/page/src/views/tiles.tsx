/** What the node does now, and has done in the last five minutes. */

import { useState } from "preact/hooks";
import { rate, whole } from "../data/format.js";
import type { History, Point, Series } from "../data/history.js";
import { lostTells, ofSessions, sum, type Metrics } from "../data/metrics.js";
import { Plot } from "./plot.js";

interface Kind {
  series: Series;
  name: string;
  /** What the total counts. */
  total: (metrics: Metrics) => string;
  meaning: string;
}

const KINDS: Kind[] = [
  {
    series: "messages",
    name: "Messages",
    total: ({ actors }) => `${whole(sum(actors.map((actor) => actor.taken)))} handled`,
    meaning: "Messages that the actors have taken to handle",
  },
  {
    series: "stalls",
    name: "Stalls",
    total: (metrics) => `${whole(ofSessions(metrics, "credit_stalls"))} in all`,
    meaning: "Senders that had to wait for credit or room on a link",
  },
  {
    series: "resumes",
    name: "Resumes",
    total: (metrics) => `${whole(ofSessions(metrics, "resumes"))} in all`,
    meaning: "Links that were cut and went on over a new connection",
  },
  {
    series: "losses",
    name: "Dead letters",
    total: (metrics) => `${whole(lostTells(metrics))} in all`,
    meaning: "Tells of the process that nobody has handled",
  },
];

export function Tiles({ history }: { history: History }) {
  return (
    <section class="tiles" aria-label="Rates of the last five minutes">
      {KINDS.map((kind) => <Tile key={kind.series} kind={kind} history={history} />)}
    </section>
  );
}

function Tile({ kind, history }: { kind: Kind; history: History }) {
  const { series, name, total, meaning } = kind;
  const [hovered, setHovered] = useState<Point>();
  const { points, latest } = history;
  const now = points.at(-1);
  const most = Math.max(0, ...points.map((point) => point[series] ?? 0));
  const shown = hovered ?? now;
  const age = hovered && now ? Math.round(now.at - hovered.at) : 0;
  const label = `${name} a second in the last five minutes: now ${rate(now?.[series] ?? null)}, at most ${rate(most)}`;
  return (
    <article class={`tile ${series}`} id={`tile-${series}`} title={meaning}>
      <h2>{name}</h2>
      <p class="now">
        <strong>{rate(shown?.[series] ?? null)}</strong> <span>/s{age > 0 && `, ${age} s ago`}</span>
      </p>
      <p class="total">{total(latest)}</p>
      <Plot points={points} series={series} label={label} onHover={setHovered} />
    </article>
  );
}
