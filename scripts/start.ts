// `npm start`: a development instance, for which the web client is built if it changed.
import type { CommandLine } from "#app/model/command-line.ts";
import { hideEnvironment } from "#app/hide-environment.ts";

hideEnvironment();
const { isAlive } = await import("#store/is-alive.ts");
const { parseCommandLine } = await import("#app/model/command-line.ts");
const { runInstance } = await import("#app/run-instance.ts");
const { npmStartEnvironment } = await import("#app/model/settings.ts");
const { buildWebIfNeeded } = await import("./build-web.ts");

const POLL_MS = 500;
const starter = Number(process.env["SALLYPORT_STARTED_BY"] ?? process.ppid);
// When the process that started this one (`run.mjs`) is gone, nobody could end it any more. A start that ends by itself is not held.
const watch = setInterval(() => {
  if (process.ppid === starter && isAlive(starter)) return;
  clearInterval(watch);
  process.kill(process.pid, "SIGTERM");
}, POLL_MS).unref();

/** Undefined where it asks for help, or for something that it does not know. */
const readStart = (): CommandLine | undefined => {
  try {
    const read = parseCommandLine(process.argv.slice(2));
    return read.help ? undefined : read;
  } catch {
    return undefined;
  }
};

const toStart = readStart();
if (toStart !== undefined) {
  if (!process.env["ENVIRONMENT"]) {
    const what = toStart.demo && !process.env["OIDC_ISSUER"] ? "demo sign-ins and insecure defaults" : "insecure defaults";
    process.stderr.write(`ENVIRONMENT is unset: running as dev, with ${what} that production refuses.\n`);
  }
  // A newcomer reads what Sallyport says at start; each request's line is a choice (LOG_LEVEL=info).
  Object.assign(process.env, npmStartEnvironment(process.env));
}
await runInstance(() =>
  buildWebIfNeeded({
    log: { info: (event) => void (event === "web_build_started" && process.stderr.write("Building the web client ...\n")) },
  }).catch((error: unknown) => {
    // Sallyport starts without it and says so where a page is asked for.
    process.stderr.write(`The web client could not be built; the rest starts. ${String(error)}\n`);
  }),
);
