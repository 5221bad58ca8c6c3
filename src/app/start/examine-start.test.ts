import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { createServiceKeyStore } from "#authn/keys/service-key-store.ts";
import { createServiceKeys } from "#authn/keys/service-keys.ts";
import { parseCommandLine, partNames } from "#app/model/command-line.ts";
import { migratedModules } from "#app/store/store.ts";
import { startInstance } from "#app/instance.ts";
import { StartRefused } from "#app/model/start-refused.ts";
import { migrate } from "#store/migrate.ts";
import { createPglite } from "#store/pglite.ts";
import { silentLog } from "#telemetry/log.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { examineStart } from "./examine-start.ts";

const shipped = join(import.meta.dirname, "../../../config");
const secret = (): string => randomBytes(32).toString("base64");

/** One thing that is wrong with a start, and what is said of it. */
interface Broken {
  readonly says: RegExp;
  readonly environment?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly arguments?: readonly string[];
  /** Which folder it is started on; one that is not there unless given. */
  readonly data?: "kept" | "file" | "damaged";
  readonly exitCode?: number;
  /** Does not go with the others. */
  readonly isAlone?: boolean;
}

const routes = readFileSync(join(shipped, "routes.yaml"), "utf8");
let home: string;
let port: number;

const policies = (text: string): Readonly<Record<string, string>> => ({
  "pdp.yaml": "policy_dir: ./policies\n",
  "policies/schema.cedarschema": "entity Person;",
  "policies/a.cedar": text,
});

const broken: Readonly<Record<string, () => Broken>> = {
  "a setting": () => ({ environment: { BUS_POLL_MS: "0" }, says: /^BUS_POLL_MS: must be 50 to 60000$/ }),
  "settings that do not go together": () => ({
    environment: { SECRETS_API_REQUIRE_AUTH: "false", SECRETS_ENFORCE_SCOPES: "true", TENANT_ID: "tenant:acme" },
    says: /^SECRETS_ENFORCE_SCOPES: cannot be true/,
    isAlone: true,
  }),
  "the folder of the web client": () => ({
    environment: { WEB_DIST_DIR: "/nowhere" },
    says: /^WEB_DIST_DIR: \/nowhere\/index\.html is not there$/,
  }),
  "the route table": () => ({ files: { "routes.yaml": `${routes}\ncolour: red\n` }, says: /routes\.yaml:\d+:1 \/colour: / }),
  "a module of the web client": () => ({
    files: { "ui.yaml": "apiVersion: ui/v1\nmodules:\n  agnts: { groups: [group:x] }\n" },
    says: /ui\.yaml:3:3 \/modules\/agnts: is not known here \(did you mean agents\?\)$/,
  }),
  "a view of the tools": () => ({
    files: { "tools.yaml": "apiVersion: tools/v1\nviews: [{ name: Big }]\n" },
    says: /tools\.yaml:2:17 \/views\/0\/name: must be /,
  }),
  "the decision point's file": () => ({
    files: { "pdp.yaml": "colour: red\n" },
    says: /pdp\.yaml:1:1 \/colour: is not known here$/,
    isAlone: true,
  }),
  "a policy": () => ({ files: policies("permit(principal, action, resource"), says: /policies\/a\.cedar/ }),
  "a certificate": () => ({
    environment: { TLS_CERT_FILE: "/nowhere/cert.pem", TLS_KEY_FILE: join(home, "key.pem"), PUBLIC_ORIGINS: "https://localhost" },
    says: /^TLS_CERT_FILE: \/nowhere\/cert\.pem cannot be read \(ENOENT\)$/,
  }),
  "the authority of the other services": () => ({
    environment: { TLS_CA_FILE: "/nowhere/ca.pem" },
    says: /^TLS_CA_FILE: \/nowhere\/ca\.pem cannot be read \(ENOENT\)$/,
  }),
  "the provider's authority": () => ({
    environment: { OIDC_CA_FILE: "/nowhere/ca.pem" },
    says: /^OIDC_CA_FILE: \/nowhere\/ca\.pem cannot be read/,
  }),
  "the key of the audit log": () => ({
    environment: { AUDIT_KEK_FILE: "/nowhere/kek" },
    says: /^AUDIT_KEK_FILE: \/nowhere\/kek cannot be read \(ENOENT\)\.$/,
  }),
  "Sallyport's own key": () => ({ data: "damaged", says: /keys\/instance is damaged: it holds no 32 bytes/, isAlone: true }),
  "other secrets than the database's": () => ({
    data: "kept",
    environment: { SESSION_SECRETS: secret() },
    says: /^SESSION_SECRETS holds no secret under which the keys in this database were sealed\. .*SESSION_SECRETS=<new>,<old>/,
  }),
  "a database of a newer version": () => ({
    data: "kept",
    says: /^pdp\/999-later\.sql was applied to this database but this program does not have it/,
  }),
  "the secrets file": () => ({
    environment: { YAML_VAULT_PATH: join(home, "secrets.yaml") },
    says: /^YAML_VAULT_PATH: .*secrets\.yaml .*line 2, column 1/,
  }),
  Redis: () => ({
    environment: { REDIS_URL: `redis://127.0.0.1:${port + 7}` },
    says: /^REDIS_URL: Redis at 127\.0\.0\.1:\d+ does not let us in/,
    exitCode: 69,
  }),
  PostgreSQL: () => ({
    environment: { DATABASE_URL: `postgres://sally:canary@127.0.0.1:${port + 7}/sallyport` },
    says: /^DATABASE_URL: PostgreSQL at 127\.0\.0\.1:\d+ is not available: nothing listens there/,
    exitCode: 69,
    isAlone: true,
  }),
  "parts that share nothing": () => ({
    arguments: ["--serve", "gateway,crud"],
    says: /^--serve gateway,crud: .*PostgreSQL.*DATABASE_URL/,
    isAlone: true,
  }),
  "the configuration folder": () => ({
    arguments: ["--config", "no/such"],
    says: /^--config no\/such: .*no\/such is not there\. It must hold routes\.yaml and pdp\.yaml.*without --config/,
    isAlone: true,
  }),
  "the data folder": () => ({ data: "file", says: /^The folder .* cannot be made: .* is no folder\.$/, exitCode: 73, isAlone: true }),
};

