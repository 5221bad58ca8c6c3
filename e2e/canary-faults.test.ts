import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { parse, stringify } from "yaml";
import { deriveClientSecret } from "#authn/sealing/client-secret.ts";
import { recordOf, type SessionRow } from "#gateway/sessions/session-row.ts";
import { createSessionKeys } from "#gateway/sessions/session-keys.ts";
import { statement, type Database } from "#store/database.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { startCollector } from "#testing/otlp/collector.ts";
import { openPostgres, testServer } from "#testing/postgres-database.ts";
import { until } from "#testing/until.ts";
import { formsOf } from "#testing/canary.ts";
import { requirePostgresGround } from "./postgres-ground.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";

const server = testServer();

/** Something that listens and speaks no HTTP. */
const nonsense = async (t: TestContext): Promise<string> => {
  const listener = createServer((socket) => socket.on("error", () => {}).on("data", () => socket.end("HELLO\r\n\r\n")));
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => void listener.close());
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
};

/** The table that ships, with two rows more: a service that answers nonsense, and one for which no token can be had. */
const writeRoutes = async (t: TestContext, folder: string): Promise<string> => {
  const table = parse(await readFile(join(import.meta.dirname, "../config/routes.yaml"), "utf8")) as {
    services: Record<string, unknown>;
    routes: unknown[];
  };
  table.services["broken"] = { base_urls: [await nonsense(t)], audience: "https://broken.example" };
  const row = { target_service: "broken", upstream_path: "/x", methods: ["GET"], auth: "session", authz: "none" };
  table.routes.push({ id: "broken.plain", path: "/broken/plain", ...row });
  table.routes.push({ id: "broken.token", path: "/broken/token", ...row, token_policy: { mode: "on_behalf_of", scopes: ["read"] } });
  const file = join(folder, "routes.yaml");
  await writeFile(file, stringify(table, { aliasDuplicateObjects: false }));
  return file;
};

/** Everything that the database holds, as text; bytes as hex. */
const dump = async (database: Database): Promise<readonly (readonly [place: string, text: string])[]> => {
  const tables = await database.run(
    statement<{ name: string }>(
      "test.tables",
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
    ),
  );
  return Promise.all(
    tables.map(async ({ name }) => {
      const rows = await database.run(statement<{ line: string }>(`test.dump ${name}`, `select t::text as line from ${name} t`));
      return [name, rows.map(({ line }) => line).join("\n")] as const;
    }),
  );
};

test("passwords, client secret, cookie and the provider's tokens are nowhere, whatever breaks: 500, 502, a refresh that fails", async (t) => {
  const ground = await requirePostgresGround(t, server);
  if (ground === undefined) return;
  const { sessionSecret: secret } = ground;
  const collector = await startCollector(t);
  const instance = await startTestInstance({
    environment: {
      ...ground.environment,
      OTLP_ENDPOINT: collector.url,
      ROUTES_FILE: await writeRoutes(t, ground.folder),
      LOG_LEVEL: "trace",
    },
  });
  cleanUp(t, async () => {
    await instance.kill();
    await instance.stop();
  });
  const database = await openPostgres(ground.databaseUrl);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const run = (text: string) => database.script(text);

  const canaries = new Map<string, string>();
  const answers: string[] = [];
  canaries.set("the session secret", secret.toString("base64"));
  canaries.set("the client secret", deriveClientSecret([secret], "sallyport-web"));

  // What somebody typed by mistake is often the password of something else.
  canaries.set("a password typed wrongly", `canary-${randomBytes(12).toString("hex")}`);
  const typed = canaries.get("a password typed wrongly") ?? "";
  const { cookie } = await signInPerson(instance.origin, "ben", async (browser, page) => {
    const refused = await browser.submit(page, { login: "ben", password: typed });
    assert.notEqual(refused.url.origin, instance.origin);
    answers.push(refused.html, refused.url.href, JSON.stringify([...refused.headers]));
    return refused;
  });
  canaries.set("the cookie", cookie.split("=")[1] ?? "");

  const keys = createSessionKeys([secret]);
  const learn = async (when: string): Promise<void> => {
    const [row] = await database.run(statement<SessionRow>("test.session", "select * from gateway.session"));
    const tokens = row && keys.openTokens(recordOf(row));
    assert.ok(tokens?.refreshToken, "the session holds the provider's tokens");
    canaries.set(`the access token ${when}`, tokens.accessToken.split(".").at(-1) ?? "");
    canaries.set(`the refresh token ${when}`, tokens.refreshToken);
  };
  await learn("at sign-in");

  const ask = async (path: string): Promise<number> => {
    const response = await fetch(`${instance.origin}${path}`, { headers: { cookie } });
    answers.push(await response.text(), JSON.stringify([...response.headers]));
    return response.status;
  };
  assert.equal(await ask("/api/configs/ui"), 200);
  assert.equal(await ask("/auth/session"), 200);
  assert.equal(await ask("/broken/plain"), 502);
  assert.equal(await ask("/broken/token"), 502, "the provider gives no token for it");

  // A record that is not as anybody foresaw.
  await run("create table public.kept as select claims from gateway.session; update gateway.session set claims = 'null'");
  await until(
    () => ask("/auth/session"),
    (status) => status === 500,
    60_000,
  );
  await run("update gateway.session set claims = kept.claims from public.kept; drop table public.kept");

  // A provider that breaks while it refreshes, and one that refuses.
  const expire = () => run("update gateway.session set access_expires_at = now() - interval '1 minute'");
  await run("alter table authn.oidc_artifact rename to oidc_artifact_away");
  await expire();
  await until(
    () => ask("/api/configs/ui"),
    (status) => status === 503,
    60_000,
  );
  await run("alter table authn.oidc_artifact_away rename to oidc_artifact");
  await until(
    () => ask("/api/configs/ui"),
    (status) => status === 200,
    60_000,
  );
  await learn("after a refresh");
  await run("delete from authn.oidc_artifact where kind = 'RefreshToken'");
  await expire();
  await until(
    () => ask("/api/configs/ui"),
    (status) => status === 401,
    60_000,
  );
  assert.deepEqual(await database.run(statement("test.left", "select ref from gateway.session")), [], "the session ended with it");

  for (const path of ["/metrics", "/api/v1/health", "/"]) await ask(path);
  await until(() => collector.spans.some((span) => span.name === "GET /broken/token"));
  assert.equal(await instance.stop(), 0);

  const output = instance.output();
  for (const word of ["token_refresh_failed", "upstream_auth_failed", "upstream_bad_response", "internal"])
    assert.ok(output.includes(word), `the faults were logged: ${word}`);
  const places = [
    ["output", output],
    ["answers", answers.join("\n")],
    ["telemetry", Buffer.concat(collector.raw).toString("latin1")],
    ...(await dump(database)),
  ] as const;
  assert.ok(places.length > 30 && places.some(([place]) => place === "events.outbox"), places.map(([place]) => place).join());
  assert.ok(places.filter(([, text]) => text.includes("tenant:acme")).length > 3, "what is no secret is found");
  for (const [what, canary] of canaries) {
    assert.ok(canary.length >= 20, what);
    for (const [form, needle] of formsOf(canary))
      for (const [place, text] of places) assert.ok(!text.includes(needle), `${what}, ${form}, in ${place}`);
  }
});
