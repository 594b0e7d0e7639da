/**
 * How the page looks: on a phone and on a desk, light and dark. Nothing is wider than the window, the scheme
 * is the one that was asked for, and axe finds no fault of accessibility, contrast included. The pictures
 * are in `target/tmp/page`, to look at.
 */

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, before, test } from "node:test";
import axe from "axe-core";
import { TARGET, openPage, startBrowser, startProgram } from "./support/program.js";

const FOLDER = `${TARGET}/tmp/page`;
const SIZES = [{ width: 390, height: 844 }, { width: 1280, height: 900 }];
/** Seconds of load before the pictures, so that the plots have something to show. */
const SECONDS = 12;

let browser;
let program;

before(async () => {
  mkdirSync(FOLDER, { recursive: true });
  [browser, program] = await Promise.all([startBrowser(), startProgram()]);
});

after(async () => {
  await browser?.close();
  await program?.stop();
});

/** Changing load until it is ended. */
async function load(signal, onSecond) {
  await program.ask("foreman", "fill", 60_000);
  for (let second = 0; !signal.aborted; second += 1) {
    onSecond(second);
    const next = new Promise((resolve) => setTimeout(resolve, 1_000));
    await program.ask("foreman", "work", Math.round(6_000 + 4_000 * Math.sin(second)));
    if (second % 4 === 2) await program.ask("foreman", "lose", 3 + second);
    if (second % 5 === 3) await program.ask("foreman", "stall", 50);
    await next;
  }
}

/** What is wider than the window. */
const tooWide = (page) =>
  page.evaluate(() => {
    const isWide = (element) => element.getBoundingClientRect().right > innerWidth + 0.5 && element.closest(".scroll, .u-wrap, .skip") === null;
    return [...document.querySelectorAll("body *")].filter(isWide).map((element) => element.outerHTML.slice(0, 100));
  });

/** The faults that axe finds. Its script must not be bound by the policy of the page. */
async function faultsOf(page) {
  const found = await page.evaluate(`${axe.source}; axe.run({ resultTypes: ["violations"] })`);
  return found.violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`);
}

test("on a phone and on a desk, light and dark", { timeout: 120_000 }, async () => {
  const looks = SIZES.flatMap((viewport) => ["light", "dark"].map((colorScheme) => ({ viewport, colorScheme })));
  const pages = [];
  for (const look of looks) pages.push(await openPage(browser, program, { ...look, reducedMotion: "reduce", bypassCSP: true }));
  const end = new AbortController();
  let loading;
  try {
    await new Promise((resolve, reject) => {
      loading = load(end.signal, (second) => second === SECONDS && resolve());
      loading.catch(reject);
    });
    for (const [at, { page, faults }] of pages.entries()) {
      const { viewport: { width }, colorScheme } = looks[at];
      const name = `${width}-${colorScheme}`;
      const shot = (view) => page.screenshot({ path: `${FOLDER}/${name}${view}.png`, fullPage: view === "" });
      await page.bringToFront();
      await page.locator("#links tbody tr").first().waitFor();
      const [red] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
      assert.equal(red < 128, colorScheme === "dark", name);
      await shot("");
      assert.deepEqual([await tooWide(page), await faultsOf(page)], [[], []], name);

      await page.getByRole("button", { name: "shop", exact: true }).click();
      const panel = page.getByRole("dialog");
      await panel.locator("summary", { hasText: "price" }).click();
      await panel.getByLabel("copies").fill("250");
      await panel.getByRole("button", { name: "Ask" }).click();
      await panel.locator(".answer pre").waitFor();
      await shot("-panel");
      assert.deepEqual([await tooWide(page), await faultsOf(page)], [[], []], `${name}, panel`);
      assert.deepEqual(faults, [], name);
    }
  } finally {
    end.abort();
    await loading;
    for (const { close } of pages) await close();
  }
});

test("where there is nothing, the page says so", { timeout: 60_000 }, async () => {
  const own = await startProgram({ token: "t" });
  const { page, close } = await openPage(browser, own, { viewport: SIZES[0], bypassCSP: true });
  try {
    await page.getByLabel("Token").waitFor();
    await page.screenshot({ path: `${FOLDER}/390-light-token.png` });
    assert.deepEqual([await tooWide(page), await faultsOf(page)], [[], []]);
    await page.getByLabel("Token").fill("t");
    await page.keyboard.press("Enter");
    await page.getByLabel("Search actors and links").fill("nobody");
    assert.equal(await page.getByText("Nothing has what is searched for.").count(), 2);
    await own.kill();
    await page.getByText("Connection lost, trying again.").waitFor();
    await page.screenshot({ path: `${FOLDER}/390-light-lost.png`, fullPage: true });
    assert.deepEqual([await tooWide(page), await faultsOf(page)], [[], []]);
  } finally {
    await close();
    await own.stop();
  }
});
