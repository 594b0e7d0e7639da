/** The form of a method, and what has come of its calls. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { pathOf, type Client, type Problem } from "../data/client.js";
import { ProblemText } from "../views/notice.js";
import { clean } from "../views/text.js";
import { FieldInput } from "./field.js";
import { problemOf } from "./problem.js";
import { bodyOf, fieldsOf, pretty, read, type Method, type Schema } from "./schema.js";

/** Items of a stream that are shown. */
const ITEMS_MAX = 100;

interface Properties {
  client: Client;
  actor: string;
  name: string;
  method: Method;
  types: Record<string, Schema>;
}

type Outcome =
  | { kind: "none" }
  | { kind: "waiting" }
  | { kind: "answered"; text: string; note: string }
  | { kind: "failed"; problem: Problem };

export function MethodForm({ client, actor, name, method, types }: Properties) {
  const fields = fieldsOf(method, types);
  const [texts, setTexts] = useState(() => new Map(fields.map((field) => [field.name, field.initial])));
  const [wrong, setWrong] = useState(new Map<string, string>());
  const [outcome, setOutcome] = useState<Outcome>({ kind: "none" });
  const form = useRef<HTMLFormElement>(null);
  const answer = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    // On a narrow screen it comes below the edge.
    if (outcome.kind === "answered" || outcome.kind === "failed") answer.current?.scrollIntoView({ block: "nearest" });
  }, [outcome]);

  /** The arguments, or nothing if a field is wrong, which then has the focus. */
  const collect = (): [string, string][] | undefined => {
    const [values, faults] = [[] as [string, string][], new Map<string, string>()];
    for (const field of fields) {
      const result = read(field, texts.get(field.name) ?? "");
      if ("wrong" in result) faults.set(field.name, result.wrong);
      else if (result.json !== undefined) values.push([field.name, result.json]);
    }
    setWrong(faults);
    const [first] = faults.keys();
    if (first === undefined) return values;
    form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(first)}"]`)?.focus();
    return undefined;
  };
  const make = async (call: (values: [string, string][]) => Promise<Outcome>) => {
    const values = collect();
    if (values === undefined) return;
    setOutcome({ kind: "waiting" });
    setOutcome(await call(values).catch((error: unknown): Outcome => ({ kind: "failed", problem: problemOf(error) })));
  };
  const path = (call: string) => `${pathOf(actor)}/${call}/${encodeURIComponent(name)}`;
  const ask = () => make((values) => (method.stream ? stream(client, path("stream"), values) : post(client, path("ask"), values)));
  const tell = () => make((values) => post(client, path("tell"), values));

  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void ask();
      }}
    >
      <p class="signature"><code>{clean(method.signature)}</code></p>
      {fields.map((field) => (
        <FieldInput
          key={field.name}
          id={`${id}-${field.name}`}
          field={field}
          text={texts.get(field.name) ?? ""}
          wrong={wrong.get(field.name)}
          onText={(text) => setTexts(new Map(texts).set(field.name, text))}
        />
      ))}
      <div class="row">
        <button type="submit" class="primary" disabled={outcome.kind === "waiting"}>{method.stream ? "Read" : "Ask"}</button>
        {!method.stream && <button type="button" disabled={outcome.kind === "waiting"} onClick={() => void tell()}>Tell</button>}
      </div>
      <div ref={answer} role="status" class="outcome"><OutcomeText outcome={outcome} /></div>
    </form>
  );
}

function OutcomeText({ outcome }: { outcome: Outcome }) {
  switch (outcome.kind) {
    case "none": return null;
    case "waiting": return <p class="muted">Waiting for the answer…</p>;
    case "failed": return (
      <div class="answer bad">
        <ProblemText problem={outcome.problem} />
        {outcome.problem.error !== undefined && <pre>{JSON.stringify(outcome.problem.error, null, 2)}</pre>}
      </div>
    );
    case "answered": return (
      <div class="answer">
        <p class="muted">{outcome.note}</p>
        {outcome.text !== "" && <pre>{outcome.text}</pre>}
      </div>
    );
  }
}

async function post(client: Client, path: string, values: [string, string][]): Promise<Outcome> {
  const begun = performance.now();
  const body = values.length === 0 ? "[]" : bodyOf(values);
  const response = await client.request(path, { method: "POST", body });
  const text = await response.text();
  const took = `${Math.round(performance.now() - begun)} ms`;
  const note = response.status === 202 ? `In the mailbox after ${took}` : `Answer after ${took}`;
  return { kind: "answered", text: pretty(text), note };
}

/** The first items of a stream. A text goes into the query as it is, all else as JSON. */
async function stream(client: Client, path: string, values: [string, string][]): Promise<Outcome> {
  const query = new URLSearchParams();
  for (const [name, json] of values) query.set(name, json.startsWith('"') ? (JSON.parse(json) as string) : json);
  const enough = new AbortController();
  const items: string[] = [];
  try {
    for await (const item of client.events(`${path}?${query}`, enough.signal)) {
      items.push(item);
      if (items.length === ITEMS_MAX) return { kind: "answered", text: items.join("\n"), note: `The first ${ITEMS_MAX} items` };
    }
    return { kind: "answered", text: items.join("\n"), note: `All items: ${items.length}` };
  } finally {
    enough.abort();
  }
}
