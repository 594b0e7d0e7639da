/** Requests to the gateway, with the token if there is one. It is kept in memory only. */

/** An error as the gateway sends it (RFC 9457). */
export interface Problem {
  title: string;
  status: number;
  code: string;
  detail: string;
  hint?: string;
  error?: unknown;
}

/** A request that the gateway has refused. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

/** The gateway, above the folder of the page. */
const GATEWAY = new URL("../", document.baseURI);

/** Bytes of an event that is not complete: more than the snapshot of the largest node. */
const EVENT_LENGTH_MAX = 16 * 1024 * 1024;

export class Client {
  #token: string | undefined;

  get hasToken(): boolean {
    return this.#token !== undefined;
  }

  setToken(token: string | undefined): void {
    this.#token = token;
  }

  /** A request to a path below the gateway. Throws `Refused`, or what `fetch` throws. */
  async request(path: string, options: RequestInit = {}): Promise<Response> {
    const headers = new Headers(options.headers);
    if (this.#token !== undefined) headers.set("authorization", `Bearer ${this.#token}`);
    const response = await fetch(new URL(path, GATEWAY), { ...options, headers, cache: "no-store", credentials: "same-origin" });
    if (!response.ok) throw new Refused(await problemOf(response));
    return response;
  }

  async json<T>(path: string): Promise<T> {
    return (await this.request(path)).json() as Promise<T>;
  }

  /** The events of a path, as texts of JSON, until their end. `EventSource` could send no token. */
  async *events(path: string, signal: AbortSignal): AsyncGenerator<string> {
    const response = await this.request(path, { signal });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      if (text.length > EVENT_LENGTH_MAX) throw new Error("an event is too long");
      const events = text.split("\n\n");
      text = events.pop()!;
      for (const event of events) {
        const { name, data } = fieldsOf(event);
        if (name === "end") return;
        if (name === "error") throw new Refused(JSON.parse(data) as Problem);
        if (data !== "") yield data;
      }
    }
  }
}

/** The path of an actor. */
export const pathOf = (actor: string): string => encodeURIComponent(actor);

async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text();
  try {
    const problem = JSON.parse(text) as Problem;
    if (typeof problem.code === "string") return problem;
  } catch {
    // What stands in front of the gateway has answered.
  }
  return { title: response.statusText, status: response.status, code: String(response.status), detail: text.slice(0, 500) };
}

function fieldsOf(event: string): { name: string; data: string } {
  let [name, data] = ["", ""];
  for (const line of event.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    if (line.startsWith("data: ")) data += line.slice(6);
  }
  return { name, data };
}
