// zeromq.js: sockets after its README, which are read by asynchronous iteration and written by
// awaiting each `send`.
import { createInterface } from "node:readline";
import { setImmediate } from "node:timers/promises";
import { Pair, Pull, Push, Reply, Request } from "zeromq";
import { receiveFanOut, sendFanOut } from "./fan_out.mjs";
import { END, inverted, payloads, percentiles, read, Receipts, Sum, write } from "./messages.mjs";
import { address, cell, messages, portOf, role, say, seed, senders, size, waitForGo } from "./orders.mjs";

// The default mark.
const QUEUE_MESSAGES = 1_000;
// Bytes that may wait in a queue. The default of 1,000 messages would hold a gigabyte of them on
// either side where each has a megabyte; the guide says to set the mark for such.
const QUEUE_BYTES = 64 << 20;

const mark = Math.min(Math.floor(QUEUE_BYTES / size), QUEUE_MESSAGES);
const sends = { sendHighWaterMark: mark };
const receives = { receiveHighWaterMark: mark };

function sender() {
  if (cell === "req") return new Request({ ...sends, ...receives });
  return cell === "pair" ? new Pair({ ...sends, ...receives }) : new Push(sends);
}

function receiver() {
  if (cell === "req") return new Reply({ ...sends, ...receives });
  return cell === "pair" ? new Pair({ ...sends, ...receives }) : new Pull(receives);
}

// Sends message n on every socket, then n + 1, and the marks last.
//
// A `send` that has room is done at once, without a turn of the event loop, where the memory of
// messages that have gone is released. So the loop has a turn for each queue of messages.
async function sendInTurn(sockets) {
  const draws = sockets.map((_, at) => payloads(seed, at));
  for (let number = 0; number < messages / senders; number += 1) {
    for (let at = 0; at < sockets.length; at += 1) {
      await sockets[at].send(write(size, at, number, draws[at]()));
    }
    if (number % mark === mark - 1) await setImmediate();
  }
  for (let at = 0; at < sockets.length; at += 1) {
    await sockets[at].send(write(size, at, END, 0));
  }
}

// Receives until the mark of every sender has come.
async function receiveAll(socket) {
  const receipts = new Receipts(size, senders);
  for await (const [message] of socket) {
    receipts.take(message);
    if (receipts.open <= 0) break;
  }
  return receipts.account();
}

// Answers requests until the mark; before that is answered, tells the account.
async function answerAll(socket, tell) {
  const receipts = new Receipts(size, senders);
  for await (const [message] of socket) {
    const stamp = receipts.take(message);
    if (stamp === undefined) throw new Error("a request that nobody sent");
    const isEnd = stamp.number === END;
    if (isEnd) tell(receipts.account());
    await socket.send(write(size, stamp.sender, stamp.number, inverted(stamp.payload)));
    if (isEnd) break;
  }
}

// Asks one request at a time, then sends the mark; returns the account.
async function askAll(socket) {
  const draw = payloads(seed, 0);
  const sum = new Sum();
  const times = [];
  let wrong = 0;
  for (let number = 0; number < messages; number += 1) {
    const payload = draw();
    const begun = performance.now();
    await socket.send(write(size, 0, number, payload));
    const [message] = await socket.receive();
    times.push(performance.now() - begun);
    const reply = read(size, message);
    const fits = reply?.sender === 0 && reply.number === number && reply.payload === inverted(payload);
    if (!fits) wrong += 1;
    sum.add(reply?.payload ?? 0);
  }
  await socket.send(write(size, 0, END, 0));
  await socket.receive();
  return { replies: times.length, wrong, sum, rtt_us: percentiles(times) };
}

async function serve() {
  const socket = receiver();
  await socket.bind(address());
  console.log(`READY ${portOf(socket)}`);
  if (cell === "req") await answerAll(socket, say);
  else say(await receiveAll(socket));
}

// The sockets stay open until the input ends: then the receiver has everything.
async function drive(input) {
  const sockets = Array.from({ length: senders }, sender);
  for (const socket of sockets) socket.connect(address());
  console.log("READY");
  await waitForGo(input);
  if (cell === "req") {
    say(await askAll(sockets[0]));
  } else {
    await sendInTurn(sockets);
    say({ sent: messages });
  }
}

// Both ends in one process, on one thread.
async function play(input) {
  const [here, there] = [receiver(), sender()];
  await here.bind(address());
  there.connect(address());
  console.log("READY");
  await waitForGo(input);
  let received;
  let sent = { sent: messages };
  if (cell === "req") {
    const answered = answerAll(here, (account) => (received = account));
    [sent] = await Promise.all([askAll(there), answered]);
  } else {
    [received] = await Promise.all([receiveAll(here), sendInTurn([there])]);
  }
  say({ ...received, ...sent });
  process.exit(0);
}

const roles = { server: serve, client: drive, inproc: play, sender: sendFanOut, receiver: receiveFanOut };
if (!Object.hasOwn(roles, role)) throw new Error(`no such role: '${role}'`);
const input = createInterface({ input: process.stdin });
// The program ends with its input, whatever it waits for.
input.on("close", () => process.exit(0));
await roles[role](input);
