/** The panel of one actor: what it does now, its methods, and a form for each. */

import { useEffect, useRef, useState } from "preact/hooks";
import { pathOf, type Client, type Problem } from "../data/client.js";
import { rate, whole } from "../data/format.js";
import { Rates, type History } from "../data/history.js";
import { Mailbox } from "../views/actors.js";
import { ProblemText } from "../views/notice.js";
import { clean } from "../views/text.js";
import { MethodForm } from "./method.js";
import { problemOf } from "./problem.js";
import type { Interface } from "./schema.js";

interface Properties {
  client: Client;
  name: string;
  history: History | undefined;
  onClose: () => void;
}

type Loaded = { kind: "loading" } | { kind: "there"; actor: Interface } | { kind: "failed"; problem: Problem };

export function Panel({ client, name, history, onClose }: Properties) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [loaded, setLoaded] = useState<Loaded>({ kind: "loading" });
  useEffect(() => {
    // The dialog takes the focus, and gives it back when it closes.
    dialog.current?.showModal();
    client.json<Interface>(pathOf(name)).then(
      (actor) => setLoaded({ kind: "there", actor }),
      (error: unknown) => setLoaded({ kind: "failed", problem: problemOf(error) }),
    );
  }, []);
  const isOutside = (event: MouseEvent) => event.target === dialog.current;
  return (
    <dialog ref={dialog} aria-labelledby="panel-title" onClose={onClose} onClick={(event) => isOutside(event) && dialog.current?.close()}>
      <div class="panel">
        <div class="panel-head">
          <h2 id="panel-title">{clean(name)}</h2>
          <button type="button" onClick={() => dialog.current?.close()}>Close</button>
        </div>
        {history !== undefined && <Now name={name} history={history} />}
        {loaded.kind === "loading" && <p class="muted">Loading the interface…</p>}
        {loaded.kind === "failed" && <div class="notice warning" role="alert"><ProblemText problem={loaded.problem} /></div>}
        {loaded.kind === "there" && <Methods client={client} name={name} actor={loaded.actor} />}
      </div>
    </dialog>
  );
}

function Now({ name, history }: { name: string; history: History }) {
  const actor = history.latest.actors.find((one) => one.actor === name);
  if (actor === undefined) return <p class="muted">The node exports it no more.</p>;
  return (
    <dl class="facts">
      <div><dt>Mailbox</dt><dd><Mailbox actor={actor} /></dd></div>
      <div><dt>Rate</dt><dd>{rate(new Rates(history).messages(actor))}/s</dd></div>
      <div><dt>Handled</dt><dd>{whole(actor.taken)}</dd></div>
      {actor.has_ended && <div><dt>State</dt><dd class="bad">ended</dd></div>}
    </dl>
  );
}

function Methods({ client, name, actor }: { client: Client; name: string; actor: Interface }) {
  const methods = Object.entries(actor.methods);
  return (
    <>
      <p class="about"><code>{clean(actor.title)}</code>{actor.description && <> {actor.description}</>}</p>
      {methods.length === 0 && <p class="empty">There is no method to call.</p>}
      {methods.map(([method, form]) => (
        <details key={method} class="method" open={methods.length === 1}>
          <summary><code>{clean(method)}</code>{form.stream && <span class="chip">stream</span>}{form.description && <span class="comment">{form.description}</span>}</summary>
          <MethodForm client={client} actor={name} name={method} method={form} types={actor.components.schemas} />
        </details>
      ))}
    </>
  );
}
