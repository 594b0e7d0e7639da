/**
 * The storm: tells, asks, items and callbacks at once, while the connection is cut again and again. It
 * runs in Node and in a browser, and reports what has arrived.
 */

const MASK = 0xffff_ffff_ffff_ffffn;
const PRIME = 0x0100_0000_01b3n;

/** The digest of a ledger's notes. */
export function digestOf(digest, number, text) {
  return ((((digest ^ BigInt(number)) * PRIME) & MASK) + BigInt(text.length)) & MASK;
}

/** How many messages of each kind: 100,000 in all. */
export const STORM = { tells: 60_000, asks: 10_000, items: 20_000, callbacks: 10_000 };

/** Runs it over a node; throws at the first message that is lost, doubled or out of order. */
export async function storm(node, reference, { tells, asks, items, callbacks } = STORM) {
  let resumed = 0;
  node.addEventListener("resumed", () => (resumed += 1));
  const [ledger, ticker, room] = await Promise.all(["ledger", "ticker", "room"].map((name) => node.actor(name)));
  await Promise.all([callsArrive(ledger, tells, asks), itemsArrive(ticker, items), callbacksArrive(room, reference, callbacks)]);
  const [notes] = await ledger.ask.total();
  expect(notes, tells + asks, "notes");
  return { resumed };
}

/** Tells and asks in one order; each answer has the digest of everything in front of it. */
async function callsArrive(ledger, tells, asks) {
  const every = Math.round((tells + asks) / asks);
  const answers = [];
  let digest = 0n;
  for (let number = 0; number < tells + asks; number += 1) {
    const text = "note".repeat(number % 64);
    digest = digestOf(digest, number, text);
    if (number % every !== 0) {
      await ledger.tell.note(number, text);
      continue;
    }
    const expected = digest;
    answers.push(ledger.ask.count(number, text).then((answer) => expect(BigInt(answer), expected, `digest of note ${number}`)));
    if (answers.length >= 256) await answers.shift();
  }
  await Promise.all(answers);
}

async function itemsArrive(ticker, count) {
  let next = 0;
  for await (const item of ticker.with({ window: 4_096 }).stream.numbers(count)) expect(item, next++, "item");
  expect(next, count, "items");
}

async function callbacksArrive(room, reference, count) {
  let next = 0;
  let wrong;
  await new Promise((resolve, reject) => {
    const member = {
      heard(number, text) {
        if (number !== next || text !== `text ${next}`) wrong ??= new Error(`heard ${number} ${text} in place of ${next}`);
        next += 1;
        if (next === count) resolve();
      },
      name: () => "storm",
    };
    (async () => {
      // A bundler may have changed the names of the arguments.
      await room.ask.join(reference(member, { heard: ["number", "text"], name: [] }));
      for (let number = 0; number < count; number += 1) await room.tell.say(`text ${number}`);
    })().catch(reject);
  });
  if (wrong) throw wrong;
}

function expect(found, expected, what) {
  if (found !== expected) throw new Error(`${what}: ${found} in place of ${expected}`);
}
