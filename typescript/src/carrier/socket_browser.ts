/** The WebSocket of a browser. */

export function systemSocket(): unknown {
  return globalThis.WebSocket;
}
