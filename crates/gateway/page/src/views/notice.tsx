/** What stands between the page and the node, and what mends it. */

import { useState } from "preact/hooks";
import type { Problem } from "../data/client.js";
import type { State } from "../data/feed.js";

/** Says that nothing new comes, and why. It is there always, so that screen readers hear of a change. */
export function Notice({ state }: { state: State }) {
  return (
    <div role="status" id="notice">
      {state.kind === "connecting" && <p class="notice quiet">Connecting…</p>}
      {state.kind === "lost" && (
        <p class="notice warning"><strong>Connection lost, trying again.</strong> What is shown is the last that came.</p>
      )}
      {state.kind === "refused" && (
        <div class="notice warning">
          <p><strong>The gateway refuses, trying again.</strong></p>
          <ProblemText problem={state.problem} />
        </div>
      )}
    </div>
  );
}

/** A problem in the words of the gateway. */
export function ProblemText({ problem }: { problem: Problem }) {
  return (
    <>
      <p><code>{problem.status} {problem.code}</code> {problem.detail}</p>
      {problem.hint && <p class="hint">{problem.hint}</p>}
    </>
  );
}

/** Asks for a token. It is kept in the memory of the page only. */
export function TokenForm({ problem, onToken }: { problem: Problem | undefined; onToken: (token: string) => void }) {
  const [token, setToken] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    if (token.trim() !== "") onToken(token.trim());
  };
  return (
    <form class="token-form" onSubmit={submit}>
      <h2>The gateway asks for a token</h2>
      {problem !== undefined && <p role="alert" class="bad">{problem.detail}</p>}
      <label for="token">Token</label>
      <div class="row">
        <input
          id="token"
          type="password"
          autocomplete="off"
          required
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <button class="primary" type="submit">Enter</button>
      </div>
      <p class="hint">It stays in the memory of this page, and is gone when the page is closed or loaded anew.</p>
    </form>
  );
}
