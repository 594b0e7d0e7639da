/**
 * A carrier over POST and GET with long poll, where WebSockets do not get through.
 *
 * It is one stream of bytes in each direction, with the SP mapping for tcp: the header of PAIR1, and
 * messages behind their length. One POST carries the next bytes and one GET waits for the next bytes of
 * the node. A request that fails in any way cuts the carrier, and none is repeated: the session's
 * resumption is what makes it lossless.
 */

import type { Carrier, CarrierEvents, CarrierOptions } from "./carrier.js";

const SP_HEADER = new Uint8Array([0x00, 0x53, 0x50, 0x00, 0x00, 0x11, 0x00, 0x00]);
/** The most bytes of a POST. */
const BODY_BYTES_MAX = 256 * 1024;
/** The longest message of a session: batch_max. */
const MESSAGE_BYTES_MAX = 1024 * 1024;
/** A GET is answered within 20 s, with bytes or without. */
const ANSWER_MS = 30_000;
/** The last POST is answered within this time, or given up. */
const CLOSE_MS = 1_000;

export function dialLongPoll(options: CarrierOptions, events: CarrierEvents): Carrier {
  const carrier = new LongPoll(options, events);
  void carrier.run();
  return carrier;
}

class LongPoll implements Carrier {
  readonly #abort = new AbortController();
  #url: URL | undefined;
  #isOver = false;
  #isClosing = false;
  #isPosting = false;
  #waiting: Uint8Array[] = [SP_HEADER];
  #sent = 0;
  #received = 0;
  #input: Uint8Array = new Uint8Array(0);
  #isGreeted = false;

  constructor(
    private readonly options: CarrierOptions,
    private readonly events: CarrierEvents,
  ) {}

  send(message: Uint8Array): void {
    const length = new Uint8Array(8);
    new DataView(length.buffer).setBigUint64(0, BigInt(message.length));
    this.#waiting.push(length, message);
    void this.#post();
  }

  close(): void {
    if (this.#isOver) return;
    this.#isClosing = true;
    if (!this.#isPosting) return this.#delete();
    // What was sent last is on its way; a gateway that does not take it is not waited for.
    setTimeout(() => this.#delete(), CLOSE_MS);
  }

  abort(): void {
    this.#delete();
  }

  /** Opens the carrier, and reads until it is cut. */
  async run(): Promise<void> {
    try {
      const created = await this.#request("POST", this.options.url);
      if (created.status === 401) this.options.denied();
      if (created.status !== 201) throw new Error(`${this.options.url} was answered with ${created.status}`);
      const { id } = (await created.json()) as { id: unknown };
      if (typeof id !== "string") throw new Error("the gateway has named no carrier");
      // The query of the address, which may have the token, is that of each request.
      const url = new URL(this.options.url);
      url.pathname += `/${encodeURIComponent(id)}`;
      this.#url = url;
      if (this.#isClosing) return this.#delete();
      void this.#post();
      while (!this.#isOver) await this.#get();
    } catch (error) {
      this.#cut(error);
    }
  }

  async #get(): Promise<void> {
    const answer = await this.#request("GET", this.#behind(this.#received));
    if (answer.status === 204) return;
    if (answer.status !== 200) throw new Error(`the carrier is gone: ${answer.status}`);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (this.#isOver) return;
    if (bytes.length === 0) throw new Error("an answer without bytes");
    this.#received += bytes.length;
    this.#came(bytes);
  }

  /** Sends what waits, one request at a time. */
  async #post(): Promise<void> {
    if (this.#isPosting || this.#url === undefined) return;
    this.#isPosting = true;
    try {
      while (this.#waiting.length > 0 && !this.#isOver) {
        const body = this.#take();
        const answer = await this.#request("POST", this.#behind(this.#sent), body);
        if (answer.status !== 204) throw new Error(`the carrier is gone: ${answer.status}`);
        this.#sent += body.size;
      }
      if (this.#isClosing) this.#delete();
    } catch (error) {
      this.#cut(error);
    } finally {
      this.#isPosting = false;
    }
  }

  /** The next bytes that wait, as many as a request may have. */
  #take(): Blob {
    const parts: Uint8Array[] = [];
    let room = BODY_BYTES_MAX;
    while (room > 0 && this.#waiting.length > 0) {
      const part = this.#waiting.shift()!;
      parts.push(part.subarray(0, room));
      if (part.length > room) this.#waiting.unshift(part.subarray(room));
      room -= Math.min(room, part.length);
    }
    return new Blob(parts as Uint8Array<ArrayBuffer>[]);
  }

  #came(bytes: Uint8Array): void {
    const input = new Uint8Array(this.#input.length + bytes.length);
    input.set(this.#input);
    input.set(bytes, this.#input.length);
    this.#input = input;
    if (!this.#isGreeted) {
      if (this.#input.length < SP_HEADER.length) return;
      if (!SP_HEADER.every((byte, at) => byte === this.#input[at])) throw new Error("no PAIR1 socket has answered");
      this.#input = this.#input.subarray(SP_HEADER.length);
      this.#isGreeted = true;
      this.events.opened();
    }
    while (!this.#isOver && this.#input.length >= 8) {
      const view = new DataView(this.#input.buffer, this.#input.byteOffset);
      const length = Number(view.getBigUint64(0));
      if (length > MESSAGE_BYTES_MAX) throw new Error("a message is longer than any of a session");
      if (this.#input.length < 8 + length) return;
      const message = this.#input.subarray(8, 8 + length);
      this.#input = this.#input.subarray(8 + length);
      this.events.message(message);
    }
  }

  /** The address of a request that continues behind so many bytes. */
  #behind(bytes: number): URL {
    const url = new URL(this.#url!);
    url.searchParams.set("at", String(bytes));
    return url;
  }

  #request(method: string, url: string | URL, body?: Blob): Promise<Response> {
    const headers: Record<string, string> = {};
    if (body) headers["content-type"] = "application/octet-stream";
    if (this.options.token) headers["authorization"] = `Bearer ${this.options.token}`;
    const signal = AbortSignal.any([this.#abort.signal, AbortSignal.timeout(ANSWER_MS)]);
    return this.options.fetch(url, { method, headers, signal, cache: "no-store", ...(body ? { body } : {}) });
  }

  #delete(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { fetch, token } = this.options;
    const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
    // The page may go at once; the gateway closes a carrier that is not used by itself.
    if (this.#url) fetch(this.#url, { method: "DELETE", headers, keepalive: true }).catch(() => {});
    this.#abort.abort();
  }

  #cut(error: unknown): void {
    if (this.#isOver) return;
    const isSilent = this.#isClosing;
    this.#delete();
    if (!isSilent) this.events.closed(error instanceof Error ? error.message : String(error));
  }
}