/** Both ways to learn of it: what the doctor says, and what a start is refused with. */
const ask = async (rows: readonly Broken[], name: string): Promise<{ issues: readonly string[]; refused: StartRefused }> => {
  const config = join(home, `config-${name.replaceAll(/\W/g, "-")}`);
  await cp(shipped, config, { recursive: true });
  for (const [file, text] of Object.entries(Object.assign({}, ...rows.map(({ files }) => files)) as Record<string, string>)) {
    await mkdir(join(config, file, ".."), { recursive: true });
    await writeFile(join(config, file), text);
  }
  const pdp = join(config, "pdp.yaml");
  if (!rows.some(({ files }) => files?.["pdp.yaml"] !== undefined))
    await writeFile(pdp, `policy_dir: ${join(shipped, "../src/pdp/policies")}\n`);
  const data = rows.find((row) => row.data !== undefined)?.data ?? `absent-${name}`;
  const given = rows.flatMap((row) => row.arguments ?? []);
  const options = {
    commandLine: parseCommandLine([
      "--port",
      String(port),
      "--data",
      data,
      ...(given.includes("--config") ? [] : ["--config", config]),
      ...given,
    ]),
    environment: {
      ENVIRONMENT: "test",
      LOG_LEVEL: "silent",
      SALLYPORT_INVOKED_FROM: home,
      ...Object.assign({}, ...rows.map((row) => row.environment)),
    },
  };
  const before = await readdir(home);
  await using examined = await examineStart({ ...options, from: home, nodeVersion: process.versions.node, logOf: () => silentLog });
  const issues = examined.findings.filter(({ status }) => status === "fault").map(({ text }) => text);
  await examined[Symbol.asyncDispose]();
  const refused = await startInstance({ ...options, say: () => undefined }).then(
    () => assert.fail(`${name}: it started`),
    (error: unknown) => error,
  );
  assert.ok(refused instanceof StartRefused, String(refused instanceof Error ? refused.stack : refused));
  assert.deepEqual(await readdir(home), before, "nothing is made");
  return { issues, refused };
};

/** Every way to ask for the demo: by itself, by name, and by any part alone. */
const withDemo = [[], ["--demo"], ["--no-demo", "--demo"], ...partNames.map((part) => ["--serve", part])];

