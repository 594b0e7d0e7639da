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

/** A script for a page, which has what `entry` exports as `page`. */
export async function bundle(entry) {
  const result = await build({
    stdin: { contents: entry, resolveDir: PACKAGE },
    bundle: true,
    minify: true,
    format: "iife",
    globalName: "page",
    write: false,
  });
  return result.outputFiles[0].text;
}

/** The pages that a gateway serves. */
export async function pages() {
  return {
    "/": '<!doctype html><title>wigwag</title><script src="/page.js"></script>',
    "/page.js": await bundle(ENTRY),
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
 * What a page loads that imports `what` of the package, minified: with its first script, and later, when
 * it needs that.
 */
export async function loaded(what) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export ${what} from "./dist/index.js"`, resolveDir: PACKAGE },
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    outdir: "out",
    metafile: true,
    write: false,
  });
  const outputs = Object.entries(metafile.outputs);
  const first = new Set(outputs.filter(([, { entryPoint }]) => entryPoint === "<stdin>").map(([name]) => name));
  // A set that grows while it is gone through: what a first script imports is loaded with it.
  for (const name of first) {
    for (const { path, kind } of metafile.outputs[name].imports) if (kind === "import-statement") first.add(path);
  }
  const parts = outputs.map(([name], at) => ({ isFirst: first.has(name), bytes: outputFiles[at].contents }));
  return { first: parts.filter((part) => part.isFirst), later: parts.filter((part) => !part.isFirst) };
}
