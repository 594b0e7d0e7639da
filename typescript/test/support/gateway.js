/**
 * A gateway in front of a node, as the tests need one: pages, WebSockets at `/session`, and the carrier
 * over POST with long poll. It refuses, breaks and cuts connections as it is told.
 */

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { connect } from "node:net";
import { Cutter } from "./cutter.js";

const BODY_BYTES_MAX = 256 * 1024;
const GET_MS = 20_000;

/**
 * `webSocket` is what becomes of an upgrade: `"pass"`, `"refuse"`, or `"swallow"` for a proxy that
 * accepts it and passes nothing on. `pages` are texts by their path.
 */
export async function startGateway(service, { webSocket = "pass", longPoll = "pass", cutter = new Cutter(), pages = {} } = {}) {
  const gateway = new Gateway(service, { webSocket, longPoll, cutter, pages });
  await new Promise((resolve) => gateway.server.listen(0, "127.0.0.1", resolve));
  return gateway;
}

class Gateway {
  carriers = new Map();
  sockets = new Set();
  upgrades = 0;
  polls = 0;
  tokens = new Set();

  constructor(service, options) {
    Object.assign(this, { service, ...options });
    this.server = createServer((request, response) => this.#request(request, response));
    this.server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
    this.server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
      socket.on("error", () => {});
    });
  }

  get address() {
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  /** Resolves when the next WebSocket has ended. */
  nextClose() {
    return new Promise((resolve) => (this.closed = resolve));
  }

  /** Cuts everything that is open. */
  cutAll() {
    for (const carrier of this.carriers.values()) carrier.close();
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  async stop() {
    for (const carrier of this.carriers.values()) carrier.close();
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** A WebSocket: bytes between the client and the node, from the request on. */
  #upgrade(request, socket, head) {
    this.upgrades += 1;
    if (this.webSocket === "refuse") {
      socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    const node = new URL(this.service.ws);
    const upstream = connect(Number(node.port), node.hostname);
    const lines = request.rawHeaders.map((text, at) => (at % 2 ? `${text}\r\n` : `${text}: `));
    upstream.write(`GET ${node.pathname} HTTP/1.1\r\n${lines.join("")}\r\n`);
    upstream.write(head);
    let isSilent = false;
    const close = () => (socket.destroy(), upstream.destroy(), this.closed?.());
    const forward = (from, to, isAnswer) =>
      from.on("data", (chunk) => {
        if (isSilent) return;
        const { bytes, cut } = this.cutter.pass(chunk.length);
        to.write(chunk.subarray(0, bytes));
        if (cut === "silent") isSilent = true;
        if (cut === "reset") (socket.resetAndDestroy(), upstream.resetAndDestroy());
        // The proxy has passed the answer to the upgrade on, and nothing behind it.
        if (isAnswer && this.webSocket === "swallow") isSilent = true;
      });
    forward(socket, upstream, false);
    forward(upstream, socket, true);
    for (const one of [socket, upstream]) {
      one.on("error", () => {});
      one.on("close", close);
    }
  }

  async #request(request, response) {
    const url = new URL(request.url, this.address);
    const page = this.pages[url.pathname];
    if (page !== undefined) {
      response.writeHead(200, { "content-type": url.pathname.endsWith(".js") ? "text/javascript" : "text/html" });
      return response.end(page);
    }
    const [, name, id] = url.pathname.split("/");
    if (name !== "session" || this.longPoll === "refuse") return response.writeHead(404).end();
    this.polls += 1;
    this.tokens.add(request.headers.authorization);
    if (id === undefined) return this.#create(response);
    const carrier = this.carriers.get(id);
    if (carrier === undefined || carrier.isClosed) return response.writeHead(410).end();
    if (request.method === "DELETE") return (carrier.close(), response.writeHead(204).end());
    const at = Number(url.searchParams.get("at"));
    if (request.method === "POST") return this.#post(carrier, at, request, response);
    return this.#get(carrier, at, response);
  }

  async #create(response) {
    const id = randomUUID();
    const carrier = new Carrier(new URL(this.service.tcp));
    this.carriers.set(id, carrier);
    carrier.upstream.on("close", () => this.carriers.delete(id));
    response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify({ id }));
  }

  /** The client's next bytes. A cut loses the end of the body, or the answer. */
  async #post(carrier, at, request, response) {
    const body = await wholeBody(request);
    if (body === undefined) return carrier.close();
    if (at !== carrier.received || body.length > BODY_BYTES_MAX || carrier.isPosting) {
      carrier.close();
      return response.writeHead(409).end();
    }
    const { bytes, cut } = this.cutter.pass(body.length);
    carrier.received += bytes;
    carrier.isPosting = true;
    await carrier.write(body.subarray(0, bytes));
    carrier.isPosting = false;
    if (cut === "silent") carrier.isSilent = true;
    if (cut === "reset") (carrier.close(), response.destroy());
    if (!carrier.isSilent && !response.destroyed) response.writeHead(204).end();
  }

  /** The node's next bytes, as soon as there are any. */
  async #get(carrier, at, response) {
    if (at !== carrier.sent || carrier.isGetting) {
      carrier.close();
      return response.writeHead(409).end();
    }
    carrier.isGetting = true;
    const body = await carrier.read();
    carrier.isGetting = false;
    if (carrier.isSilent || response.destroyed) return;
    if (carrier.isClosed) return response.writeHead(410).end();
    if (body.length === 0) return response.writeHead(204).end();
    carrier.sent += body.length;
    const { bytes, cut } = this.cutter.pass(body.length);
    response.writeHead(200, { "content-length": body.length, "content-type": "application/octet-stream" });
    response.write(body.subarray(0, bytes));
    if (cut === "silent") carrier.isSilent = true;
    else if (cut === "reset") response.destroy();
    if (cut === "reset") carrier.close();
    if (cut === undefined) response.end();
  }
}

/** The body of a request, or `undefined` if the client has gone away in the middle of it. */
async function wholeBody(request) {
  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch (error) {
    if (error.code !== "ECONNRESET") throw error;
    return undefined;
  }
  return Buffer.concat(chunks);
}

/** One connection to the node, and what has come over it. */
class Carrier {
  received = 0;
  sent = 0;
  isSilent = false;
  isClosed = false;
  #waiting = Buffer.alloc(0);
  #came = () => {};

  constructor(node) {
    this.upstream = connect(Number(node.port), node.hostname);
    this.upstream.on("data", (chunk) => {
      this.#waiting = Buffer.concat([this.#waiting, chunk]);
      this.#came();
    });
    this.upstream.on("error", () => {});
    this.upstream.on("close", () => this.close());
  }

  close() {
    this.isClosed = true;
    this.upstream.destroy();
    this.#came();
  }

  write(bytes) {
    if (this.isClosed || this.isSilent) return undefined;
    return new Promise((resolve) => this.upstream.write(bytes, resolve));
  }

  async read() {
    if (this.#waiting.length === 0 && !this.isClosed) {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, GET_MS);
        this.#came = () => (clearTimeout(timer), resolve());
      });
      this.#came = () => {};
    }
    const body = this.#waiting.subarray(0, BODY_BYTES_MAX);
    this.#waiting = this.#waiting.subarray(body.length);
    return body;
  }
}
