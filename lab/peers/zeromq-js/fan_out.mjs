// The cells of sp with one sender and several receivers, each a task of its own.
import { setTimeout as sleep } from "node:timers/promises";
import { Publisher, Pull, Push, Subscriber } from "zeromq";
import { END, GREETING, payloads, read, Sum, write } from "./messages.mjs";
import { address, cell, messages, numberOrdered, portOf, say, seed, size, waitForGo } from "./orders.mjs";

// Where a dated message tells when it was due, and the first word that is filled.
const DUE_AT = 16;
const FIRST_FILLED = 6;
// A time may differ so much from that of its number: programs round differently.
const ROUNDING_NS = 1_000n;
// Greetings and marks are sent so often. It is also the shortest sleep of Node.
const EVERY_MS = 1;
// A message that is sent later than this is late.
const LATE_NS = 1_000_000n;
// Bins of the histogram are 1/64 of a doubling wide.
const BIN_BITS = 7;

const isPub = cell.startsWith("pub");
const now = () => process.hrtime.bigint();
const offset = (number, rate) => (BigInt(number) * 1_000_000_000n) / rate;

function writeDated(number, payload, due) {
  const message = write(size, 0, number, payload);
  message.writeBigUInt64LE(due, DUE_AT);
  return message;
}

export async function sendFanOut(input) {
  const rate = BigInt(numberOrdered("RATE"));
  const queue = { sendHighWaterMark: numberOrdered("QUEUE") };
  const socket = isPub ? new Publisher(queue) : new Push(queue);
  await socket.bind(address());
  let hasBegun = false;
  const begun = waitForGo(input).then(() => (hasBegun = true));
  console.log(`READY ${portOf(socket)}`);
  while (!hasBegun) {
    await socket.send(writeDated(GREETING, 0, 0n));
    await Promise.race([begun, sleep(EVERY_MS)]);
  }
  const draw = payloads(seed, 0);
  const start = now();
  let late = 0;
  for (let number = 0; number < messages; number += 1) {
    const due = start + offset(number, rate);
    while (now() < due) await sleep(EVERY_MS);
    if (now() > due + LATE_NS) late += 1;
    await socket.send(writeDated(number, draw(), due));
  }
  say({ sent: messages, late });
  for (;;) {
    await socket.send(writeDated(END, 0, 0n));
    await sleep(EVERY_MS);
  }
}

// What one receiver has seen.
class Intake {
  #rate;
  #start;
  #next = 0;
  #numbers = Buffer.alloc(Math.ceil(messages / 8));
  count = 0;
  sum = new Sum();
  reordered = 0;
  corrupt = 0;
  took = [];

  constructor(rate) {
    this.#rate = rate;
  }

  // Takes a message; false when it is the mark.
  take(message) {
    const came = now();
    const stamp = read(size, message, FIRST_FILLED);
    if (stamp === undefined) {
      this.corrupt += 1;
      return true;
    }
    const { sender, number, payload } = stamp;
    if (number < 0) return number === GREETING;
    const due = message.readBigUInt64LE(DUE_AT);
    const start = due - offset(number, this.#rate);
    this.#start ??= start;
    const off = start - this.#start;
    if (sender !== 0 || number >= messages || off > ROUNDING_NS || off < -ROUNDING_NS) {
      this.corrupt += 1;
      return true;
    }
    this.count += 1;
    this.sum.add(payload);
    if (number < this.#next) this.reordered += 1;
    this.#next = number + 1;
    this.#numbers[number >> 3] |= 1 << (number & 7);
    this.took.push(came > due ? Number(came - due) : 0);
    return true;
  }

  account() {
    const { count, sum, reordered } = this;
    return { count, sum, reordered, numbers: this.#numbers.toString("hex") };
  }
}

export async function receiveFanOut() {
  const rate = BigInt(numberOrdered("RATE"));
  const work = numberOrdered("WORK_US") / 1e3;
  const queue = { receiveHighWaterMark: numberOrdered("QUEUE") };
  const receivers = Array.from({ length: numberOrdered("RECEIVERS") }, () => {
    const socket = isPub ? new Subscriber(queue) : new Pull(queue);
    if (isPub) socket.subscribe();
    socket.connect(address());
    return { socket, intake: new Intake(rate) };
  });
  const follow = async ({ socket, intake }) => {
    for await (const [message] of socket) {
      if (!intake.take(message)) return;
      if (work > 0) await sleep(work);
    }
  };
  const first = async ({ socket, intake }) => {
    const [message] = await socket.receive();
    intake.take(message);
  };
  await Promise.all(receivers.map(first));
  console.log("READY");
  await Promise.all(receivers.map(follow));
  const intakes = receivers.map(({ intake }) => intake);
  const corrupt = intakes.reduce((sum, intake) => sum + intake.corrupt, 0);
  const accounts = intakes.map((intake) => intake.account());
  say({ receivers: accounts, corrupt, latency_us: histogram(intakes) });
}

// The upper end of each bin in microseconds, and how many times lie in it.
function histogram(intakes) {
  const bins = new Map();
  let most = 0;
  for (const took of intakes.flatMap((intake) => intake.took)) {
    const width = 2 ** Math.max(Math.floor(Math.log2(took || 1)) + 1 - BIN_BITS, 0);
    const end = (Math.floor(took / width) + 1) * width;
    bins.set(end, (bins.get(end) ?? 0) + 1);
    most = Math.max(most, took);
  }
  const sorted = [...bins].sort(([one], [other]) => one - other);
  return { bins: sorted.map(([end, count]) => [end / 1e3, count]), max: most / 1e3 };
}
