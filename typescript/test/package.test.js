/** The package as its users get it: its size, its example in an empty project, and its types. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { loaded } from "./support/browser.js";
import { program, startService } from "./support/service.js";

const PACKAGE = fileURLToPath(new URL("../", import.meta.url));
/** What a page loads that asks, tells and streams, and one that uses everything. */
const CALLER_BYTES_MAX = 20_000;
const ALL_BYTES_MAX = 26_000;
const TSC = join(PACKAGE, "node_modules/typescript/bin/tsc");

let service;
let project;

const run = (command, ...all) => execFileSync(command, all, { cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], timeout: 60_000 });

/** An empty project into which the package was installed as users install it. */
before(async () => {
  service = await startService();
  project = mkdtempSync(join(tmpdir(), "wigwag-package-"));
  const [packed] = JSON.parse(run("npm", "pack", PACKAGE, "--json", "--ignore-scripts"));
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "empty", private: true, type: "module" }));
  run("npm", "install", "--offline", "--no-audit", "--no-fund", join(project, packed.filename));
});

after(async () => {
  if (project) rmSync(project, { recursive: true });
  await service?.stop();
});

const TYPES_OF_NODE = ["--types", "node", "--typeRoots", join(PACKAGE, "node_modules/@types")];

/** Compiles a program of the project under the strict rules. */
function compile(name, source, types = TYPES_OF_NODE) {
  writeFileSync(join(project, `${name}.ts`), source);
  const rules = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom,dom.asynciterable,esnext.disposable"];
  try {
    return run(process.execPath, TSC, ...rules, ...types, `${name}.ts`);
  } catch (error) {
    throw new Error(error.stdout);
  }
}

/** The bytes of scripts as a server sends them. */
const gzipped = (parts) => parts.reduce((sum, { bytes }) => sum + gzipSync(bytes, { level: 9 }).length, 0);

test("a page that asks, tells and streams loads less than 20 kB, and one that uses everything less than 26 kB", async () => {
  const caller = await loaded("{ connect }");
  const all = await loaded("*");
  const [first, ofAll, later] = [caller.first, all.first, all.later].map(gzipped);
  console.log(`# gzipped: ${first} bytes, everything ${ofAll}, and ${later} for long poll where it is needed`);
  assert.ok(first < CALLER_BYTES_MAX, `${first} bytes gzipped`);
  assert.ok(ofAll + later < ALL_BYTES_MAX, `${ofAll + later} bytes gzipped`);
  assert.deepEqual([caller.later.length, all.later.length], [1, 1], "only long poll is loaded later");
});

test("a bundle has no code for what its program does not use", async () => {
  const text = async (what) => (await loaded(what)).first.map(({ bytes }) => Buffer.from(bytes)).join("");
  for (const [name, mark] of [["items", "streams are being sent"], ["reference", "references are lent"], ["SharedKey", "wigwag shared key"], ["pipe", "the answer holds no reference"]]) {
    assert.ok((await text(`{ connect, ${name} }`)).includes(mark), name);
    assert.ok(!(await text("{ connect }")).includes(mark), name);
  }
});

test("the declarations compile in a project for browsers, which has none of Node", () => {
  compile("page", 'import { connect, Timeout } from "wigwag"; export const node = await connect("/"); new Timeout().code;', []);
});

/** Writes the interface of an actor into the project, as the command prints it. */
function describe(name) {
  writeFileSync(join(project, `${name}.ts`), run(program("wigwag"), "describe", `${service.tcp}/${name}`, "--ts"));
}

test("the examples of the page compile in an empty project, and run", () => {
  describe("account");
  const examples = readFileSync(join(PACKAGE, "README.md"), "utf8").matchAll(/```ts\n([\s\S]*?)```/g);
  const printed = Array.from(examples, ([, example], at) => {
    compile(`example${at}`, example);
    return run(process.execPath, `example${at}.js`, service.ws).trim().split("\n");
  });
  assert.deepEqual(printed, [["1000 notes", "item 0", "item 1", "item 2", "0: hello"], ["3"]]);
});

test("the printed interfaces compile under the strict rules, with a program that uses them, and hold", () => {
  for (const name of ["account", "bank", "ledger", "room", "shop"]) describe(name);
  compile(
    "typed",
    `
    import { connect, items, pipe, reference, type Reference } from "wigwag";
    import { AccountSchema } from "./account.js";
    import { type Bank, BankSchema } from "./bank.js";
    import { Ledger } from "./ledger.js";
    import { Room } from "./room.js";
    import type { Order, Refusal, Shop, State } from "./shop.js";

    const node = await connect(process.argv[2]!);
    const shop = await node.actor<Shop>("shop");
    const order: Order = { thing: "tea", count: 3, price: 5n };
    const placed: { ok: number } | { err: Refusal } = await shop.ask.place(order);
    if (!("ok" in placed)) throw new Error("refused");
    const state: State = { Sent: { day: 1, by: "bike" } };
    const isSet: boolean = await shop.ask.set(placed.ok, state);
    const sums: Record<string, number | bigint> = await shop.ask.sums();
    for await (const one of shop.stream.orders()) console.log(one.thing, one.count, isSet, sums["tea"]);
    const room = await node.actor<Room>("room");
    await room.ask.leave_all();
    await room.ask.join(reference(() => "me"));
    const members: Reference[] = await room.ask.members();
    console.log(members.length, Ledger.note.join(), Room.join.join());
    await shop.tell.set(1, "Open");
    const count: number = await shop.ask.place_all(items([order, order]));
    const bank = await node.actor<Bank>("bank");
    const account = pipe(pipe(bank, BankSchema).branch(1), AccountSchema).account("ann");
    const balance: number | bigint = await account.ask.pay_in(5);
    console.log(count, balance, await account.ask.owner());
    // @ts-expect-error items of another type
    await shop.ask.place_all(items([1])).catch(() => {});
    // @ts-expect-error a method that the actor of the answer does not have
    account.ask.branch;
    // @ts-expect-error an object is no reference
    await room.ask.join({}).catch(() => {});
    // @ts-expect-error a method that is not there
    shop.ask.nothing;
    // @ts-expect-error a stream is no single value
    shop.ask.orders;
    // @ts-expect-error a field is missing
    await shop.ask.place({ thing: "tea" }).catch(() => {});
    // @ts-expect-error a variant that is not there
    const none: State = "Gone";
    void none;
    await node.close();
    `,
  );
  const printed = run(process.execPath, "typed.js", service.ws).trim().split("\n");
  assert.deepEqual(printed, ["tea 3 true 15", "1 number,text member", "2 5 ann"]);
  assert.match(readFileSync(join(project, "shop.ts"), "utf8"), /\/\*\* Places an order, and returns its number. \*\//);
});
