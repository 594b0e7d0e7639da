/** The page: it follows the node, and shows the latest snapshot. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Panel } from "../ask/panel.js";
import { Client } from "../data/client.js";
import { follow, type State } from "../data/feed.js";
import { Rates, withSnapshot, type History } from "../data/history.js";
import { Actors } from "./actors.js";
import { Header } from "./header.js";
import { Index } from "./index.js";
import { Links } from "./links.js";
import { Losses } from "./losses.js";
import { Notice, TokenForm } from "./notice.js";
import { Tiles } from "./tiles.js";

export function Page() {
  const client = useMemo(() => new Client(), []);
  const [state, setState] = useState<State>({ kind: "connecting" });
  const [history, setHistory] = useState<History>();
  const [frozen, setFrozen] = useState<History>();
  const [attempt, setAttempt] = useState(0);
  const [search, setSearch] = useState("");
  const [open, setOpen] = useState<string>();
  const kept = useRef<History | undefined>(undefined);

  useEffect(() => {
    const end = new AbortController();
    void follow(client, end.signal, setState, (metrics) => {
      kept.current = withSnapshot(kept.current, metrics, Date.now() / 1000);
      setHistory(kept.current);
    });
    return () => end.abort();
  }, [attempt]);

  const enter = (token: string | undefined) => {
    client.setToken(token);
    // What another identity was shown is not for this one.
    kept.current = undefined;
    for (const forget of [setHistory, setFrozen, setOpen]) forget(undefined);
    setAttempt(attempt + 1);
  };
  const shown = frozen ?? history;
  const rates = useMemo(() => shown && new Rates(shown), [shown]);
  const name = shown?.latest.node ?? location.host;
  useLayoutEffect(() => {
    document.title = `${state.kind === "live" ? "" : "(not connected) "}${name} – wigwag`;
  }, [name, state.kind]);

  return (
    <>
      <a class="skip" href="#main">Skip to the actors</a>
      <Header
        name={name}
        state={state}
        metrics={shown?.latest}
        isPaused={frozen !== undefined}
        onPause={() => setFrozen(frozen === undefined ? history : undefined)}
        onLeave={client.hasToken && state.kind !== "token" ? () => enter(undefined) : undefined}
      />
      <main id="main" tabIndex={-1}>
        {state.kind === "token" ? <TokenForm problem={client.hasToken ? state.problem : undefined} onToken={enter} /> : <Notice state={state} />}
        {state.kind === "refused" && shown === undefined && <Index client={client} onOpen={setOpen} />}
        {shown !== undefined && rates !== undefined && (
          <div class={state.kind === "live" ? "content" : "content stale"}>
            <Tiles history={shown} />
            <div class="search">
              <label for="search">Search actors and links</label>
              <input
                id="search"
                type="search"
                placeholder="Name, type, peer or identity"
                autocomplete="off"
                spellcheck={false}
                value={search}
                onInput={(event) => setSearch(event.currentTarget.value)}
              />
            </div>
            <Actors
              actors={shown.latest.actors}
              total={shown.latest.actors_exported}
              rates={rates}
              search={search}
              onOpen={setOpen}
            />
            <Links sessions={shown.latest.sessions} total={shown.latest.sessions_open} rates={rates} search={search} />
            <Losses history={shown} />
          </div>
        )}
      </main>
      {open !== undefined && (
        <Panel client={client} name={open} history={history} onClose={() => setOpen(undefined)} />
      )}
    </>
  );
}
