/** The package as its users get it: its size, its example in an empty project, and its types. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { bundled } from "./support/browser.js";
import { program, startService } from "./support/service.js";

const PACKAGE = fileURLToPath(new URL("../", import.meta.url));
/** What a page loads of the package, whatever it uses. */
const GZIPPED_BYTES_MAX = 24_000;
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

/** Compiles a program of the project under the strict rules. */
function compile(name, source) {
  writeFileSync(join(project, `${name}.ts`), source);
  const types = ["--types", "node", "--typeRoots", join(PACKAGE, "node_modules/@types")];
  const rules = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom,dom.asynciterable,esnext.disposable"];
  try {
    return run(process.execPath, TSC, ...rules, ...types, `${name}.ts`);
  } catch (error) {
    throw new Error(error.stdout);
  }
}

test("a page gets less than 24 kB", async () => {
  const { length } = gzipSync(await bundled(), { level: 9 });
  console.log(`# ${length} bytes gzipped`);
  assert.ok(length < GZIPPED_BYTES_MAX, `${length} bytes gzipped`);
});

test("the example of the page compiles in an empty project, and runs", () => {
  const example = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(PACKAGE, "README.md"), "utf8"))[1];
  compile("example", example);
  const lines = run(process.execPath, "example.js", service.ws).trim().split("\n");
  assert.deepEqual(lines, ["1000 notes", "item 0", "item 1", "item 2", "0: hello"]);
});

test("the printed interfaces compile under the strict rules, with a program that uses them, and hold", () => {
  for (const name of ["ledger", "room", "shop"]) {
    writeFileSync(join(project, `${name}.ts`), run(program("wigwag"), "describe", `${service.tcp}/${name}`, "--ts"));
  }
  compile(
    "typed",
    `
    import { connect, reference, type Reference } from "wigwag";
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
  assert.deepEqual(printed, ["tea 3 true 15", "1 number,text member"]);
  assert.match(readFileSync(join(project, "shop.ts"), "utf8"), /\/\*\* Places an order, and returns its number. \*\//);
});
