import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { readInstanceSettings } from "#app/model/settings.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { ownMounts, watchMounts } from "./compare-mounts.ts";
import type { Peer } from "#contract/ask.ts";
import { listenService } from "#http/listen.ts";
import { silentLog } from "#telemetry/log.ts";
import { testSecrets } from "#testing/secrets.ts";
import { until } from "#testing/until.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { sharedOpenBao } from "#testing/kv-provider.ts";
import { requireProgram } from "#testing/programs.ts";
import { parseCommandLine, type PartName } from "#app/model/command-line.ts";
import { lookAtMounts, lookAtStores } from "./look-at-stores.ts";
import { planStart } from "./start-plan.ts";

const openBao = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });

const look = async (environment: Readonly<Record<string, string>>): Promise<readonly string[]> => {
  const { settings, issues } = readInstanceSettings({ ENVIRONMENT: "test", TENANT_ID: "tenant:acme", ...environment });
  assert.deepEqual(issues, []);
  const found = await lookAtStores({ settings, commandLine: { serve: new Set(["secrets"] as const) } });
  return found.map(({ status, text }) => `${status} ${text}`);
};
const server = (prefix: string, url: string) => ({ [`${prefix}_URL`]: url, [`${prefix}_TOKEN`]: "good for nothing" });

