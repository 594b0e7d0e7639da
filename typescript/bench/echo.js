/** A thread with a WebSocket server that echoes binary messages, and tells its port. */

import { parentPort } from "node:worker_threads";
import { WebSocketServer } from "ws";

const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
server.on("listening", () => parentPort.postMessage(server.address().port));
server.on("connection", (socket) => socket.on("message", (message) => socket.send(message)));
