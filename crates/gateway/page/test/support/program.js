/** Starts `crates/gateway/examples/live_page.rs`, and the browser that looks at its page. */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../../../../../", import.meta.url));

/** The target folder, where the build of the workspace has left the program. */
export const TARGET = process.env.CARGO_TARGET_DIR ?? `${ROOT}target`;

/** A running program: the address of its page, and `stop`. */
export async function startProgram({ port = 0, token } = {}) {
  const child = spawn(`${TARGET}/debug/examples/live_page`, [String(port), ...(token ? [token] : [])], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.on("close", resolve));
  const failed = new Promise((_, reject) => {
    child.on("error", reject);
    child.on("close", (code) => reject(new Error(`the program has ended with ${code}`)));
  });
  failed.catch(() => {});
  const line = new Promise((resolve) => createInterface({ input: child.stdout }).once("line", resolve));
  const address = await Promise.race([line, failed]);
  return {
    address,
    port: Number(new URL(address).port),
    /** Asks an actor, beside the page. */
    ask: async (actor, method, ...values) => {
      const response = await fetch(new URL(`../${actor}/ask/${method}`, address), { method: "POST", body: JSON.stringify(values) });
      return response.json();
    },
    stop: () => {
      child.stdin.end();
      return ended;
    },
    /** Ends it without a goodbye. */
    kill: () => {
      child.kill("SIGKILL");
      return ended;
    },
  };
}

/** The system's Chromium. It fails where there is none: a test that is skipped proves nothing. */
export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
}

/**
 * A tab with the page. `faults` are what must not be: requests to elsewhere, errors of scripts, and what
 * the policy of the page has forbidden.
 */
export async function openPage(browser, program, options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const faults = [];
  const { origin } = new URL(program.address);
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) faults.push(`request to ${request.url()}`);
  });
  page.on("pageerror", (error) => faults.push(error.stack));
  page.on("console", (message) => {
    // A request that finds nobody, or is refused, is what some tests are about.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) faults.push(message.text());
  });
  await page.goto(program.address);
  return { page, faults, close: () => context.close() };
}
