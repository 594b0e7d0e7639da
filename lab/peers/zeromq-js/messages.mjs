// The messages of sp of the lab's contract: how they are filled, how they are checked, and what a
// receiver has seen of them.

// Sender, number and payload, which every message has.
const STAMP_BYTES = 16;
// The number of the mark behind a sender's last message: 64 bits, all set, which no number of
// JavaScript can hold. Numbers below 0 are written, and read, as two's complement.
export const END = -1;
// The number of a greeting, which one sender of several peers sends until GO.
export const GREETING = -2;

const word = Buffer.alloc(4);

// A whole message, in memory that is not zeroed first.
export function write(size, sender, number, payload) {
  const message = Buffer.allocUnsafe(size);
  message.writeUInt32LE(sender, 0);
  message.writeUInt32LE(number >>> 0, 4);
  message.writeUInt32LE(number < 0 ? 0xffffffff : Math.floor(number / 2 ** 32), 8);
  message.writeUInt32LE(payload, 12);
  if (size > STAMP_BYTES) {
    word.writeUInt32LE(payload);
    message.fill(word, STAMP_BYTES);
  }
  return message;
}

function numberOf(low, high) {
  const isNegative = high === 0xffffffff && low >= 0xfffffffe;
  return isNegative ? low - 2 ** 32 : high * 2 ** 32 + low;
}

// Sender, number and payload; undefined if the message has another length or another filling, which
// begins at the word `first`.
export function read(size, message, first = STAMP_BYTES / 4) {
  if (message.length !== size) return undefined;
  const low = message.readUInt32LE(4);
  const high = message.readUInt32LE(8);
  const payload = message.readUInt32LE(12);
  const words = Math.floor(size / 4);
  const isFilled = (at) => message.readUInt32LE(at * 4) === payload;
  const isWhole = () => isFilled(first) && isFilled((words + first) >> 1) && isFilled(words - 1);
  if (words > first && !isWhole()) return undefined;
  return { sender: message.readUInt32LE(0), number: numberOf(low, high), payload };
}

export const inverted = (payload) => ~payload >>> 0;

// The payloads of a sender, without an end: xorshift32. Returns a function that draws the next one.
export function payloads(seed, sender) {
  let x = (seed ^ Math.imul(sender + 1, 2654435761)) >>> 0 || 1;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return x >>> 0;
  };
}

// A sum that exceeds 2^53.
export class Sum {
  #whole = 0n;
  #part = 0;

  add(payload) {
    this.#part += payload;
    if (this.#part > 2 ** 52) {
      this.#whole += BigInt(this.#part);
      this.#part = 0;
    }
  }

  toJSON() {
    return String(this.#whole + BigInt(this.#part));
  }
}

// What a receiver has seen of all senders.
export class Receipts {
  #size;
  #next;

  constructor(size, senders) {
    this.#size = size;
    this.#next = Array(senders).fill(0);
    // Marks that are still to come.
    this.open = senders;
    this.senders = this.#next.map(() => ({ count: 0, sum: new Sum(), reordered: 0 }));
    this.corrupt = 0;
  }

  // Takes a message: its stamp, or undefined if it is corrupt.
  take(message) {
    const stamp = read(this.#size, message);
    if (stamp === undefined || stamp.sender >= this.senders.length) {
      this.corrupt += 1;
      return undefined;
    }
    if (stamp.number === END) {
      this.open -= 1;
      return stamp;
    }
    const seen = this.senders[stamp.sender];
    seen.count += 1;
    seen.sum.add(stamp.payload);
    if (stamp.number !== this.#next[stamp.sender]) seen.reordered += 1;
    this.#next[stamp.sender] = stamp.number + 1;
    return stamp;
  }

  account() {
    return { senders: this.senders, corrupt: this.corrupt };
  }
}

// The round trips of an account in microseconds, from times in milliseconds.
export function percentiles(times) {
  const sorted = Float64Array.from(times).sort();
  const at = (share) => sorted[Math.min(Math.floor(share * sorted.length), sorted.length - 1)] * 1e3;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}
