import assert from "node:assert/strict";
import { test } from "node:test";
import { kvProvider, kvServer, sharedOpenBao } from "#testing/kv-provider.ts";
import { requireProgram } from "#testing/programs.ts";
import { testSecrets } from "#testing/secrets.ts";

const openBao = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });
const scopes = ["secrets.read", "secrets.write", "secrets.delete", "secrets.destroy"];
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
const eve = { sub: "person:eve", tenant: "tenant:globex", scopes };
const reader = { ...ada, sub: "person:dan", scopes: ["secrets.read", "secrets.write", "secrets.delete"] };

/** Spellings of a place of acme; the last ones by way of a place of globex. */
const places = [
  "vaulta+kv2://kv-a/acme/x",
  "vaultA+kv2://kv-a/acme/x",
  "vaulta+kv2://kv-a/%61cme/x",
  "vaulta+kv2://kv-a/acme%2Fx",
  "vaulta+kv2://kv-a//acme/x",
  "vaulta+kv2://kv-a/globex/../acme/x",
  "vaulta+kv2://kv-a/globex/%2e%2e/acme/x",
  "vaulta+kv2://kv-a/globex/%2E%2E%2Facme%2Fx",
  "vaulta+kv2://kv-a/globex/..%252facme/x",
  "vaulta+kv2://kv-a/globex/x/%2e%2e/%2e%2e/acme/x",
];

test("no spelling of another tenant's secret, and no caller without the right, deletes or destroys it in a real OpenBao", async (t) => {
  const bao = await openBao(t);
  if (bao === undefined) return;
  const settings = {
    TENANT_ALLOWED_MOUNTS: JSON.stringify({ "tenant:acme": ["vaultA+kv2://kv-a/acme"], "tenant:globex": ["vaultA+kv2://kv-a/globex"] }),
    TENANT_SALT: "0123456789abcdef0123456789abcdef",
  };
  const at = await testSecrets(t, { settings, more: [kvProvider(kvServer({ URL: bao.url, TOKEN: bao.rootToken }))] });
  assert.equal((await bao.ask("POST", "kv-a/data/acme/x", { data: { k: "canary" } })).status, 200);
  const destroys = (uri: string): readonly (readonly [method: string, path: string, body?: unknown])[] => [
    ["DELETE", `?uri=${encodeURIComponent(uri)}`],
    ["DELETE", `?uri=${encodeURIComponent(uri)}&destroy=true`],
    ["POST", "/destroy-versions", { uri, versions: [1] }],
  ];
  const refused = async (who: typeof ada, uri: string, only: (at: number) => boolean = () => true): Promise<void> => {
    for (const [index, [method, path, body]] of destroys(uri).entries()) {
      if (!only(index)) continue;
      const response = await at.send(who, method, `/api/secrets${path}`, body === undefined ? {} : { body });
      const text = await response.text();
      assert.ok(
        response.status === 403 || response.status === 404 || response.status === 400,
        `${uri} ${path}: ${response.status} ${text}`,
      );
      assert.ok(!text.includes("canary"));
    }
  };
  for (const uri of places) await refused(eve, uri);
  // Deletion alone is theirs, and it is not tried here.
  await refused(reader, places[0] ?? "", (index) => index > 0);
  const { status, data } = await bao.ask("GET", "kv-a/data/acme/x");
  assert.deepEqual([status, (data["data"] as { readonly data: unknown }).data], [200, { k: "canary" }]);
  const [, destroyAll] = destroys(places[0] ?? "");
  assert.equal((await at.send(ada, "DELETE", `/api/secrets${destroyAll?.[1]}`)).status, 200, "who may, does");
  assert.equal((await bao.ask("GET", "kv-a/data/acme/x")).status, 404);
});