suite("a start is examined before it is made", () => {
  before(async () => {
    home = await mkdtemp(join(tmpdir(), "sallyport-examine-"));
    port = await findFreePorts();
    await writeFile(join(home, "file"), "");
    await writeFile(join(home, "key.pem"), generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }));
    await writeFile(join(home, "secrets.yaml"), "a: 1\na: canary\n", { mode: 0o600 });
    await mkdir(join(home, "damaged/keys"), { recursive: true });
    await writeFile(join(home, "damaged/keys/instance"), "c2hvcnQ=\n");
    await using database = await createPglite({ dataFolder: join(home, "kept"), log: silentLog });
    await migrate(database, migratedModules);
    await database.script("insert into store.migration (room, name, digest) values ('pdp', '999-later.sql', 'x')");
    const keys = createServiceKeys({
      store: createServiceKeyStore(database),
      secrets: [randomBytes(32)],
      issuer: "http://localhost",
      now: () => new Date(),
    });
    await keys.sign("gateway", {}, 60);
  });
  after(() => rm(home, { recursive: true, force: true }));

  for (const [name, make] of Object.entries(broken))
    test(`${name}, alone: start and doctor say the same one thing`, async () => {
      const row = make();
      const { issues, refused } = await ask([row], name);
      const own = row.data === "kept" ? issues.filter((text) => row.says.test(text)) : issues;
      assert.equal(own.length, 1, issues.join("\n"));
      assert.match(own[0] ?? "", row.says);
      assert.deepEqual(refused.lines.slice(issues.length === 1 ? 0 : 1), issues);
      assert.equal(refused.exitCode, row.exitCode ?? 78);
    });

  for (const given of withDemo)
    test(`production with the demo is refused: ${given.join(" ") || "no option"}`, async () => {
      const kek = join(home, "kek");
      await writeFile(kek, randomBytes(32));
      const environment = {
        ENVIRONMENT: "production",
        PUBLIC_ORIGINS: "https://sallyport.test",
        PDP_PUBLIC_URL: "https://pdp.sallyport.test",
        OIDC_ISSUER: "https://login.sallyport.test",
        OIDC_CLIENT_SECRET: secret(),
        SESSION_SECRETS: secret(),
        AUDIT_KEK_FILE: kek,
        YAML_VAULT_PATH: join(home, "empty.yaml"),
        DATABASE_URL: `postgres://sally@127.0.0.1:${port + 8}/sallyport`,
      };
      await writeFile(join(home, "empty.yaml"), "{}", { mode: 0o600 });
      const asked = createServer(() => assert.fail("the database is not asked"));
      asked.listen(port + 8, "127.0.0.1");
      await once(asked, "listening");
      const { issues, refused } = await ask([{ environment, arguments: given, says: /./ }], "production").finally(() => asked.close());
      assert.deepEqual(issues, [
        "ENVIRONMENT is production, and the demo world (its people, passwords and systems) is for dev and test: start with --no-demo.",
      ]);
      assert.deepEqual([refused.lines, refused.exitCode], [issues, 78]);
    });

  for (const [nodeEnv, environment, warned] of [
    ["production", "test", 1],
    ["production", "production", 0],
    ["development", "test", 0],
  ] as const)
    test(`NODE_ENV=${nodeEnv} with ENVIRONMENT=${environment} is warned of in ${warned} lines`, async () => {
      await using examined = await examineStart({
        commandLine: parseCommandLine(["--port", String(port), "--data", "absent", "--no-demo"]),
        environment: { NODE_ENV: nodeEnv, ENVIRONMENT: environment, LOG_LEVEL: "silent" },
        from: home,
        nodeVersion: process.versions.node,
        logOf: () => silentLog,
      });
      const lines = examined.findings.filter(({ status, text }) => status === "warn" && text.includes("NODE_ENV"));
      assert.equal(lines.length, warned, JSON.stringify(lines));
      for (const { text } of lines) assert.match(text, /Set ENVIRONMENT=production\.$/);
    });

  test("all of them together, with two ports that are taken, are said at once", async (t) => {
    for (const one of [port, port + 3]) {
      const server = createServer().listen(one, "127.0.0.1");
      await once(server, "listening");
      t.after(() => server.close());
    }
    const rows = Object.values(broken)
      .map((make) => make())
      .filter(({ isAlone }) => isAlone !== true);
    const { issues, refused } = await ask(rows, "together");
    const wanted = [
      ...rows.map(({ says }) => says),
      new RegExp(`^Port ${port} for gateway is in use`),
      new RegExp(`^Port ${port + 3} for crud is in use`),
    ];
    for (const says of wanted)
      assert.ok(
        issues.some((text) => says.test(text)),
        `${says} in\n${issues.join("\n")}`,
      );
    assert.deepEqual(refused.lines, [`${issues.length} issues; nothing was started:`, ...issues]);
    assert.equal(refused.exitCode, 78);
    assert.doesNotMatch(issues.join("\n"), /canary/);
  });
});
