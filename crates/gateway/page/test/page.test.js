/** The page in a real browser, in front of a running program. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openPage, startBrowser, startProgram } from "./support/program.js";

const TIMEOUT = { timeout: 60_000 };

let browser;

before(async () => {
  browser = await startBrowser();
});

after(() => browser?.close());

/** A program and its page, and at the end nothing that must not have been. */
async function inPage(options, run) {
  const program = await startProgram(options);
  const opened = await openPage(browser, program, options);
  try {
    await run(opened.page, program);
    assert.deepEqual(opened.faults, []);
  } finally {
    await opened.close();
    await program.stop();
  }
}

const live = (page) => page.locator("#state", { hasText: "Live" }).waitFor();
/** The row of a table with this text. */
const row = (page, table, name) => page.locator(`#${table} tbody tr`, { has: page.getByText(name, { exact: true }) });
const drawn = (page, series) => page.locator(`#tile-${series} canvas`).evaluate((canvas) => canvas.toDataURL());
const openPanel = async (page, actor) => {
  await page.getByRole("button", { name: actor, exact: true }).click();
  return page.getByRole("dialog", { name: actor });
};
/** Opens the form of a method. */
const openForm = async (panel, method) => {
  const details = panel.locator("details", { has: panel.page().locator("summary > code", { hasText: new RegExp(`^${method}$`) }) });
  if ((await details.getAttribute("open")) === null) await details.locator("summary").click();
  return details;
};

test("load is seen as rates, stalls and dead letters, and the plots move", TIMEOUT, async () => {
  await inPage({}, async (page, program) => {
    await live(page);
    await page.getByRole("heading", { name: "print shop" }).waitFor();
    for (const series of ["messages", "stalls", "losses"]) await page.locator(`#tile-${series} strong`, { hasText: /^0$/ }).waitFor();
    await row(page, "links", "branch office").getByText("connected").waitFor();
    const before = await Promise.all(["messages", "stalls", "losses"].map((series) => drawn(page, series)));

    assert.equal(await program.ask("foreman", "work", 20_000), 20_000);
    await page.locator("#tile-messages strong", { hasText: /[1-9]/ }).waitFor();
    await row(page, "actors", "office").locator('td[data-label="Handled"]', { hasText: "20,000" }).waitFor();
    await page.getByRole("img", { name: /^Messages a second .* at most [1-9]/ }).waitFor();

    assert.equal(await program.ask("foreman", "lose", 37), 37);
    await page.locator("#tile-losses strong", { hasText: /[1-9]/ }).waitFor();
    await page.locator("#tile-losses .total", { hasText: "37 in all" }).waitFor();
    await page.locator("#losses > div", { hasText: "Refused" }).locator(".value", { hasText: "37" }).waitFor();

    assert.ok((await program.ask("foreman", "stall", 60_000)) > 0);
    await page.locator("#tile-stalls strong", { hasText: /[1-9]|0\.\d/ }).waitFor();
    await page.locator("#tile-stalls .total", { hasText: /[1-9]\d* in all/ }).waitFor();
    await row(page, "links", "branch office").locator('td[data-label="Stalls"]', { hasText: /[1-9]/ }).waitFor();

    assert.ok((await program.ask("foreman", "fill", 60_000)) >= 50);
    const press = row(page, "actors", "press");
    await press.locator(".meter.full").waitFor();
    await press.locator(".figure", { hasText: /^[45]\d \/ 50$/ }).waitFor();

    const now = await Promise.all(["messages", "stalls", "losses"].map((series) => drawn(page, series)));
    now.forEach((picture, at) => assert.notEqual(picture, before[at]));
  });
});

test("actors and links without a row of their own are counted", TIMEOUT, async () => {
  await inPage({}, async (page, program) => {
    const snapshot = await firstSnapshot(program);
    snapshot.actors.push({ ...snapshot.actors[0], actor: "", kind: "" });
    snapshot.sessions.push({ ...snapshot.sessions[0], session: 0, peer: "", name: null, identity: null });
    Object.assign(snapshot, { actors_exported: 3_000, sessions_open: 2_000 });
    const body = `data: ${JSON.stringify(snapshot)}\n\n`;
    await page.route("**/ui/events", (route) => route.fulfill({ contentType: "text/event-stream", body }));
    await page.reload();
    for (const [fact, table, count] of [["Actors", "actors", "3,000"], ["Links", "links", "2,000"]]) {
      await page.locator(".facts > div", { hasText: fact }).locator("dd", { hasText: count }).waitFor();
      await page.locator(`#${table}-title .count`, { hasText: count }).waitFor();
      await page.locator(`#${table} tbody tr`, { hasText: "all others" }).waitFor();
    }
    await page.getByLabel("Search actors and links").fill("foreman");
    await page.locator("#actors-title .count", { hasText: "1 of 3,000" }).waitFor();
  });
});

