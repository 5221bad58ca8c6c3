import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findFreePorts } from "#testing/free-port.ts";
import { shortLived } from "#testing/short-lived.ts";

const READY = "Sallyport is ready";
const MOST_MS = 60_000;

/**
 * Starts the house and ends it, once for a folder of compiled code (`NODE_COMPILE_CACHE`). Node keeps of a module what the first process that
 * loads it has called, and nothing that a later one calls: most processes of the tests are houses, and each would compile anew at its start what
 * a test had no need of. Cost: a start, some five seconds of processor; each later one costs a tenth less.
 */
export const keepHouseCompiled = async (root: string, scratch: string): Promise<void> => {
  const folder = process.env["NODE_COMPILE_CACHE"];
  if (folder === undefined) return;
  const marker = join(folder, "house");
  if (existsSync(marker)) return;
  const program = ["--disable-warning=ExperimentalWarning", ...shortLived, join(root, "src/main.ts")];
  const options = ["--port", String(await findFreePorts()), "--data", join(scratch, "first-house")];
  const house = spawn(process.execPath, [...program, ...options], {
    env: { ...process.env, ENVIRONMENT: "test" },
    stdio: ["ignore", "ignore", "pipe"],
    timeout: MOST_MS,
  });
  let said = "";
  house.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (said.includes(READY)) return;
    said += text;
    if (said.includes(READY)) house.kill("SIGTERM");
  });
  // One that does not start is told by the tests.
  const [code] = (await once(house, "exit")) as [number | null];
  if (code === 0) writeFileSync(marker, "");
};
