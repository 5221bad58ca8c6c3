import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { answerTo, attackRoutes, attackWorld, rawGet } from "#testing/attack-world.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { sharedDatabase } from "#testing/gateway.ts";
import { shortLived } from "#testing/short-lived.ts";

const database = sharedDatabase();
const root = new URL("../../../", import.meta.url).pathname;

/** The program itself, as it is started; what it printed, and its exit code. */
const start = async (t: TestContext, environment: Readonly<Record<string, string>>, port: number) => {
  const folder = await mkdtemp(join(tmpdir(), "start-"));
  const child = spawn(process.execPath, [...shortLived, join(root, "src/main.ts"), "--data", folder, "--port", String(port)], {
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  cleanUp(t, async () => {
    child.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.on("exit", resolve));
  return { code, output };
};

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("connect", () => (socket.destroy(), resolve(true))).on("error", () => resolve(false));
  });

test("attack 30: a start with a fault ends with 78, names its place, and opens nothing", { timeout: 120_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "faulty-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const shipped = await readFile(join(root, "config/routes.yaml"), "utf8");
  const routesFile = async (name: string, change: (text: string) => string): Promise<string> => {
    const text = change(shipped);
    assert.notEqual(text, shipped);
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const misspelt = await routesFile("misspelt.yaml", (text) => text.replace("auth: session", "auth: sesion"));
  const unreadable = await routesFile("unreadable.yaml", (text) => text.replace("base_urls:", "ca_file: /nonexistent/ca.pem, base_urls:"));
  const unset = await routesFile("unset.yaml", (text) => text.replace("${CRUD_SERVICE_URL}", "${CRUD_SERVICE_ADDRESS}"));
  const cases: readonly (readonly [what: string, environment: Readonly<Record<string, string>>, said: RegExp])[] = [
    ["auth: sesion", { ENVIRONMENT: "test", ROUTES_FILE: misspelt }, /misspelt\.yaml:\d+:\d+ .*auth.*session/],
    ["an unreadable ca_file", { ENVIRONMENT: "test", ROUTES_FILE: unreadable }, /unreadable\.yaml:\d+:\d+ .*\/nonexistent\/ca\.pem/],
    ["an unset ${VAR}", { ENVIRONMENT: "test", ROUTES_FILE: unset }, /unset\.yaml:\d+:\d+ .*CRUD_SERVICE_ADDRESS/],
    ["an unreadable OIDC_CA_FILE", { ENVIRONMENT: "test", OIDC_CA_FILE: "/nonexistent/ca.pem" }, /OIDC_CA_FILE: \/nonexistent\/ca\.pem/],
    ["an OIDC_CA_FILE that is none", { ENVIRONMENT: "test", OIDC_CA_FILE: misspelt }, /OIDC_CA_FILE: .*no certificate/],
    ["no SESSION_SECRETS in production", { ENVIRONMENT: "production" }, /SESSION_SECRETS/],
    ["no ENVIRONMENT at all", {}, /SESSION_SECRETS/],
  ];
  for (const [what, environment, said] of cases)
    await t.test(`attack 30: ${what}`, async (one) => {
      const port = await findFreePorts();
      const { code, output } = await start(one, environment, port);
      assert.equal(code, 78, output);
      assert.match(output, said);
      assert.equal(await isOpen(port), false);
    });
});

for (const address of [
  "http://169.254.169.254",
  "http://169.254.169.254/latest",
  "http://[::ffff:a9fe:a9fe]",
  "http://[fe80::1]",
  "http://[fd00:ec2::254]",
  "http://2852039166",
  "http://0xa9fea9fe",
  "http://0251.0376.0251.0376",
  "http://metadata.google.internal",
  "http://u:p@h",
  "http://h/?q=1",
  "ftp://h",
  "file:///etc/passwd",
])
  test(`attack 49: base_urls ${address} is refused at the start`, async (t) => {
    const routes = attackRoutes.replace("${CRUD_SERVICE_URL}", address);
    await assert.rejects(
      attackWorld(t, await database(), { routes }),
      (error: Error & { exitCode?: number }) => error.exitCode === 78 && /routes\.yaml:3:\d+/.test(error.message),
    );
  });

test("attack 49: a redirect of the upstream to such an address is neither followed nor passed on", async (t) => {
  const world = await attackWorld(t, await database());
  for (const [row, credential] of [
    ["/public/x", ""],
    ["/api/t/x", "<S>"],
    ["/api/b/x", "<T>"],
  ] as const)
    for (const status of [301, 302, 303, 307, 308]) {
      world.upstream.seen.length = 0;
      world.upstream.answer = () => new Response(null, { status, headers: { location: "http://169.254.169.254/latest/meta-data/" } });
      const answer = await answerTo(world, rawGet(row, credential));
      assert.deepEqual([answer.status, answer.code, answer.headers.get("location")], [502, "upstream_bad_response", undefined]);
      assert.equal(world.upstream.seen.length, 1, "asked once, and nobody else");
    }
});
