/** The WebSocket of a browser. */

export function systemSocket(): unknown {
  return globalThis.WebSocket;
}

/** A page cannot set headers of an upgrade. */
export const sendsHeaders = false;
