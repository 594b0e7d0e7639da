/** The name of the node, whether it is there, and how long it has been. */

import type { State } from "../data/feed.js";
import { duration, whole } from "../data/format.js";
import { sum, type Metrics } from "../data/metrics.js";
import { clean } from "./text.js";

const STATES: Record<State["kind"], string> = {
  connecting: "Connecting",
  live: "Live",
  lost: "Connection lost",
  refused: "Refused",
  token: "Token needed",
};

interface Properties {
  name: string;
  state: State;
  metrics: Metrics | undefined;
  isPaused: boolean;
  onPause: () => void;
  onLeave: (() => void) | undefined;
}

export function Header({ name, state, metrics, isPaused, onPause, onLeave }: Properties) {
  const isShownPaused = isPaused && state.kind === "live";
  return (
    <header>
      <div class="bar">
        <img src="icon.svg" alt="" width="32" height="32" />
        <div class="title">
          <h1>{clean(name)}</h1>
          {metrics !== undefined && <p>up {duration(metrics.uptime_ms)}</p>}
        </div>
        <p class={`state ${isShownPaused ? "paused" : state.kind}`} id="state">
          {isShownPaused ? "Paused" : STATES[state.kind]}
        </p>
        <div class="buttons">
          {metrics !== undefined && (
            <button type="button" aria-pressed={isPaused} onClick={onPause}>Pause</button>
          )}
          {onLeave !== undefined && <button type="button" onClick={onLeave}>Forget token</button>}
        </div>
      </div>
      {metrics !== undefined && <Facts metrics={metrics} />}
    </header>
  );
}

function Facts({ metrics }: { metrics: Metrics }) {
  const facts: [string, number][] = [
    ["Actors", metrics.actors_exported],
    ["Links", metrics.sessions_open],
    ["SP clients", metrics.sp_clients.connections],
    ["Sessions lost", metrics.ended.lost],
    ["Evicted", metrics.ended.evicted],
    ["Newcomers refused", sum(Object.values(metrics.acceptor.refused))],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{whole(value)}</dd>
        </div>
      ))}
    </dl>
  );
}
