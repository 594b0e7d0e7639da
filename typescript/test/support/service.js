/** Starts the service of `crates/gateway/examples/typescript_service`, and stops it. */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** The repository's root. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

const TARGET = process.env.CARGO_TARGET_DIR ?? `${ROOT}target`;

/** The program of this repository at `path` below the folder of a profile. */
export function program(path, profile = "debug") {
  return `${TARGET}/${profile}/${path}`;
}

/** A running service: the addresses of the node and of its gateway, and `stop`. */
export async function startService({ heartbeat = 1_000, key, profile } = {}) {
  const child = spawn(program("examples/typescript_service", profile), [String(heartbeat), ...(key ? [key] : [])], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.on("close", resolve));
  const failed = new Promise((_, reject) => {
    child.on("error", reject);
    child.on("close", (code) => reject(new Error(`the service has ended with ${code}`)));
  });
  failed.catch(() => {});
  const addresses = [];
  const lines = (async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      addresses.push(line);
      if (addresses.length === 3) return;
    }
  })();
  await Promise.race([lines, failed]);
  const [ws, tcp, http] = addresses;
  return {
    ws,
    tcp,
    http,
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
