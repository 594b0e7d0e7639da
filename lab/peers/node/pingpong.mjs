// pingpong with node:net: events of sockets, one thread. The first argument is the role.
import { connect, createServer } from "node:net";
import { createInterface } from "node:readline";

const order = (name) => Number.parseInt(process.env[name], 10);
const fixed = process.env.PAYLOAD === "fixed";
const PING = Buffer.from("Ping");
const PONG = Buffer.from("Pong");

// Calls `onToken` with each four bytes that come, in whatever pieces they come.
function onTokens(socket, onToken) {
  let rest = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (; bytes.length >= 4; bytes = bytes.subarray(4)) onToken(bytes.subarray(0, 4));
    rest = bytes;
  });
}

function reply(request) {
  if (fixed) return PONG;
  const inverted = Buffer.allocUnsafe(4);
  inverted.writeUInt32LE(~request.readUInt32LE() >>> 0);
  return inverted;
}

function* payloads(seed, sender) {
  let x = (seed ^ Math.imul(sender + 1, 2654435761)) >>> 0 || 1;
  for (;;) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    yield x >>> 0;
  }
}

function serve() {
  let [opened, closed, requests] = [0, 0, 0];
  const server = createServer({ noDelay: true }, (socket) => {
    opened += 1;
    onTokens(socket, (request) => {
      requests += 1;
      socket.write(reply(request));
    });
    // A reset ends a connection too; the event `close` follows.
    socket.on("error", () => {});
    socket.on("close", () => {
      closed += 1;
      if (closed >= order("CONNECTIONS") && closed === opened) console.log(JSON.stringify({ requests }));
    });
  });
  process.on("SIGTERM", () => process.exit(0));
  process.stdin.on("end", () => process.exit(0)).resume();
  server.listen(order("PORT"), "127.0.0.1", () => console.log(`READY ${server.address().port}`));
}

// The round trips of one connection: how many replies were wrong.
function converse(socket, sender) {
  return new Promise((resolve, reject) => {
    const messages = order("MESSAGES");
    const tokens = payloads(Number(process.env.SEED), sender);
    let [sent, wrong] = [0, 0];
    let request;
    const ask = () => {
      sent += 1;
      request = PING;
      if (!fixed) {
        request = Buffer.allocUnsafe(4);
        request.writeUInt32LE(tokens.next().value);
      }
      socket.write(request);
    };
    onTokens(socket, (answer) => {
      if (!answer.equals(reply(request))) wrong += 1;
      if (sent < messages) ask();
      else socket.end(() => resolve(wrong));
    });
    socket.on("error", reject);
    socket.on("end", () => sent < messages && reject(new Error("the server has closed")));
    ask();
  });
}

function connected() {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: order("PORT"), host: "127.0.0.1", noDelay: true }, () => resolve(socket));
    socket.on("error", reject);
  });
}

async function go() {
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === "GO") return;
    break;
  }
  throw new Error("no GO");
}

async function ask() {
  const count = order("CONNECTIONS");
  const sockets = await Promise.all(Array.from({ length: count }, connected));
  console.log("READY");
  await go();
  const wrong = await Promise.all(sockets.map(converse));
  const replies = count * order("MESSAGES");
  console.log(JSON.stringify({ replies, wrong: wrong.reduce((sum, one) => sum + one, 0) }));
  process.exit(0);
}

if (process.argv[2] === "server") serve();
else await ask();