/** The first snapshot that a page is sent, as the node has it. */
async function firstSnapshot({ address }) {
  const stop = new AbortController();
  const { body } = await fetch(new URL("events", address), { signal: stop.signal });
  let text = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part;
    const data = /^data: (.*)$/m.exec(text);
    if (data !== null && text.includes("\n\n")) {
      stop.abort();
      return JSON.parse(data[1]);
    }
  }
  throw new Error("the events ended without a snapshot");
}

test("forms follow the methods, and show answers and problems", TIMEOUT, async () => {
  await inPage({}, async (page, program) => {
    await live(page);
    const panel = await openPanel(page, "shop");
    await panel.getByText("Takes orders.").waitFor();

    const price = await openForm(panel, "price");
    await price.getByText("An express order costs twice as much.").waitFor();
    await price.getByLabel("copies").fill("many");
    await price.getByRole("button", { name: "Ask" }).click();
    await price.getByText("Expected a whole number").waitFor();
    assert.equal(await price.getByLabel("copies").evaluate((input) => document.activeElement === input), true);
    // Larger than any number that JavaScript has.
    await price.getByLabel("copies").fill("18446744073709551615");
    await price.getByLabel("paper").selectOption("Glossy");
    await price.getByLabel("express").selectOption("true");
    await price.getByLabel("copies").press("Enter");
    await price.locator(".answer pre", { hasText: /^18446744073709551615$/ }).waitFor();
    await price.getByLabel("copies").fill("-1");
    await price.getByRole("button", { name: "Ask" }).click();
    await price.locator(".answer.bad", { hasText: "400 BadArguments" }).waitFor();

    const place = await openForm(panel, "place");
    await place.getByText("A document to print.").waitFor();
    const order = place.getByLabel("order");
    assert.deepEqual(JSON.parse(await order.inputValue()), { title: "", copies: 0, paper: "Plain", note: null });
    await place.getByRole("button", { name: "Ask" }).click();
    await place.locator(".answer.bad pre", { hasText: "NoCopies" }).waitFor();
    await order.fill('{"title": "<b>cards</b>", "copies": 3, "paper": "Glossy"}');
    await place.getByRole("button", { name: "Ask" }).click();
    await place.locator(".answer pre", { hasText: /^1$/ }).waitFor();
    await place.getByRole("button", { name: "Tell" }).click();
    await place.getByText("In the mailbox").waitFor();

    const orders = await openForm(panel, "orders");
    await orders.getByRole("button", { name: "Read" }).click();
    await orders.locator(".answer", { hasText: "All items: 2" }).waitFor();
    await orders.locator("pre", { hasText: "<b>cards</b>" }).waitFor();

    const greet = await openForm(panel, "greet");
    await greet.getByLabel("name").fill('"Eve"');
    await greet.getByRole("button", { name: "Ask" }).click();
    await greet.locator("pre", { hasText: 'Good morning, \\"Eve\\"' }).waitFor();

    // A server that has gone is a problem too.
    await program.kill();
    await greet.getByRole("button", { name: "Ask" }).click();
    await greet.locator(".answer.bad", { hasText: "NoAnswer" }).waitFor();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "hidden" });
    const focused = await page.evaluate(() => document.activeElement.textContent);
    assert.equal(focused, "shop", "the focus is where it was");
  });
});

test("a page that loses the server says so, and goes on when it is back", TIMEOUT, async () => {
  const first = await startProgram();
  const { page, faults, close } = await openPage(browser, first);
  try {
    await live(page);
    await first.ask("foreman", "work", 5_000);
    await row(page, "actors", "office").getByText("5,000", { exact: true }).waitFor();
    await first.kill();
    await page.getByText("Connection lost, trying again.").waitFor();
    await page.locator("#state", { hasText: "Connection lost" }).waitFor();
    assert.match(await page.title(), /not connected/);
    assert.equal(await row(page, "actors", "office").getByText("5,000", { exact: true }).count(), 1, "the last that came is still there");
    const second = await startProgram({ port: first.port });
    try {
      await live(page);
      await row(page, "actors", "office").locator('td[data-label="Handled"]', { hasText: /^0$/ }).waitFor();
      assert.equal(await page.getByText("trying again").count(), 0);
      await page.getByRole("img", { name: /^Messages a second .* at most [1-9]/ }).waitFor();
    } finally {
      await second.stop();
    }
    assert.deepEqual(faults, []);
  } finally {
    await close();
    await first.stop();
  }
});

