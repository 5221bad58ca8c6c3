import { spawn } from "node:child_process";
import { accessSync, constants, existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Writable } from "node:stream";

/** What is started: no shell, no search of a PATH. */
export interface StartCommand {
  readonly file: string;
  readonly args: readonly string[];
}

/** A child as it is started. */
export interface Launch {
  readonly command: StartCommand;
  /** All that the process that is started sees; nothing of this process's environment is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** What it reads from its descriptor 3. */
  readonly input?: string;
}

/** What a child may see. */
export interface Confinement {
  readonly network: "none" | "host";
  /** Its own, and all that it may write. */
  readonly folder: string;
  /** Files and folders that it may read beside the system's programs. */
  readonly reads: readonly string[];
}

/** How children are kept apart from this process; `undefined`: they are not. */
export interface Sandbox {
  readonly program: string;
  /** Folders that no child sees, wherever they lie: data, configuration, this installation. */
  readonly hidden: readonly string[];
}

/** Programs and libraries of the system. */
const programs = [
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/usr/bin",
  "/usr/sbin",
  "/usr/lib",
  "/usr/lib32",
  "/usr/lib64",
  "/usr/libexec",
  "/usr/share",
  "/usr/local/bin",
  "/usr/local/lib",
];
const readable = ["/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki", "/etc/localtime"];
const resolver = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf"];

const PRLIMIT = "/usr/bin/prlimit";
/** What each process of a child may take: bytes of memory of its own, and processes and threads in all; where the system has `prlimit`. */
const limits = existsSync(PRLIMIT) ? [PRLIMIT, "--data=2147483648", "--nproc=512", "--core=0", "--"] : [];

const real = (path: string): string => (existsSync(path) ? realpathSync(path) : path);
const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

const bindProgram = (path: string): readonly string[] => {
  if (!existsSync(path)) return [];
  return lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
};

const apart = ["--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--cap-drop", "ALL"];
const ownFolders = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"];

/** Arguments of `bwrap`: later ones lie over earlier ones. */
const confine = ({ hidden }: Sandbox, { network, folder, reads }: Confinement): readonly string[] => [
  ...apart,
  ...(network === "host" ? ["--share-net"] : []),
  ...programs.flatMap(bindProgram),
  ...[...readable, ...(network === "host" ? resolver : [])].flatMap((path) => ["--ro-bind-try", path, path]),
  ...ownFolders,
  ...hidden
    .map(real)
    .filter((path) => programs.some((base) => isIn(path, base)))
    .flatMap((path) => ["--tmpfs", path]),
  ...reads.flatMap((path) => ["--ro-bind", path, path]),
  ...(folder === "" ? [] : ["--bind", folder, folder, "--chdir", folder]),
];

/**
 * The same child in a sandbox: own namespaces of processes, users, network and host name; its folder to write, the system's programs and
 * what it `reads` to read, and nothing else of this machine. It ends with this process. What is said to `bwrap` is on nobody's command line.
 */
export const enterSandbox = (sandbox: Sandbox, { command, env }: Launch, confinement: Confinement): Launch => {
  const variables = Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
  const options = [...confine(sandbox, confinement), "--clearenv", ...variables];
  // A zero byte would part one option in two.
  if (options.some((option) => option.includes("\0"))) throw new TypeError("an option holds a zero byte");
  return {
    command: { file: sandbox.program, args: ["--args", "3", "--", ...limits, command.file, ...command.args] },
    env: {},
    input: options.map((option) => `${option}\0`).join(""),
  };
};

const findBubblewrap = (): string | undefined =>
  [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin", "/usr/local/bin"]
    .filter((folder) => folder.startsWith("/"))
    .map((folder) => join(folder, "bwrap"))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });

const TRIAL_MS = 10_000;

/** Starts `true` in it. Answers why that does not work. */
const tryOut = (sandbox: Sandbox): Promise<string | undefined> =>
  new Promise((resolve) => {
    const launch = enterSandbox(
      sandbox,
      { command: { file: "true", args: [] }, env: { PATH: "/usr/bin:/bin" } },
      { network: "none", folder: "", reads: [] },
    );
    const child = spawn(launch.command.file, [...launch.command.args], {
      env: {},
      stdio: ["ignore", "ignore", "pipe", "pipe"],
      timeout: TRIAL_MS,
    });
    let words = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (words = (words + text).slice(0, 500)));
    const input = child.stdio[3] as Writable;
    input.on("error", () => undefined).end(launch.input);
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) =>
      resolve(code === 0 ? undefined : words.trim().split("\n")[0] || `it ended with ${signal ?? code}`),
    );
  });

/** Bubblewrap as it works on this machine, tried, or the reason why it does not. */
export const openSandbox = async (hidden: readonly string[]): Promise<{ readonly sandbox: Sandbox } | { readonly refusal: string }> => {
  if (process.platform !== "linux") return { refusal: `bubblewrap is there for Linux alone, and this is ${process.platform}` };
  const program = findBubblewrap();
  if (program === undefined) return { refusal: "bwrap is not installed (apt-get install bubblewrap)" };
  const sandbox = { program: real(program), hidden };
  const why = await tryOut(sandbox);
  return why === undefined ? { sandbox } : { refusal: `${program} does not work here, as where user namespaces are not allowed: ${why}` };
};
