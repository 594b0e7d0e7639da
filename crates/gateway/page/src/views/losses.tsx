/** The dead letters of the process, by what has become of them. */

import { rate, whole } from "../data/format.js";
import type { History } from "../data/history.js";
import { lostTells, type Losses as Counts } from "../data/metrics.js";

const MEANINGS: [keyof Counts, string, string][] = [
  ["refused", "Refused", "The actor had ended or was closing."],
  ["ended", "Ended", "The actor ended before it has handled them."],
  ["no_room", "No room", "They were dropped because a mailbox was full."],
  ["not_understood", "Not understood", "They came from another process, and the actor did not understand them."],
  ["rejected", "Rejected", "An actor of another process did not understand them."],
];

export function Losses({ history: { latest, previous } }: { history: History }) {
  const seconds = previous === undefined ? 1 : Math.max(1, latest.uptime_ms - previous.uptime_ms) / 1000;
  const total = lostTells(latest);
  return (
    <section class="card" aria-labelledby="losses-title">
      <div class="head">
        <h2 id="losses-title">Dead letters <span class="count">{whole(total)}</span></h2>
      </div>
      <dl class="loss-list" id="losses">
        {MEANINGS.map(([key, name, meaning]) => {
          const count = latest.lost_tells[key];
          const growth = previous === undefined ? 0 : (count - previous.lost_tells[key]) / seconds;
          return (
            <div key={key} class={count === 0 ? "" : "some"}>
              <dt>{name}</dt>
              <dd class="value">{whole(count)}{growth > 0 && <span class="growth"> +{rate(growth)}/s</span>}</dd>
              <dd class="meaning">{meaning}</dd>
            </div>
          );
        })}
      </dl>
    </section>
  );
}
