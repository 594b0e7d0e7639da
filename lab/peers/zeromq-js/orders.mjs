// Orders of the lab, from the environment, and what the life of a program needs.
import { once } from "node:events";

export function order(name) {
  const text = process.env[name];
  if (text === undefined) throw new Error(`no order ${name}`);
  return text;
}

export function numberOrdered(name) {
  const text = order(name);
  if (!/^\d+$/.test(text)) throw new Error(`${name} is '${text}', not a number`);
  return Number(text);
}

export const role = process.argv[2] ?? "";
export const cell = order("CELL");
export const size = numberOrdered("SIZE");
export const senders = numberOrdered("SENDERS");
export const messages = numberOrdered("MESSAGES");
// The lab gives the seed to the program that sends, and to no other.
export const seed = role === "server" || role === "receiver" ? 0 : numberOrdered("SEED");

export function address() {
  switch (order("TRANSPORT")) {
    case "inproc":
      return "inproc://lab";
    case "ipc":
      return `ipc://${order("SOCKET")}`;
    default:
      return `tcp://127.0.0.1:${numberOrdered("PORT")}`;
  }
}

// The port of a socket that listens, or 0 where it has none.
export function portOf(socket) {
  return order("TRANSPORT") === "tcp" ? Number(socket.lastEndpoint.split(":").at(-1)) : 0;
}

export async function waitForGo(input) {
  const [line] = await once(input, "line");
  if (line !== "GO") throw new Error(`no GO but '${line}'`);
}

export function say(account) {
  console.log(JSON.stringify(account));
}
