/**
 * A WebSocket for Node, whose own one came with version 22.
 *
 * It has what a carrier needs of the class of browsers: binary messages, in fragments or not, a close
 * behind everything that was sent, and headers for the request.
 */

import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import type { Socket, SocketOptions } from "./carrier.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** The longest message of a session, with room for the header of PAIR1. */
const MESSAGE_BYTES_MAX = 1024 * 1024;

const Opcode = { CONTINUATION: 0, TEXT: 1, BINARY: 2, CLOSE: 8, PING: 9, PONG: 10 } as const;

/** Node's own class sends no headers, so this one is used even where that is there. */
export function systemSocket(): unknown {
  return NodeSocket;
}

export class NodeSocket implements Socket {
  binaryType = "arraybuffer";
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  onerror: Socket["onerror"] = null;
  #stream: Duplex | undefined;
  #request: { destroy(): void };
  #isOver = false;
  /** Bytes that are no whole frame yet, and the fragments of a message that is not whole. */
  #rest: Buffer = Buffer.alloc(0);
  #fragments: Buffer[] = [];

  constructor(url: string, protocols: string[], options?: SocketOptions) {
    const key = randomBytes(16).toString("base64");
    const target = new URL(url.replace(/^ws/, "http"));
    const request = target.protocol === "https:" ? httpsRequest : httpRequest;
    const headers = {
      ...options?.headers,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": key,
      "sec-websocket-protocol": protocols.join(", "),
    };
    const sent = request(target, { headers });
    this.#request = sent;
    sent.on("response", (response) => {
      response.resume();
      if (response.statusCode === 401) options?.denied?.();
      this.#over(1006, `the upgrade was refused with ${response.statusCode}`);
    });
    sent.on("error", (error) => this.#over(1006, error.message));
    sent.on("upgrade", (response, stream, head) => {
      const accept = createHash("sha1").update(key + GUID).digest("base64");
      const isOurs = response.headers["sec-websocket-accept"] === accept;
      if (!isOurs || !protocols.includes(response.headers["sec-websocket-protocol"] ?? "")) {
        stream.destroy();
        return this.#over(1006, "the upgrade was answered by something else");
      }
      this.#opened(stream, head);
    });
    sent.end();
  }

  #opened(stream: Duplex, head: Buffer): void {
    if (this.#isOver) return void stream.destroy();
    this.#stream = stream;
    if ("setNoDelay" in stream) (stream as import("node:net").Socket).setNoDelay(true);
    stream.on("error", (error) => this.#over(1006, error.message));
    stream.on("close", () => this.#over(1006, "the connection was closed"));
    stream.on("end", () => this.#over(1006, "the connection was closed"));
    stream.on("data", (bytes: Buffer) => this.#came(bytes));
    this.onopen?.(undefined as never);
    this.#came(head);
  }

  send(data: Uint8Array): void {
    this.#write(Opcode.BINARY, data);
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#write(Opcode.CLOSE, new Uint8Array([0x03, 0xe8]));
    if (this.#stream) this.#stream.end();
    else this.#request.destroy();
  }

  #over(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stream?.destroy();
    this.onclose?.({ code, reason });
  }

  /** Writes a frame, masked as those of a client are. */
  #write(opcode: number, data: Uint8Array): void {
    if (!this.#stream?.writable) return;
    const wide = data.length < 126 ? 0 : data.length < 0x10000 ? 2 : 8;
    const frame = Buffer.alloc(2 + wide + 4 + data.length);
    frame[0] = 0x80 | opcode;
    frame[1] = 0x80 | (wide === 0 ? data.length : wide === 2 ? 126 : 127);
    if (wide === 2) frame.writeUInt16BE(data.length, 2);
    if (wide === 8) frame.writeBigUInt64BE(BigInt(data.length), 2);
    const mask = nextMask();
    mask.copy(frame, 2 + wide);
    for (let at = 0, to = 6 + wide; at < data.length; at += 1, to += 1) frame[to] = data[at]! ^ mask[at & 3]!;
    this.#stream.write(frame);
  }

  #came(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    while (!this.#isOver && this.#rest.length >= 2) {
      const first = this.#rest[0]!;
      const short = this.#rest[1]! & 0x7f;
      const start = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (this.#rest.length < start) return;
      const length = short < 126 ? short : short === 126 ? this.#rest.readUInt16BE(2) : Number(this.#rest.readBigUInt64BE(2));
      if (length > MESSAGE_BYTES_MAX) return this.#over(1009, "a frame is longer than any message of a session");
      if (this.#rest.length < start + length) return;
      const content = this.#rest.subarray(start, start + length);
      this.#rest = this.#rest.subarray(start + length);
      this.#frame(first & 0x0f, (first & 0x80) !== 0, content);
    }
  }

  #frame(opcode: number, isLast: boolean, content: Buffer): void {
    if (opcode === Opcode.PING) this.#write(Opcode.PONG, content);
    else if (opcode === Opcode.CLOSE) {
      this.#over(content.length >= 2 ? content.readUInt16BE(0) : 1005, content.subarray(2).toString());
    } else if (opcode === Opcode.TEXT) this.onmessage?.({ data: content.toString() });
    else if (opcode === Opcode.BINARY || opcode === Opcode.CONTINUATION) {
      this.#fragments.push(content);
      if (this.#fragments.reduce((sum, one) => sum + one.length, 0) > MESSAGE_BYTES_MAX) {
        return this.#over(1009, "a message is longer than any of a session");
      }
      if (!isLast) return;
      // A buffer of its own, since what is read next may take the place of these bytes.
      const whole = new Uint8Array(Buffer.concat(this.#fragments.splice(0)));
      this.onmessage?.({ data: whole.buffer });
    }
  }
}

/** Random bytes for masks that nobody can foresee: to draw many at a time costs what drawing four does. */
let masks = Buffer.alloc(0);

function nextMask(): Buffer {
  if (masks.length === 0) masks = randomBytes(4 * 1_024);
  const mask = masks.subarray(0, 4);
  masks = masks.subarray(4);
  return mask;
}

export const sendsHeaders = true;
