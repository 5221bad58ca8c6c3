import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { findFreePorts } from "#testing/free-port.ts";
import { until } from "#testing/until.ts";
import { startCommand, runCommand } from "./run-script.ts";
import { makeDataFolder, startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const folders: string[] = [];
const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-start-"));
  folders.push(folder);
  return folder;
};
/** One whose tables are there, for starts that are not looked at for how they make them. */
const preparedFolder = async (): Promise<string> => {
  const folder = await makeDataFolder();
  folders.push(folder);
  return folder;
};
let demo: Promise<TestInstance> | undefined;
/** As shipped, for tests that only look at it. */
const demoInstance = (): Promise<TestInstance> => (demo ??= startTestInstance());
after(async () => {
  if (demo !== undefined) assert.equal(await (await demo).stop(), 0);
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

/** Runs the program to its end. */
const run = async (
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = {},
  began?: (child: ChildProcess) => void,
) => {
  const { code, out, err } = await runCommand(startCommand(args), { ENVIRONMENT: "test", ...environment }, began);
  return { code, output: `${out}${err}` };
};

test("a second start on the same folder is refused and names the process that holds it", async () => {
  const instance = await demoInstance();
  const second = await run(["--data", instance.data, "--port", String(await findFreePorts())]);
  assert.equal(second.code, 73, second.output);
  assert.match(second.output, new RegExp(`\\b${instance.process.pid}\\b`));
});

test("a folder whose keys are lost is not gone on with, and one whose keys are put back is", async () => {
  const data = await preparedFolder();
  const instance = await startTestInstance({ data });
  // Something about a person goes into the audit log.
  const token = await fetchToken(instance.port, { user: "ben" });
  assert.equal((await fetch(`${instance.origin}/access/v1/decisions`, { headers: { authorization: `Bearer ${token}` } })).status, 200);
  assert.equal(await instance.stop(), 0);
  const keys = join(data, "keys");
  await cp(keys, `${keys}.kept`, { recursive: true });
  for (const [name, says] of [
    ["instance", /keys\/instance is missing/],
    ["audit-kek", /audit log was written under another key than that of .*audit-kek/],
  ] as const) {
    await rm(join(keys, name));
    const { code, output } = await run(["--data", data, "--port", String(await findFreePorts())]);
    assert.equal(code, 78, output);
    assert.match(output, says);
    assert.doesNotMatch(output, /Sallyport is ready| at file:/);
    await cp(join(`${keys}.kept`, name), join(keys, name));
  }
  assert.equal(await (await startTestInstance({ data })).stop(), 0);
});

test("a wrong SESSION_SECRETS beside an existing database is refused, and a rotation is not", async () => {
  const data = await preparedFolder();
  const [old, fresh, other] = Array.from({ length: 3 }, () => randomBytes(32).toString("base64"));
  const startUnder = async (secrets: string) => (await startTestInstance({ data, environment: { SESSION_SECRETS: secrets } })).stop();
  const refuse = async (secrets: string): Promise<void> => {
    const { code, output } = await run(["--data", data, "--port", String(await findFreePorts())], { SESSION_SECRETS: secrets });
    assert.equal(code, 78, output);
    assert.match(output, /SESSION_SECRETS holds no secret under which the keys in this database were sealed/);
    assert.ok(!output.includes(secrets));
  };
  assert.equal(await startUnder(`${old}`), 0);
  await refuse(`${other}`);
  assert.equal(await startUnder(`${fresh},${old}`), 0);
  assert.equal(await startUnder(`${fresh}`), 0);
  await refuse(`${old}`);
});

test("without the demo Sallyport starts clean: no sign-ins are told, its page says so, and nothing of the demo is there", async () => {
  const instance = await startTestInstance({ arguments: ["--no-demo"] });
  try {
    const output = instance.output();
    assert.doesNotMatch(output, /\b(?:ada|ben|cleo|dan|eve)\b|TOTP|password|demo|starts without/i);
    const begun = await fetch(`${instance.origin}/auth/login`, { redirect: "manual" });
    const cookies: string[] = [];
    let at = new URL(begun.headers.get("location") ?? "");
    let page = "";
    for (let step = 0; step < 5 && page === ""; step++) {
      const answer = await fetch(at, { redirect: "manual", headers: { cookie: cookies.join("; ") } });
      for (const cookie of answer.headers.getSetCookie()) cookies.push(cookie.split(";")[0] ?? "");
      const next = answer.headers.get("location");
      if (next === null) page = await answer.text();
      else at = new URL(next, at);
    }
    assert.match(page, /No demo sign-ins are loaded/);
    assert.equal(await fetch(`http://127.0.0.1:${instance.port + 10}/`).catch(() => undefined), undefined, "no demo upstream");
    const { tools, degraded } = (await (await fetch(`http://localhost:${instance.port + 3}/health`)).json()) as Record<string, number>;
    assert.deepEqual([tools, degraded], [3, 0], "health and Sallyport's own two");
  } finally {
    assert.equal(await instance.stop(), 0);
  }
});

test("the log leads a newcomer to the page, the sign-ins and the second factor", async () => {
  const instance = await demoInstance();
  // Line by line: Sallyport counts as started with the first of them.
  const output = await until(instance.output, (said) => said.includes("An agent's token:"));
  assert.match(output, new RegExp(`Open http://localhost:${instance.port} and sign in`));
  for (const name of ["ada", "ben", "cleo", "dan", "eve"]) assert.match(output, new RegExp(`\\b${name}\\b`));
  assert.match(output, /password sallyport/);
  assert.match(output, /TOTP secret [A-Z2-7]{32}/);
  assert.match(output, /Opening the embedded database/);
});

test("a subset on the embedded database is refused with the advice to share one PostgreSQL", async () => {
  const { code, output } = await run(["--serve", "gateway,crud", "--data", await newFolder()]);
  assert.equal(code, 78);
  assert.match(output, /PostgreSQL/);
});

test("every wrong setting is named with its variable before anything is opened", async () => {
  const { code, output } = await run(["--data", await newFolder()], {
    LOG_LEVEL: "loud",
    SESSION_IDLE_S: "soon",
    BUS_POLL_MS: "0",
    ENVIRONMENT: "test",
  });
  assert.equal(code, 78);
  for (const name of ["LOG_LEVEL", "SESSION_IDLE_S", "BUS_POLL_MS"]) assert.match(output, new RegExp(name));
  assert.doesNotMatch(output, /Opening the embedded database/);
});

test("production refuses the defaults that only development may have", async () => {
  const { code, output } = await run(["--data", await newFolder()], { ENVIRONMENT: "production" });
  assert.equal(code, 78);
  for (const name of ["OIDC_ISSUER", "SESSION_SECRETS", "PUBLIC_ORIGINS"]) assert.match(output, new RegExp(name));
});

test("without ENVIRONMENT an instance that decides starts, and one that permits everything is refused for that alone", async () => {
  const folder = await newFolder();
  const config = join(folder, "config");
  await cp(join(import.meta.dirname, "../config"), config, { recursive: true });
  const key = join(folder, "audit.key");
  await writeFile(key, randomBytes(32), { mode: 0o600 });
  const secrets = join(folder, "secrets.yaml");
  await writeFile(secrets, "{}", { mode: 0o600 });
  const environment = {
    ENVIRONMENT: undefined,
    PUBLIC_ORIGINS: "https://sallyport.example",
    PDP_PUBLIC_URL: "https://pdp.sallyport.example",
    OIDC_ISSUER: "https://login.sallyport.example",
    OIDC_CLIENT_SECRET: randomBytes(32).toString("base64url"),
    SESSION_SECRETS: randomBytes(32).toString("base64"),
    AUDIT_KEK_FILE: key,
    YAML_VAULT_PATH: secrets,
  };
  const file = join(config, "pdp.yaml");
  const shipped = (await readFile(file, "utf8")).replace("../src/pdp/policies", join(import.meta.dirname, "../src/pdp/policies"));
  assert.match(shipped, /^enable_authorization: true$/m);
  await writeFile(file, shipped);
  const args = ["--no-demo", "--config", config];
  const instance = await startTestInstance({ data: await preparedFolder(), environment, arguments: args });
  assert.equal(await instance.stop(), 0);

  await writeFile(file, shipped.replace("enable_authorization: true", "enable_authorization: false"));
  const port = String(await findFreePorts());
  const { code, output } = await run(["--port", port, "--data", await preparedFolder(), ...args], environment);
  assert.equal(code, 78, output);
  const issues = output.split("\n").filter((line) => line !== "" && !/^(?:Opening|Prepared|Loading) /.test(line));
  assert.deepEqual(issues, [`${file}#/enable_authorization: may be false in dev and test alone`]);
});

test("a system that does not load is said at start, in the words of the doctor, and Sallyport serves the rest", async () => {
  const config = join(await newFolder(), "config");
  await cp(join(import.meta.dirname, "../config"), config, { recursive: true });
  const file = join(config, "pdp.yaml");
  await writeFile(file, (await readFile(file, "utf8")).replace("../src/pdp/policies", join(import.meta.dirname, "../src/pdp/policies")));
  await writeFile(join(config, "systems/bad.demo.yaml"), "kind: http\ncolour: red\n");
  const instance = await startTestInstance({ arguments: ["--config", config] });
  const said = instance.output().split("\n");
  assert.equal(await instance.stop(), 0);
  assert.ok(said.includes("systems/bad.demo.yaml:2:1 /colour: is not known here; Sallyport starts without the system bad.demo"));
});

test("a misspelt option is refused with the list of options", async () => {
  const { code, output } = await run(["--prot", "8080"]);
  assert.equal(code, 64);
  assert.match(output, /--port N/);
});

/** What is said beside how far the start came. */
const refusalOf = (output: string): string[] => output.split("\n").filter((line) => line !== "" && !/^(?:Opening|Connecting) /.test(line));

test("a data folder or a PostgreSQL that cannot be had is refused in one sentence", { timeout: 120_000 }, async () => {
  const folder = await newFolder();
  const [file, broken] = [join(folder, "file"), join(folder, "broken")];
  await writeFile(file, "");
  await mkdir(join(broken, "pg"), { recursive: true });
  await writeFile(join(broken, "pg/base"), "");
  const free = await findFreePorts();
  const away = { DATABASE_URL: `postgres://sally:canary-word@127.0.0.1:${free}/sallyport` };
  for (const [data, environment, exitCode, says] of [
    [file, {}, 73, `The folder ${file} cannot be made: ${file} is no folder.`],
    [join(file, "below"), {}, 73, `The folder ${join(file, "below")} cannot be made: ${file} is no folder.`],
    ...(process.platform === "linux"
      ? [["/proc/nope/x", {}, 73, "The folder /proc/nope/x cannot be made: the system keeps no files in /proc."] as const]
      : []),
    [
      broken,
      {},
      73,
      `The embedded database in ${join(broken, "pg")} cannot be opened: it has no PG_VERSION. Nothing of it was removed or repaired.`,
    ],
    [join(folder, "data"), away, 69, `DATABASE_URL: PostgreSQL at 127.0.0.1:${free} is not available: nothing listens there.`],
  ] as const) {
    const { code, output } = await run(["--data", data, "--port", String(free)], environment);
    assert.equal(code, exitCode, output);
    const [line, ...more] = refusalOf(output);
    assert.ok(line?.startsWith(says), output);
    assert.deepEqual(more, []);
    assert.doesNotMatch(output, /canary-word/);
  }
});

test("a signal ends a start that waits for somebody who says nothing", { timeout: 60_000 }, async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const asked = once(silent, "connection") as Promise<[Socket]>;
  const ended = run(["--data", await newFolder()], { DATABASE_URL: `postgres://sally:word@127.0.0.1:${port}/sallyport` }, (child) => {
    void asked.then(() => child.kill("SIGTERM"));
  });
  const { code, output } = await ended;
  (await asked)[0].destroy();
  silent.close();
  assert.equal(code, 143, output);
  assert.deepEqual(refusalOf(output), ["SIGTERM: ended before the start was finished."]);
});

test("a start that fails half-way closes what it opened, and the next one on the folder works", async () => {
  const data = await newFolder();
  const port = await findFreePorts();
  const taken = createServer().listen(port + 4, "127.0.0.1");
  await once(taken, "listening");
  const failed = await run(["--data", data, "--port", String(port)]);
  assert.notEqual(failed.code, 0);
  assert.match(failed.output, new RegExp(`${port + 4}`));
  taken.close();
  await once(taken, "close");
  const instance = await startTestInstance({ data, port });
  assert.equal(await instance.stop(), 0);
});
