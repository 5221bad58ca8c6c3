import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { TestContext } from "node:test";

export type Program = "nginx" | "caddy" | "apache2" | "redis-server" | "promtool" | "slowhttptest" | "wrk" | "tomcat10" | "traefik";

/** Real servers and tools that tests run beside the house, and the Debian package that brings each; without one it is tested where it is on the PATH. */
const packages: Readonly<Record<Program, string | undefined>> = {
  nginx: "nginx",
  caddy: "caddy",
  apache2: "apache2",
  "redis-server": "redis-server",
  promtool: "prometheus",
  slowhttptest: "slowhttptest",
  wrk: "wrk",
  tomcat10: "tomcat10",
  traefik: undefined,
};

/** Tomcat is a folder of scripts; its start script stands for it. */
const elsewhere: Partial<Record<Program, string>> = { tomcat10: "/usr/share/tomcat10/bin/catalina.sh" };

const isRunnable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** Path of a program; servers often lie in `sbin`, which is not on everyone's PATH. */
export const findProgram = (name: Program): string | undefined => {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/local/sbin", "/usr/sbin", "/sbin"];
  return [elsewhere[name] ?? "", ...folders.map((folder) => join(folder, name))].filter((path) => path !== "").find(isRunnable);
};

/**
 * Path of a program that a test runs for real. Without it the test is skipped by name (undefined is returned then), unless
 * REQUIRE_REAL=1, which makes it fail if there is a package: `const redis = requireProgram(t, "redis-server"); if (redis === undefined) return;`
 */
export const requireProgram = (t: Pick<TestContext, "skip">, name: Program): string | undefined => {
  const path = findProgram(name);
  if (path !== undefined) return path;
  const from = packages[name];
  const line = `${name} is not installed (${from === undefined ? "Debian has no package of it" : `Debian package ${from}`})`;
  if (process.env["REQUIRE_REAL"] === "1" && from !== undefined) throw new Error(line);
  t.skip(line);
  return undefined;
};

const POLICY = "/usr/sbin/policy-rc.d";

const run = (command: string, args: readonly string[]): boolean =>
  spawnSync(command, args, { stdio: ["ignore", 2, 2], env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } }).status === 0;

/**
 * Installs what is missing, as root on a Debian system; elsewhere nothing happens and `requireProgram` says what lacks.
 * The packages' own services are not started: tests start their own, on loopback and free ports.
 */
export const installPrograms = (names: readonly Program[], say: (line: string) => void): void => {
  const wanted = names.flatMap((name) => (findProgram(name) === undefined ? (packages[name] ?? []) : []));
  if (wanted.length === 0 || process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return;
  say(`Installing programs that tests need: ${wanted.join(", ")} ...`);
  const isMine = !existsSync(POLICY);
  if (isMine) writeFileSync(POLICY, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    const install = ["install", "-y", "-qq", "--no-install-recommends", ...wanted];
    if (!run("apt-get", install) && run("apt-get", ["update", "-qq"])) run("apt-get", install);
  } finally {
    if (isMine) rmSync(POLICY, { force: true });
  }
};

/** The programs that the text of a test names in `requireProgram(t, "...")`. */
export const programsNamedIn = (text: string): readonly Program[] =>
  (Object.keys(packages) as Program[]).filter((name) => text.includes("requireProgram(") && text.includes(`"${name}"`));
