/** A relay in front of a gateway, which cuts connections, and refuses WebSockets as some proxies do. */

import { connect, createServer } from "node:net";
import { Cutter } from "./cutter.js";

/** Starts a relay to the gateway at `http`. */
export async function startRelay(http, { cutter = new Cutter(), refusesWebSocket = false } = {}) {
  const relay = new Relay(new URL(http), cutter, refusesWebSocket);
  await new Promise((resolve) => relay.server.listen(0, "127.0.0.1", resolve));
  return relay;
}

class Relay {
  sockets = new Set();

  constructor(gateway, cutter, refusesWebSocket) {
    Object.assign(this, { gateway, cutter, refusesWebSocket });
    this.server = createServer((socket) => this.#accept(socket));
  }

  get address() {
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  async stop() {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #accept(socket) {
    const upstream = connect(Number(this.gateway.port), this.gateway.hostname);
    const ends = [socket, upstream];
    let isSilent = false;
    for (const end of ends) {
      this.sockets.add(end);
      end.on("error", () => {});
      end.on("close", () => {
        this.sockets.delete(end);
        // A silent connection stays as it is, for the one that waits at its other end.
        if (!isSilent) for (const other of ends) other.destroy();
      });
    }
    const forward = (from, to) =>
      from.on("data", (chunk) => {
        if (isSilent) return;
        if (this.refusesWebSocket && /\r\nupgrade: websocket\r\n/i.test(chunk.toString("latin1"))) {
          socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
          return;
        }
        const { bytes, cut } = this.cutter.pass(chunk.length);
        if (!to.write(chunk.subarray(0, bytes))) {
          from.pause();
          to.once("drain", () => from.resume());
        }
        if (cut === "silent") isSilent = true;
        if (cut === "reset") for (const end of ends) end.resetAndDestroy();
      });
    forward(socket, upstream);
    forward(upstream, socket);
  }
}
