/**
 * Bundles the page into `bundle`, which is committed, so that a build of the gateway needs no npm. With
 * `--check` it only compares: a bundle that differs from its sources is a failure.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
/** What is in the bundle; its licences ask that their text goes with it. */
const PARTS = ["preact", "uplot"];
const licences = PARTS.map((name) => `${name}\n\n${readFileSync(`${FOLDER}node_modules/${name}/LICENSE`, "utf8").trim()}`);
const isCheck = process.argv.includes("--check");

const { outputFiles } = await build({
  absWorkingDir: FOLDER,
  entryPoints: { page: "src/main.tsx" },
  bundle: true,
  minify: true,
  target: "es2022",
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  banner: { js: `/*\n${licences.join("\n\n")}\n*/` },
  outdir: `${FOLDER}bundle`,
  write: false,
});

mkdirSync(`${FOLDER}bundle`, { recursive: true });
for (const { path, contents } of outputFiles) {
  if (!isCheck) {
    writeFileSync(path, contents);
    continue;
  }
  const committed = readFileSync(path);
  if (!committed.equals(contents)) {
    console.error(`bundle/${basename(path)} is not what the sources make: run \`npm run build\`, and commit it`);
    process.exitCode = 1;
  }
}
