// Entry of every npm script. Plain JavaScript for Node 20: brings the dependencies and Node 26 along, then hands over.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
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
  routes: "scripts/routes.ts",
  pdp: "scripts/pdp.ts",
  "build-web": "scripts/build-web.ts",
};
const file = tasks[task];
if (file === undefined) {
  process.stderr.write(`Unknown task ${task}. Known: ${Object.keys(tasks).join(", ")}\n`);
  process.exit(64);
}

/**
 * Installs what the lockfile pins, once for each lockfile: its digest lies beside what was installed. Not `npm ci`: that refuses
 * when the registry in use lacks an optional package of some other platform. The lockfile itself is left as it was.
 */
const install = () => {
  const lockfile = join(root, "package-lock.json");
  const lock = readFileSync(lockfile);
  const digest = createHash("sha256").update(lock).update(process.platform).update(process.arch).digest("hex");
  const marker = join(root, "node_modules", ".sallyport-installed");
  if (existsSync(marker) && readFileSync(marker, "utf8") === digest) return;
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
  mkdirSync(join(root, "node_modules"), { recursive: true });
  writeFileSync(marker, digest);
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

install();
const child = spawn(findNode(), ["--disable-warning=ExperimentalWarning", join(root, file), ...rest], {
  stdio: "inherit",
  cwd: root,
  env: { ...process.env, SALLYPORT_INVOKED_FROM: process.cwd() },
});
// The terminal sends Ctrl-C to the whole group; a supervisor signals only this process, so pass it on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => child.kill(signal === "SIGINT" && process.stdin.isTTY ? 0 : signal));
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