test("with tokens the page asks for one, and keeps it nowhere but in its memory", TIMEOUT, async () => {
  await inPage({ token: "open sesame" }, async (page) => {
    const token = page.getByLabel("Token");
    await token.waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    await token.fill("wrong");
    await page.getByRole("button", { name: "Enter" }).click();
    await page.getByText("the token is not known").waitFor();
    assert.equal(await page.locator("table").count(), 0);
    await token.fill("open sesame");
    await token.press("Enter");
    await live(page);
    const panel = await openPanel(page, "shop");
    const greet = await openForm(panel, "greet");
    await greet.getByLabel("name").fill("Eve");
    await greet.getByRole("button", { name: "Ask" }).click();
    await greet.getByText("Good morning, Eve").waitFor();
    await panel.getByRole("button", { name: "Close" }).click();
    const kept = await page.evaluate(() => [location.href, document.cookie, localStorage.length, sessionStorage.length, document.body.outerHTML.includes("sesame")]);
    assert.deepEqual(kept.slice(1), ["", 0, 0, false]);
    assert.ok(!kept[0].includes("sesame"));
    await page.getByRole("button", { name: "Forget token" }).click();
    await token.waitFor();
    assert.equal(await page.locator("table").count(), 0, "what another identity saw is gone");
  });
});

test("rows are searched for and sorted, by the keyboard too", TIMEOUT, async () => {
  await inPage({}, async (page, program) => {
    await live(page);
    await program.ask("foreman", "work", 100);
    await row(page, "actors", "office").locator('td[data-label="Handled"]', { hasText: "100" }).waitFor();
    const names = () => page.locator("#actors tbody td.name").allTextContents();
    assert.deepEqual(await names(), ["foreman", "lodgeended", "office", "press", "shop"]);
    const handled = page.getByRole("columnheader", { name: "Handled" });
    await handled.getByRole("button").focus();
    await page.keyboard.press("Enter");
    await page.locator('th[aria-sort="descending"]', { hasText: "Handled" }).waitFor();
    assert.equal((await names())[0], "office");
    await page.keyboard.press("Enter");
    await page.locator('th[aria-sort="ascending"]', { hasText: "Handled" }).waitFor();
    assert.equal((await names()).at(-1), "office");
    await page.getByLabel("Search actors and links").fill("PRE press");
    await page.getByText("1 of 5").waitFor();
    assert.deepEqual(await names(), ["press"]);
    await page.getByText("Nothing has what is searched for.").waitFor();
    await page.getByLabel("Search actors and links").fill("branch");
    await page.getByText("0 of 5").waitFor();
    await row(page, "links", "branch office").waitFor();
  });
});

test("a page that is paused stands still", TIMEOUT, async () => {
  await inPage({}, async (page, program) => {
    await live(page);
    const pause = page.getByRole("button", { name: "Pause" });
    await pause.click();
    await page.locator("#state", { hasText: "Paused" }).waitFor();
    await program.ask("foreman", "work", 700);
    // The panel shows what is now, so the snapshot has come.
    const panel = await openPanel(page, "office");
    await panel.getByText("700", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await row(page, "actors", "office").locator('td[data-label="Handled"]').textContent(), "0");
    await pause.click();
    await row(page, "actors", "office").locator('td[data-label="Handled"]', { hasText: "700" }).waitFor();
  });
});

test("a link that is cut and goes on is seen as a resume", TIMEOUT, async () => {
  const { connect } = await import("../../../../typescript/dist/index.js");
  const { startRelay } = await import("../../../../typescript/test/support/relay.js");
  await inPage({}, async (page, program) => {
    await live(page);
    const relay = await startRelay(program.address);
    const node = await connect(relay.address);
    try {
      const office = await node.actor("office");
      await office.ask.note("before");
      const resumed = new Promise((resolve) => node.addEventListener("resumed", resolve, { once: true }));
      for (const socket of relay.sockets) socket.resetAndDestroy();
      await resumed;
      await office.ask.note("after");
      await page.locator("#tile-resumes .total", { hasText: "1 in all" }).waitFor();
      await page.locator('#links td[data-label="Resumes"]', { hasText: /^1$/ }).waitFor();
      await page.locator('#links td[data-label="Cuts"]', { hasText: /^1$/ }).waitFor();
    } finally {
      await node.close();
      await relay.stop();
    }
  });
});

test("a client that may not observe the node sees the actors that it may call, and no more", TIMEOUT, async () => {
  await inPage({ token: "t" }, async (page) => {
    await page.getByLabel("Token").fill("t-guest");
    await page.keyboard.press("Enter");
    await page.getByText("The gateway refuses, trying again.").waitFor();
    await page.getByText("observable(true)").waitFor();
    await page.getByText("Actors that may be called").waitFor();
    assert.deepEqual(await page.locator(".index button").allTextContents(), ["shop"]);
    assert.ok(!(await page.locator("body").textContent()).includes("print shop"));
    const panel = await openPanel(page, "shop");
    const greet = await openForm(panel, "greet");
    await greet.getByLabel("name").fill("guest");
    await greet.getByRole("button", { name: "Ask" }).click();
    await greet.getByText("Good morning, guest").waitFor();
  });
});
