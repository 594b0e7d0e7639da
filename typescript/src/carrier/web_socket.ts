/** A carrier over WebSocket: each SP message is one binary message. */

import { sendsHeaders, systemSocket } from "#socket";
import type { Carrier, CarrierEvents, CarrierOptions, SocketClass } from "./carrier.js";

const PROTOCOL = "pair1.sp.nanomsg.org";

export function dialWebSocket(options: CarrierOptions, events: CarrierEvents): Carrier {
  const Class = options.webSocket ?? (systemSocket() as SocketClass);
  let isOver = false;
  const { denied, token, url } = options;
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  // The browser's class takes two arguments, and ignores what is behind them: it does not tell either why
  // an upgrade was refused.
  const inQuery = token && !sendsHeaders ? `${url.includes("?") ? "&" : "?"}access_token=${encodeURIComponent(token)}` : "";
  const socket = new Class(url + inQuery, [PROTOCOL], { denied, headers });
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    if (!isOver) events.opened();
  };
  socket.onmessage = ({ data }) => {
    if (isOver) return;
    if (data instanceof ArrayBuffer) events.message(new Uint8Array(data));
    else over("the node has sent a text");
  };
  // The event of an error says nothing; that of the close, which follows it, has the code.
  socket.onerror = () => {};
  socket.onclose = ({ code, reason }) => over(`the WebSocket was closed with code ${code}${reason && `: ${reason}`}`);

  function over(why: string): void {
    if (isOver) return;
    isOver = true;
    socket.close();
    events.closed(why);
  }

  const close = () => {
    isOver = true;
    socket.close();
  };
  return {
    send: (message) => {
      if (!isOver) socket.send(message as Uint8Array<ArrayBuffer>);
    },
    close,
    abort: close,
  };
}
