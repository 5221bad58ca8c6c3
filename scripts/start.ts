// `npm start`: a development house. Builds the web client if it changed, then runs the program itself.
import { parseCommandLine } from "#house/command-line.ts";
import { buildWebIfNeeded } from "./build-web.ts";

/** Asked for help, or for something that it does not know: the program answers, and nothing is built before. */
const isToStart = (): boolean => {
  try {
    return !parseCommandLine(process.argv.slice(2)).help;
  } catch {
    return false;
  }
};

if (isToStart()) {
  if (process.env["ENVIRONMENT"] === undefined || process.env["ENVIRONMENT"] === "") {
    process.env["ENVIRONMENT"] = "dev";
    process.stderr.write("ENVIRONMENT is unset: running as dev, with demo sign-ins and insecure defaults that production refuses.\n");
  }
  // A newcomer reads what the house says at start; each request's line is a choice (LOG_LEVEL=info).
  process.env["LOG_LEVEL"] ||= "warn";
  await buildWebIfNeeded({
    log: { info: (event) => void (event === "web_build_started" && process.stderr.write("Building the web client ...\n")) },
  }).catch((error: unknown) => {
    // The house starts without it and says so where a page is asked for.
    process.stderr.write(`The web client could not be built; the rest starts. ${String(error)}\n`);
  });
}
await import("#house/main.ts");
