/** The actors that the client may call, for one that may not observe the node. */

import { useEffect, useState } from "preact/hooks";
import type { Client } from "../data/client.js";
import { clean } from "./text.js";

interface Listed {
  name: string;
  type: string;
  comment: string;
}

export function Index({ client, onOpen }: { client: Client; onOpen: (actor: string) => void }) {
  const [actors, setActors] = useState<Listed[]>([]);
  useEffect(() => {
    // The notice above says already what is wrong.
    client.json<{ actors: Listed[] }>("").then(({ actors }) => setActors(actors), () => {});
  }, []);
  if (actors.length === 0) return null;
  return (
    <section class="card" aria-labelledby="index-title">
      <div class="head"><h2 id="index-title">Actors that may be called <span class="count">{actors.length}</span></h2></div>
      <ul class="index">
        {actors.map(({ name, type, comment }) => (
          <li key={name}>
            <button type="button" class="link" onClick={() => onOpen(name)}>{clean(name)}</button>{" "}
            <code>{clean(type)}</code> <span class="muted">{clean(comment)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
