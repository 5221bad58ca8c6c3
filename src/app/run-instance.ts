import { constants } from "node:os";
import { helpText, parseCommandLine, UsageError, type CommandLine } from "./model/command-line.ts";
import type { Instance, StartOptions } from "./instance.ts";
import { StartRefused } from "./model/start-refused.ts";

/** As in sysexits.h; a refused start brings its own: 69 a port is taken or a service is away, 73 the data folder, 78 configuration. */
const exitCodes = { usage: 64, internal: 70 } as const;

const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

const readCommandLine = (): CommandLine => {
  try {
    return parseCommandLine(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    say(error.message);
    say("");
    say(helpText);
    process.exit(exitCodes.usage);
  }
};

const start = async (commandLine: CommandLine, prepare: StartOptions["prepare"]): Promise<Instance> => {
  try {
    // All that Sallyport is made of is loaded here: most of a second that whoever asks for help or mistypes an option does not wait.
    const { startInstance } = await import("./instance.ts");
    return await startInstance({ commandLine, environment: process.env, say, prepare });
  } catch (error) {
    if (error instanceof StartRefused) {
      for (const line of error.lines) say(line);
      process.exit(error.exitCode);
    }
    say("Sallyport could not start:");
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(exitCodes.internal);
  }
};

/**
 * The program: command line, start, signals, exit codes. Answers when Sallyport is ready; the process ends with it.
 * `prepare`: done once nothing stands in the way of the start, before anything is opened.
 */
export const runInstance = async (prepare?: StartOptions["prepare"]): Promise<void> => {
  const commandLine = readCommandLine();
  if (commandLine.help) {
    process.stdout.write(helpText);
    return;
  }
  let stopping = false;
  let isStarted = false;
  const stop = (signal: "SIGINT" | "SIGTERM"): void => {
    // A second signal means now.
    if (stopping) process.exit(1);
    stopping = true;
    // A start that hangs must not hold whoever wants to end it. Nobody was served yet, and what is kept survives a kill too.
    if (!isStarted) {
      say(`${signal}: ended before the start was finished.`);
      process.exit(128 + constants.signals[signal]);
    }
    say(`${signal}: stopping ...`);
    started
      .then((instance) => instance[Symbol.asyncDispose]())
      .then(
        () => {
          say("Stopped. Nothing acknowledged was lost.");
          process.exit(0);
        },
        (error: unknown) => {
          say(`Stopping failed: ${String(error)}`);
          process.exit(1);
        },
      );
  };
  process.on("SIGHUP", () => void started.then((instance) => instance.reload()));
  process.on("SIGINT", () => stop("SIGINT"));
  process.on("SIGTERM", () => stop("SIGTERM"));
  const started = start(commandLine, prepare);
  await started;
  isStarted = true;
};
