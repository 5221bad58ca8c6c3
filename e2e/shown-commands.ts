import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";

const root = join(import.meta.dirname, "..");
const inspector = createRequire(import.meta.url)
  .resolve("@modelcontextprotocol/inspector/package.json")
  .replace(/package\.json$/, "clients/launcher/build/index.js");
const node = `"${process.execPath}" --disable-warning=ExperimentalWarning`;

/** `npm run` and `npx` of a reader, for this instance: its port and data folder are not the usual ones. */
const stand = {
  npm: `#!/bin/sh
shift; [ "$1" = --silent ] && shift; name=$1; shift; [ "$1" = -- ] && shift
case $name in token) set -- "$@" --port $PORT --data $DATA;; config) set -- "$@" --port $PORT;; doctor) set -- "$@" --port $FREE --data doctor;; graph) set -- "$@" --data $DATA;; esac
exec ${node} "${root}/scripts/$name.ts" "$@"
`,
  npx: `#!/bin/sh\nshift\nexec ${node} "${inspector}" "$@"\n`,
};

/** Starts and installations are the test's own. */
const START = /^.*(?:\bnpm (?:start|test|ci)\b|npm run (?:admin|build:web)\b|node src\/main\.ts|scripts\/run\.mjs).*\n/gm;

/** Blocks of a language on a page, as they are shown, without the lines that start Sallyport. */
export const shownBlocks = async (page: string, language = "sh"): Promise<readonly string[]> => {
  const text = await readFile(join(root, page), "utf8");
  const blocks = [...text.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([^]*?)^ *\`\`\``, "gm"))];
  return blocks.map(([, indent = "", block = ""]) => block.replaceAll(new RegExp(`^${indent}`, "gm"), "").replaceAll(START, ""));
};

/**
 * Runs blocks one after the other in one shell, as a reader does, against an instance on `port`. The first failure ends it. `as`:
 * cookies by the name in "# Ada's cookie". Resolves to all that was printed.
 */
export const runShown = async (
  t: TestContext,
  blocks: readonly string[],
  at: {
    readonly port: number;
    readonly data: string;
    readonly as?: Readonly<Record<string, string>>;
    readonly environment?: Readonly<Record<string, string>>;
  },
): Promise<string> => {
  assert.ok(blocks.length > 0, "a page without commands");
  const folder = await mkdtemp(join(tmpdir(), "sallyport-shown-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  // As in the folder of Sallyport; the configuration is a copy, because commands change one.
  await cp(join(root, "config"), join(folder, "config"), { recursive: true });
  await symlink(join(root, "src"), join(folder, "src"));
  for (const [name, text] of Object.entries(stand)) {
    await writeFile(join(folder, name), text);
    await chmod(join(folder, name), 0o755);
  }
  const script = blocks
    .join("\n")
    .replaceAll(/localhost:80(8[0-5])\b/g, (_all, last: string) => `localhost:${at.port + Number(last) - 80}`)
    .replaceAll(/^as '.*' # (\w+)'s cookie$/gm, (_all, name: string) => `as '${at.as?.[name] ?? ""}'`);
  const child = spawn("bash", ["-euo", "pipefail", "-c", script], {
    cwd: folder,
    env: {
      ...process.env,
      NODE_TEST_CONTEXT: undefined,
      PATH: `${folder}${delimiter}${process.env["PATH"]}`,
      SALLYPORT_INVOKED_FROM: folder,
      PORT: String(at.port),
      DATA: at.data,
      FREE: String(await findFreePorts()),
      ...at.environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = (await once(child, "close")) as [number | null];
  assert.equal(code, 0, `${script}\n${output}`);
  return output;
};