/** The same server at another port. */
const otherAddressOf = async (t: TestContext, url: string): Promise<string> => {
  const port = Number(new URL(url).port);
  const passing = createServer((socket) => {
    const there = connect(port, "127.0.0.1");
    for (const end of [socket, there]) end.on("error", () => (socket.destroy(), there.destroy()));
    socket.pipe(there).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(passing, "listening");
  cleanUp(t, () => passing.close());
  return `http://127.0.0.1:${(passing.address() as AddressInfo).port}`;
};

test("a place that is a child namespace of the store stops a start, and one store under two addresses too; no token is used", async (t) => {
  const bao = await openBao(t);
  if (bao === undefined) return;
  await bao.ask("POST", "sys/namespaces/team");
  await bao.ask("POST", "team/sys/namespaces/deeper");
  const both = { ...server("VAULTA", bao.url), ...server("VAULTB", await otherAddressOf(t, bao.url)) };
  const one = server("VAULT", bao.url);
  const ok = `ok VAULT_URL: ${bao.url}`;
  assert.deepEqual(await look({ ...one, TENANT_ALLOWED_MOUNTS: "yaml://secret,vaultA+kv2://kv-a,vaultA+kv2://none/x" }), [ok, ok]);
  const child = (place: string, name: string): string =>
    `fault TENANT_ALLOWED_MOUNTS: "vaulta+kv2://${place}": "${name}" is a namespace of ${bao.url} and no mount: name the namespace in VAULT_NAMESPACE, and here a mount of it`;
  assert.deepEqual(await look({ ...one, TENANT_ALLOWED_MOUNTS: "vaultA+kv2://team/kv-a,vaultA+kv2://team,vaultA+kv2://kv-a" }), [
    ok,
    ok,
    child("team/kv-a", "team"),
    child("team", "team"),
  ]);
  const inTeam = { ...one, VAULT_NAMESPACE: "/team/" };
  assert.deepEqual(await look({ ...inTeam, TENANT_ALLOWED_MOUNTS: "vaultA+kv2://deeper,vaultA+kv2://team" }), [
    ok,
    ok,
    child("deeper", "deeper"),
  ]);
  const elsewhere = await startKvDouble(t, "vault");
  const apart = { ...server("VAULTA", bao.url), ...server("VAULTB", elsewhere.url) };
  const mounts = "vaultA+kv2://kv-a,vaultB+kv2://kv-a";
  assert.deepEqual(
    (await look({ ...apart, TENANT_ALLOWED_MOUNTS: mounts })).filter((text) => !text.startsWith("ok")),
    [],
    "two stores",
  );
  const twice = await look({ ...both, TENANT_ALLOWED_MOUNTS: mounts });
  assert.deepEqual(
    twice.filter((text) => text.startsWith("fault")),
    ['fault TENANT_ALLOWED_MOUNTS: mount "kv-a" of one server is named by vaulta+kv2 and by vaultb+kv2: one secret would have two names'],
  );
});

test("a store that is away or sealed stops no start, and is said to be so", async (t) => {
  const sealed = await startKvDouble(t, "openbao");
  sealed.faults.sealed = true;
  const said = await look({
    ...server("VAULTA", "http://127.0.0.1:1"),
    ...server("VAULTB", sealed.url),
    TENANT_ALLOWED_MOUNTS: "vaultA+kv2://kv-a,vaultB+kv2://kv-a",
  });
  assert.deepEqual(said.toSorted(), [
    "warn VAULTA_URL: http://127.0.0.1:1 is unreachable now: its secrets are refused until it is there",
    `warn VAULTB_URL: ${sealed.url} is sealed now: its secrets are refused until it is there`,
  ]);
});

test("a process that takes names of secrets, and does not serve secrets, must know whose places are whose", async () => {
  const look = async (serve: readonly PartName[], mounts: string | undefined, more: { demo?: boolean; tenant?: string } = {}) => {
    const { demo = false, tenant = "" } = more;
    const set = mounts === undefined ? {} : { TENANT_ALLOWED_MOUNTS: mounts };
    const { settings, issues } = readInstanceSettings({ ENVIRONMENT: "test", TENANT_ID: tenant, ...set });
    assert.deepEqual(issues, []);
    const commandLine = parseCommandLine(["--serve", serve.join(","), ...(demo ? [] : ["--no-demo"])]);
    const found = await lookAtMounts(planStart({ commandLine, settings, environment: {}, from: "." }));
    return found.map(({ status, text }) => `${status} ${text.split(",")[0]}`).join();
  };
  const without = (who: string): string => `fault TENANT_ALLOWED_MOUNTS is not set: ${who} must have it as secrets has`;
  assert.equal(await look(["crud"], undefined), without("crud"));
  assert.equal(await look(["gateway", "crud", "membership"], undefined), without("crud and membership"));
  assert.equal(await look(["membership"], undefined, { demo: true, tenant: "tenant:acme" }), without("membership"));
  for (const serve of [["gateway"], ["pdp", "issuer"], ["secrets"], ["crud", "membership", "secrets"]] as const)
    assert.equal(await look(serve, undefined), "", serve.join());
  for (const mounts of ["{}", '{"tenant:acme":["yaml://secret/acme"]}']) assert.equal(await look(["crud"], mounts), "");
  assert.equal(await look(["crud"], undefined, { demo: true }), "", "the demo brings its own");
});

test("mounts other than those of the secrets service refuse a start, an empty value too; how they are written is no matter", async (t) => {
  const secret = randomBytes(32);
  const there = '{"tenant:a":["yaml://secret/a","yaml://secret/c"],"platform":["yaml://secret/p"],"tenant:none":[]}';
  const at = await testSecrets(t, { settings: { TENANT_ALLOWED_MOUNTS: there }, instanceSecrets: [secret] });
  const listening = await listenService(at.service.fetch, { port: 0, hosts: ["127.0.0.1"], tls: undefined });
  cleanUp(t, () => listening.close());
  const look = async (mounts: string, serve: string, more: { url?: string; secrets?: readonly Buffer[] } = {}) => {
    const { url = `http://127.0.0.1:${listening.port}`, secrets = [secret] } = more;
    const { settings, issues } = readInstanceSettings({
      ENVIRONMENT: "test",
      SESSION_SECRETS: secrets.map((one) => one.toString("base64")).join(),
      SECRETS_SERVICE_URL: url,
      TENANT_ALLOWED_MOUNTS: mounts,
    });
    assert.deepEqual(issues, []);
    const commandLine = parseCommandLine(["--serve", serve, "--no-demo"]);
    return (await lookAtMounts(planStart({ commandLine, settings, environment: {}, from: "." }))).map(
      ({ status, text }) => `${status} ${text}`,
    );
  };
  const same = '{"platform":["yaml://secret/p"],"tenant:a":["yaml://secret/c","YAML://secret/a"]}';
  const withoutPlatform = '{"tenant:a":["yaml://secret/a","yaml://secret/c"]}';
  const refused = /^fault TENANT_ALLOWED_MOUNTS is not what the secrets service has \(http.*crud.*Set one value for all processes\.$/;
  for (const mounts of [there, same]) assert.deepEqual(await look(mounts, "crud"), []);
  for (const mounts of ["{}", withoutPlatform, '{"tenant:b":["yaml://secret/a","yaml://secret/c"],"platform":["yaml://secret/p"]}']) {
    assert.match((await look(mounts, "crud,gateway")).join(), refused, mounts);
    assert.deepEqual(await look(mounts, "pdp,gateway"), [], "nothing there goes by it");
    assert.deepEqual(await look(mounts, "crud", { url: "http://127.0.0.1:1" }), [], "nobody to compare with");
  }
  assert.deepEqual(await look(same, "crud", { secrets: [randomBytes(32), secret] }), [], "while the root secret is rotated");

  const own = (mounts: string) => {
    const { settings } = readInstanceSettings({ ENVIRONMENT: "test", TENANT_ALLOWED_MOUNTS: mounts });
    return ownMounts(planStart({ commandLine: parseCommandLine(["--serve", "crud"]), settings, environment: {}, from: "." }), [secret]);
  };
  const away = () => Promise.reject(new Error("away"));
  let secrets: Peer = away;
  const watch = watchMounts({ secrets: (request) => secrets(request), own: own("{}"), log: silentLog, everyMs: 5 });
  cleanUp(t, () => watch[Symbol.asyncDispose]());
  await sleep(50);
  assert.equal(watch.differ(), false);
  secrets = at.service.fetch;
  await until(() => watch.differ());
  secrets = away;
  await sleep(50);
  assert.equal(watch.differ(), true, "what was found stands while it is away");
  const empty = await testSecrets(t, { settings: { TENANT_ALLOWED_MOUNTS: "{}" }, instanceSecrets: [secret] });
  secrets = empty.service.fetch;
  await until(() => !watch.differ());
});
