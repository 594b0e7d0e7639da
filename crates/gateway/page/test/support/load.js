/** Modules of the page, for tests without a browser. */

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** The module at `path` below `src`. */
export async function load(path) {
  const entry = fileURLToPath(new URL(`../../src/${path}`, import.meta.url));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: "esm", write: false });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
