/**
 * Calls through an answer that has not come: `pipe` (section 9 of the page).
 *
 * The channel to the actor of the answer is attached in front of the ask, so calls over it leave at
 * once, and a chain of them takes one round trip. A node without this gets them when the answer is here.
 */

import * as errors from "../errors.js";
import { Channel } from "../session/channel.js";
import type { Call } from "../session/events.js";
import { type Description, parseDescription } from "../values/description.js";
import type { Wire } from "../values/msgpack.js";
import * as Code from "../wire/code.js";
import { effectiveFrameMax, offers, PIPES } from "../wire/opening.js";
import { type ActorHandle, byName } from "./actor.js";
import { ask } from "./calls.js";
import { RemoteReference } from "./reference.js";
import type { Actor, Piped, Schema } from "./types.js";

/** Channels of a session that wait for answers. */
const WAITING_MAX = 1_024;
/** What stands in front of the arguments of an ask, at most. */
const HEAD_BYTES = 64;

/**
 * Asks `actor`, and calls the actor of the answer before the answer has come.
 *
 * `schema` is that of the answer's actor, as `wigwag describe --ts` prints it:
 * `pipe(bank, AccountSchema).account("ann").ask.pay_in(3)`. If the ask fails, or its answer holds no
 * reference, every call behind it fails with that error.
 */
export function pipe<T, U>(actor: Actor<T>, schema: Schema<U>): Piped<T, U> {
  const from = actor as unknown as ActorHandle<any>;
  return byName((name, values) => piped<U>(from, name, values, schema)) as Piped<T, U>;
}

/** Schemas that were read. */
const READ = new WeakMap<Schema<unknown>, Description>();

function read(schema: Schema<unknown>): Description {
  let description = READ.get(schema);
  if (description === undefined) READ.set(schema, (description = parseDescription(schema.description as Wire)));
  return description;
}

function piped<U>(from: ActorHandle<unknown>, name: string, values: unknown[], schema: Schema<U>): Actor<U> {
  const { host, options } = from;
  const { session } = host;
  const { outbound } = session;
  const method = from.method(name);
  if (method.isStream) throw new errors.NotSerializable({ text: `\`${name}\` answers with a stream` });
  const call = from.encoded(method, values);
  const channel = new Channel(3, new Uint8Array(0));
  channel.schemaHash = schema.hash;
  const peer = session.peer!;
  const { limits } = peer;
  // A long ask may be given up between its parts, when the channel is there already.
  const isEarly = offers(peer, PIPES) && call.arguments.length < effectiveFrameMax(limits) - HEAD_BYTES;

  /** Attaches the channel in front of the ask, which has its slot. False if the ask has to wait. */
  const publishing = ({ asker }: Call): boolean => {
    if (outbound.piped >= WAITING_MAX) return false;
    const target = new DataView(new ArrayBuffer(8));
    target.setUint32(0, asker!.slot, true);
    target.setUint32(4, asker!.generation, true);
    channel.target = new Uint8Array(target.buffer);
    if (!outbound.open(channel)) return false;
    outbound.piped += 1;
    channel.limit = limits.initialUnits;
    if (channel.state === "attaching") channel.state = "attached";
    return true;
  };
  const answered = ask(host, isEarly ? { ...call, publishing } : call, options, (value) => from.read(value, method));
  void answered.then(
    (value) => {
      const found = first(value);
      if (isEarly) found?.release();
      else if (found) attach(found);
      else end(Code.NoSuchActor, "the answer holds no reference");
    },
    ({ number, text, message }: errors.WigwagError) => end(number ?? Code.Cancelled, text || message),
  );
  answered.finally(() => channel.number >= 0 && isEarly && (outbound.piped -= 1)).catch(() => {});

  /** Calls wait until the answer is here, at a node that does not know pipes. */
  function attach(found: RemoteReference): void {
    channel.how = host.howOf(found);
    channel.target = found.bytes.number;
    outbound.attach(channel, schema.hash);
    host.touch();
  }

  /** The ask has failed. Once the node knows of the channel, it ends the channel itself. */
  function end(code: number, text: string): void {
    if (channel.number < 0) outbound.fail(channel, code, text);
    host.touch();
  }

  return host.handle<U>(channel, read(schema));
}

/** The first reference in a value; the others are let go. */
function first(value: unknown): RemoteReference | undefined {
  if (value instanceof RemoteReference) return value;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return undefined;
  const parts: unknown[] = value instanceof Map ? [...value.keys(), ...value.values()] : Object.values(value);
  const [one, ...others] = parts.map(first).filter((found) => found !== undefined);
  for (const other of others) other.release();
  return one;
}
