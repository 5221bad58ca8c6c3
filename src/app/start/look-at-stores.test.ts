import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { readInstanceSettings } from "#app/model/settings.ts";
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

test("a process that takes names of secrets, and does not serve secrets, must know whose places are whose", () => {
  const look = (serve: readonly PartName[], mounts: string | undefined, more: { demo?: boolean; tenant?: string } = {}): string => {
    const { demo = false, tenant = "" } = more;
    const set = mounts === undefined ? {} : { TENANT_ALLOWED_MOUNTS: mounts };
    const { settings, issues } = readInstanceSettings({ ENVIRONMENT: "test", TENANT_ID: tenant, ...set });
    assert.deepEqual(issues, []);
    const commandLine = parseCommandLine(["--serve", serve.join(","), ...(demo ? [] : ["--no-demo"])]);
    const found = lookAtMounts(planStart({ commandLine, settings, environment: {}, from: "." }));
    return found.map(({ status, text }) => `${status} ${text.split(",")[0]}`).join();
  };
  const without = (who: string): string => `fault TENANT_ALLOWED_MOUNTS is not set: ${who} must have it as secrets has`;
  assert.equal(look(["crud"], undefined), without("crud"));
  assert.equal(look(["gateway", "crud", "membership"], undefined), without("crud and membership"));
  assert.equal(look(["membership"], undefined, { demo: true, tenant: "tenant:acme" }), without("membership"));
  for (const serve of [["gateway"], ["pdp", "issuer"], ["secrets"], ["crud", "membership", "secrets"]] as const)
    assert.equal(look(serve, undefined), "", serve.join());
  for (const mounts of ["{}", '{"tenant:acme":["yaml://secret/acme"]}']) assert.equal(look(["crud"], mounts), "");
  assert.equal(look(["crud"], undefined, { demo: true }), "", "the demo brings its own");
});
