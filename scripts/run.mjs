// Entry of every npm script. Plain JavaScript for Node 20: brings the dependencies and Node 26 along, then hands over.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");
const [task, ...rest] = process.argv.slice(2);

const tasks = {
  start: "scripts/start.ts",
  test: "scripts/test.ts",
  check: "scripts/check.ts",
  fix: "scripts/fix.ts",
  docs: "scripts/docs.ts",
  doctor: "scripts/doctor.ts",
  token: "scripts/token.ts",
  bench: "scripts/bench.ts",
  matrix: "scripts/matrix.ts",
  interop: "scripts/interop.ts",
  fuzz: "scripts/fuzz.ts",
  faults: "scripts/faults.ts",
  routes: "scripts/routes.ts",
  pdp: "scripts/pdp.ts",
  graph: "scripts/graph.ts",
  admin: "scripts/admin.ts",
  config: "scripts/config.ts",
  "build-web": "scripts/build-web.ts",
};
const file = tasks[task];
if (file === undefined) {
  process.stderr.write(`Unknown task ${task}. Known: ${Object.keys(tasks).join(", ")}\n`);
  process.exit(64);
}

// What this process was started with is in nobody's sight, where its Node can do that.
if (task === "start" && typeof process.execve === "function" && process.features.typescript)
  (await import("../src/app/hide-environment.ts")).hideEnvironment();

/** Tasks that need nothing but what `npm ci --omit=dev` installs. */
const productTasks = new Set(["start", "doctor", "token", "pdp", "graph", "admin", "config", "routes", "build-web"]);

const readPackages = (file) => {
  try {
    return JSON.parse(readFileSync(join(root, file), "utf8")).packages ?? {};
  } catch {
    return {};
  }
};

/** Whether npm says of `node_modules` that it holds what the lockfile pins: by whichever of its commands it came there. */
const isInstalled = () => {
  const present = readPackages("node_modules/.package-lock.json");
  return Object.entries(readPackages("package-lock.json")).every(([path, wanted]) => {
    if (path === "" || present[path]?.version === wanted.version) return true;
    // A package of another platform is not there; one of a development that was left out need not be.
    return present[path] === undefined && (wanted.optional || wanted.devOptional || (wanted.dev && productTasks.has(task)));
  });
};

/**
 * Installs what the lockfile pins, once for each lockfile. Not by `npm ci`, which begins with removing what is there. The
 * lockfile itself is left as it was.
 */
const install = () => {
  if (isInstalled()) return;
  const lockfile = join(root, "package-lock.json");
  const lock = readFileSync(lockfile);
  process.stderr.write("Installing dependencies (about half a minute, once) ...\n");
  const npm = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (!readFileSync(lockfile).equals(lock)) writeFileSync(lockfile, lock);
  if (npm.status !== 0) {
    process.stderr.write("npm install failed; what it said stands above. Nothing was started.\n");
    process.exit(npm.status ?? 1);
  }
};

/** Node 26 as a platform package; the running Node where it is new enough. */
const findNode = () => {
  const names = [
    `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`,
    `node-bin-${process.platform}-${process.arch}`,
  ];
  for (const name of names) {
    for (const binary of ["bin/node", "bin/node.exe"]) {
      const path = join(root, "node_modules", name, binary);
      if (existsSync(path)) return path;
    }
  }
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 24 || (major === 24 && minor >= 11)) return process.execPath;
  process.stderr.write(
    `Sallyport needs Node 24.11 or newer to run. No Node package exists for ${process.platform}-${process.arch}; this is Node ${process.versions.node}.\n`,
  );
  process.exit(69);
};

const POLL_MS = 500;
const ONE_SIGNAL_MS = 500;

/** npm passes some signals on, others end it without a word: what it started ends when it is gone. */
const watchNpm = (end) => {
  if (process.env.npm_lifecycle_event === undefined || process.platform === "win32") return;
  const npm = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(timer);
    end();
  }, POLL_MS);
  timer.unref();
};

install();
/** A terminal sends Ctrl-C to a whole group, and we pass it on: twice would mean "now" to Sallyport, so it has a group of its own. */
const isApart = task === "start" && process.platform !== "win32";
const child = spawn(findNode(), ["--disable-warning=ExperimentalWarning", join(root, file), ...rest], {
  stdio: "inherit",
  detached: isApart,
  cwd: root,
  env: {
    ...process.env,
    SALLYPORT_INVOKED_FROM: process.cwd(),
    SALLYPORT_STARTED_BY: String(process.pid),
    // TypeScript is stripped and compiled once, not at each start; where the folder cannot be written Node does without.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(root, ".cache", "compile"),
  },
});
let passedAt = Number.NEGATIVE_INFINITY;
const pass = (signal) => {
  // What a terminal sends to us and to npm, npm passes on as well: it is one signal.
  if (performance.now() - passedAt < ONE_SIGNAL_MS) return;
  passedAt = performance.now();
  child.kill(signal);
};
process.on("SIGTERM", () => pass("SIGTERM"));
// The other tasks are in the group that a terminal tells of Ctrl-C.
process.on("SIGINT", () => (isApart || !process.stdin.isTTY) && pass("SIGINT"));
// To Sallyport a hang-up means another thing: take up the changed routes. Here whoever started it is gone.
process.on("SIGHUP", () => pass("SIGTERM"));
watchNpm(() => pass("SIGTERM"));
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
