/** The connection that brings snapshots, and what becomes of it. */

import { Refused, type Client, type Problem } from "./client.js";
import type { Metrics } from "./metrics.js";

/** A node sends a snapshot a second; one that is silent for this long is gone. */
const SILENCE_MS_MAX = 5_000;
/** The pause before the first attempt after a cut, which doubles up to the longest. */
const PAUSE_MS = 500;
const PAUSE_MS_MAX = 5_000;

export type State =
  | { kind: "connecting" }
  | { kind: "live" }
  | { kind: "lost" }
  /** The gateway has refused, and is asked again. */
  | { kind: "refused"; problem: Problem }
  /** The gateway wants a token; nothing happens until it has one. */
  | { kind: "token"; problem: Problem };

/** Connects, and again after each end, until `signal`. */
export async function follow(
  client: Client,
  signal: AbortSignal,
  onState: (state: State) => void,
  onSnapshot: (metrics: Metrics) => void,
): Promise<void> {
  let pause = PAUSE_MS;
  onState({ kind: "connecting" });
  while (!signal.aborted) {
    try {
      await read(client, signal, (metrics) => {
        pause = PAUSE_MS;
        onState({ kind: "live" });
        onSnapshot(metrics);
      });
      if (!signal.aborted) onState({ kind: "lost" });
    } catch (error) {
      if (signal.aborted) return;
      const problem = error instanceof Refused ? error.problem : undefined;
      if (problem?.status === 401) return onState({ kind: "token", problem });
      onState(problem === undefined ? { kind: "lost" } : { kind: "refused", problem });
    }
    await sleep(pause, signal);
    pause = Math.min(2 * pause, PAUSE_MS_MAX);
  }
}

async function read(client: Client, signal: AbortSignal, onSnapshot: (metrics: Metrics) => void): Promise<void> {
  const silence = new AbortController();
  const abort = () => silence.abort();
  signal.addEventListener("abort", abort);
  let timer = setTimeout(abort, SILENCE_MS_MAX);
  try {
    for await (const text of client.events("ui/events", silence.signal)) {
      clearTimeout(timer);
      timer = setTimeout(abort, SILENCE_MS_MAX);
      onSnapshot(JSON.parse(text) as Metrics);
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    silence.abort();
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
