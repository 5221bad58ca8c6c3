import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What Node and the system's libraries read before any code of ours runs, and no secret. */
const RUNTIME = new RegExp(
  "^(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|TMPDIR|HOSTNAME|" +
    "NODE_(?:OPTIONS|EXTRA_CA_CERTS|COMPILE_CACHE|V8_COVERAGE|NO_WARNINGS|ICU_DATA|DEBUG|ENV|USE_SYSTEM_CA|TLS_REJECT_UNAUTHORIZED)|" +
    "UV_THREADPOOL_SIZE|SSL_CERT_(?:FILE|DIR)|OPENSSL_(?:CONF|MODULES|ENGINES)|LD_(?:LIBRARY_PATH|PRELOAD)|MALLOC_ARENA_MAX|GLIBC_TUNABLES)$",
);
/** Says to this program, started anew, that the rest of its environment waits on its standard input. */
const MARK = "SALLYPORT_ENVIRONMENT_ON_STDIN";

/** Whether others may read a variable of this process: no setting is one of them. */
export const staysVisible = (name: string): boolean => RUNTIME.test(name);

/** A file of no name, in memory where there is some, as the lowest free descriptor. */
const openNameless = (): number => {
  const failures: unknown[] = [];
  for (const folder of ["/dev/shm", tmpdir()]) {
    const path = join(folder, `sallyport-${randomBytes(16).toString("hex")}`);
    try {
      const descriptor = openSync(path, "wx+", 0o600);
      unlinkSync(path);
      return descriptor;
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, "no folder takes a file");
};

/** Nothing of this program reads what a person types. */
const closeInput = (): void => {
  closeSync(0);
  openSync("/dev/null", "r");
};

const takeHidden = (): void => {
  const hidden = JSON.parse(readFileSync(0, "utf8")) as Record<string, string>;
  closeInput();
  delete process.env[MARK];
  Object.assign(process.env, hidden);
};

/**
 * Whoever may read `/proc/<pid>/environ` of this process reads what it was started with, whatever becomes of `process.env`. So it starts
 * itself anew in its place (same number, parent and terminal) with nothing but `staysVisible` there; the rest comes by a file of no name
 * as standard input, is read once and closed. To be called before anything else. Where the system has no `execve`, nothing is done.
 */
export const hideEnvironment = (): void => {
  if (process.env[MARK] !== undefined) return takeHidden();
  const all = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const hidden = all.filter(([name]) => !staysVisible(name));
  if (process.platform === "win32" || typeof process.execve !== "function" || hidden.length === 0) return;
  closeSync(0);
  try {
    // Of all descriptors a new program keeps the three standard ones alone. Written at a position: it is read from its beginning.
    writeSync(openNameless(), JSON.stringify(Object.fromEntries(hidden)), 0);
  } catch (error) {
    openSync("/dev/null", "r");
    process.stderr.write(`The environment of this process stays readable to programs of the same user: ${String(error)}\n`);
    return;
  }
  const visible = Object.fromEntries(all.filter(([name]) => staysVisible(name)));
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], { ...visible, [MARK]: "1" });
};
