/** Runs code of the tests in a real browser, in a page that has the package as a bundle. */

import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));

/** What the page has: the package as `wigwag`, and the storm. */
const ENTRY = `
  export * as wigwag from "./dist/index.js";
  export { storm } from "./test/support/storm.js";
`;

/** The pages that a gateway serves. */
export async function pages() {
  const bundle = await build({
    stdin: { contents: ENTRY, resolveDir: PACKAGE },
    bundle: true,
    minify: true,
    format: "iife",
    globalName: "page",
    write: false,
  });
  return {
    "/": '<!doctype html><title>wigwag</title><script src="/page.js"></script>',
    "/page.js": bundle.outputFiles[0].text,
  };
}

/** The system's Chromium. It fails where there is none: a test that is skipped proves nothing. */
export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
}

/** The bytes of the package as a page gets them: bundled and minified. */
export async function bundled() {
  const bundle = await build({
    entryPoints: [`${PACKAGE}dist/index.js`],
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
  });
  return bundle.outputFiles[0].contents;
}
