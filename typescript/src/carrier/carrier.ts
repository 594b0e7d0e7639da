/**
 * A carrier: one connection that carries SP messages in both directions until it is cut.
 *
 * A carrier repeats nothing and promises nothing beyond the order of what arrives. The session above
 * it resumes over another carrier.
 */

export interface Carrier {
  /** Sends an SP message. How much may wait is bounded by the session, which keeps what is not acked. */
  send(message: Uint8Array): void;
  /** Closes the connection behind what was sent. */
  close(): void;
  /** Gives the connection up at once: it is of no more use. */
  abort(): void;
}

/** What a carrier tells its owner. Nothing is told after `closed`, or after `close` was called. */
export interface CarrierEvents {
  opened(): void;
  message(message: Uint8Array): void;
  closed(why: string): void;
}

export interface CarrierOptions {
  url: string;
  /** For the header `Authorization`, where the carrier can send one. */
  token: string | undefined;
  fetch: typeof fetch;
  /** The gateway does not accept the token, or wants one. */
  denied(): void;
  /** A class like the browser's `WebSocket`. */
  webSocket: SocketClass | undefined;
}

export type Dial = (options: CarrierOptions, events: CarrierEvents) => Carrier;

/** The part of a WebSocket that is used here. */
export interface Socket {
  binaryType: string;
  onopen: ((event: never) => unknown) | null;
  onmessage: ((event: { data: unknown }) => unknown) | null;
  onclose: ((event: { code: number; reason: string }) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
  send(data: Uint8Array<ArrayBuffer>): void;
  close(): void;
}

/** What is for a class that can send headers, and sees the answer to its request; a browser's cannot. */
export interface SocketOptions {
  headers: Record<string, string>;
  /** The request was answered with 401. */
  denied?(): void;
}

export type SocketClass = new (url: string, protocols: string[], options?: SocketOptions) => Socket;
