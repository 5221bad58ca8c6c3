import assert from "node:assert/strict";
import { test } from "node:test";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer } from "#testing/kv-provider.ts";
import { testSecrets } from "#testing/secrets.ts";

const scopes = ["read", "write", "delete", "destroy", "rotate", "read_metadata"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
const K = "vaultA+kv2://";
const X = `${K}kv-a/x`;

/** The documented table of bad inputs by its numbers, as far as one URI tells: what is sent, and what refuses it on reading and on writing. */
const rows: readonly (readonly [row: number, inputs: readonly string[], code: string, onWriting?: string])[] = [
  [1, [""], "uri_required"],
  [2, ["file:///etc/passwd", "http://kv-a/x", "yamlx://secret/a"], "uri_scheme"],
  [3, ["VAULTA+KV2://kv-a/x"], "secret_not_found", "written"],
  [4, ["vaultA+kv1://kv-a/x", "vaultA://kv-a/x"], "uri_scheme"],
  [5, ["yaml:/secret/a", "yaml:secret/a"], "uri_syntax"],
  [6, ["yaml://other/a"], "uri_authority"],
  [7, ["yaml://SECRET/a"], "uri_authority"],
  [8, ["yaml:///a"], "uri_authority"],
  [9, ["yaml://secret", "yaml://secret/"], "uri_path_empty"],
  [10, [`${K}user:pw@kv-a/x`], "uri_segment"],
  [11, [`${K}kv-a:8200/x`], "uri_segment"],
  [12, [`${K}[::1]/x`], "uri_segment"],
  [13, [`${K}kv-b/x`], "tenant_mount"],
  [14, [`${K}KV-A/x`], "tenant_mount"],
  [15, [`${K}kv-ab/x`], "tenant_mount"],
  [16, ["vaultB+kv2://kv-a/x"], "tenant_mount"],
  [17, [`${K}kv-a/../kv-b/x`], "uri_dot_segment"],
  [18, [`${K}kv-a/%2e%2e/kv-b/x`, `${K}kv-a/%2E./x`, `${K}kv-a/.%2e/x`], "uri_percent"],
  [19, [`${K}kv-a/a%2f..%2f..%2fsys%2fpolicy`], "uri_percent"],
  [20, [`${K}kv-a/%252e%252e/x`], "uri_percent"],
  [21, [`${K}kv-a/./x`, `${K}kv-a/x/.`], "uri_dot_segment"],
  [22, [`${K}kv-a/x/..`], "uri_dot_segment"],
  [23, [`${K}kv-a//x`, `${K}//kv-a/x`], "uri_empty_segment"],
  [24, [`${K}kv-a/x/`], "uri_empty_segment"],
  [25, [`${K}kv-a/a\\..\\b`], "uri_segment"],
  [26, [`${K}kv-a%2Fother/x`], "uri_percent"],
  [27, [`${X}\u0000`], "uri_control"],
  [27, [`${K}kv-a/%00`, `${K}kv-a/a%00.yaml`], "uri_percent"],
  [28, [`${X}\t`, `${X}\r`, `${X}\n`], "uri_control"],
  [28, [`${K}kv-a/a%0d%0aX-Vault-Namespace:%20root`], "uri_percent"],
  [29, [` ${X}`, `${X} `, `\ufeff${X}`, `\u00a0${X}`], "uri_control"],
  [30, [`${K}kv-a/caf\u00e9`, `${K}kv-a/cafe\u0301`], "uri_segment"],
  [31, [`${K}kv-\u0430/x`, `${K}\uff4bv-a/x`, `${K}\u212av-a/x`], "uri_segment"],
  [32, [`${K}kv-a/a\u202eb`, `${K}kv-a/a\u200db`], "uri_segment"],
  [32, [`${X}#a\u202eb`, `${X}#a\u200db`], "uri_key"],
  [33, [`${X}#%ff`, `${X}#%c0%ae`], "uri_key_encoding"],
  [34, [`${X}#%zz`, `${X}#%`, `${X}#%4`], "uri_key_encoding"],
  [35, [`${K}kv-a/new35#a/b`], "secret_not_found", "written"],
  [36, [`${X}#`], "uri_key_empty"],
  [37, [`${X}#a#b`], "uri_key"],
  [38, [`${K}kv-a/new38#__proto__`, `${K}kv-a/newer38#constructor`, `${K}kv-a/newest38#prototype`], "secret_not_found", "written"],
  [38, ["yaml://secret/a#__proto__", "yaml://secret/a#constructor", "yaml://secret/a#prototype"], "uri_key_reserved"],
  [39, ["yaml://secret/__proto__/x", "yaml://secret/a/constructor"], "uri_segment_reserved"],
  [40, ["0", "-1", "+1", "01", "1.0", "1e3", "0x1", "latest", ""].map((version) => `${X}?version=${version}`), "uri_version"],
  [41, [`${X}?version=${"1".repeat(20)}`], "uri_version"],
  [42, [`${X}?version=1&version=2#k`], "uri_query_repeated"],
  [43, [`${X}?version=1#k?version=2`], "uri_query_repeated"],
  [44, [`${X}?Version=1`, `${X}?ver=1`, `${X}?version=1&list=true`, `${X}?help=1`], "uri_query"],
  [45, ["yaml://secret/a#k?version=1"], "uri_version_unsupported"],
  [48, [`${K}kv-a/new48?version=1`], "secret_not_found", "uri_version_not_allowed"],
  [49, [`${K}${"a".repeat(500_000)}`, `${K}kv-a/${"a/".repeat(10_000)}x`, `${K}kv-a/${"a".repeat(129)}`], "uri_too_long"],
  [50, [`${K}kv-a/data/x`, `${K}kv-a/metadata/x`, `${K}kv-a/config`], "secret_not_found", "written"],
  [52, [`${K}ns1/kv-a/x`], "tenant_mount"],
  [57, ["a;x=1", "a*", "a+b", "{{identity}}"].map((segment) => `${K}kv-a/${segment}`), "uri_segment"],
];

test("each bad input gets its one code, in a query and in a body alike, is repeated in no answer, and reaches no store", async (t) => {
  const store = await startKvDouble(t, "vault");
  const server = kvServer({ URL: store.url, TOKEN: store.rootToken });
  const at = await testSecrets(t, { more: [kvProvider(server), kvProvider(server, { scheme: "vaultb+kv2" })] });
  for (const [row, inputs, code, onWriting = code] of rows)
    for (const uri of inputs) {
      const before = store.journal.length;
      const asked: readonly (readonly [string, Response])[] = [
        [code, await at.send(ada, "GET", `/api/secrets/value?uri=${encodeURIComponent(uri)}`)],
        [code, await at.send(ada, "GET", `/api/secrets/keys?uri=${encodeURIComponent(uri)}`)],
        [onWriting, await at.send(ada, "POST", "/api/secrets", { body: { uri, value: uri.includes("#") ? 1 : { k: 1 } } })],
        [code, await at.send(ada, "DELETE", `/api/secrets?uri=${encodeURIComponent(uri)}`)],
      ];
      for (const [index, [expected, response]] of asked.entries()) {
        const text = await response.text();
        const said = response.ok ? "written" : (JSON.parse(text) as { code: string }).code;
        // What was just written is there to be deleted; versions are told nowhere but on reading.
        if (index === 3 && onWriting !== code) continue;
        if (index === 1 && row === 48) continue;
        assert.equal(said, expected, `row ${row}: ${uri.slice(0, 60)}`);
        if (!response.ok && uri.length > 20) assert.ok(!text.includes(uri.slice(0, 200)), `row ${row} is repeated`);
      }
      if (code !== "secret_not_found") assert.equal(store.journal.length, before, `row ${row} reached the store`);
    }
  // Row 50: what looks like a verb of the store is a path like any other.
  assert.ok(store.journal.some(({ line }) => line === "GET /v1/kv-a/data/data/x"));
  assert.equal(({} as { x?: unknown }).x, undefined);
});

test("no header of a caller's that a store would read reaches one, and none changes what Sallyport says itself", async (t) => {
  const store = await startKvDouble(t, "openbao");
  const provider = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken, NAMESPACE: "team/one" }));
  const at = await testSecrets(t, { more: [provider] });
  const foreign = ["Token", "Namespace", "Wrap-TTL", "Index", "Inconsistent", "Forward", "MFA", "Policy-Override", "Request"];
  const headers = Object.fromEntries([...foreign, "Canary"].map((name) => [`X-Vault-${name}`, "canary"]));
  const uri = `${K}kv-a/headers`;
  const query = `uri=${encodeURIComponent(`${uri}#k`)}`;
  for (const [method, path, body, status] of [
    ["POST", "", { uri, value: { k: 1 } }, 201],
    ["GET", `/value?${query}`, undefined, 200],
    ["GET", `/versions?uri=${encodeURIComponent(uri)}`, undefined, 200],
    ["GET", `/metadata?prefix=${encodeURIComponent(uri)}`, undefined, 200],
    ["POST", "/copy", { fromUri: uri, toUri: `${uri}-copy` }, 201],
    ["DELETE", `?${query}`, undefined, 200],
  ] as const) {
    const before = store.journal.length;
    const response = await at.send(ada, method, `/api/secrets${path}`, { headers, ...(body === undefined ? {} : { body }) });
    assert.equal(response.status, status, `${method} ${path}`);
    assert.ok(store.journal.length > before);
  }
  for (const { line, headers: sent, namespace } of store.journal) {
    assert.ok(!JSON.stringify(sent).includes("canary"), line);
    if (!line.includes("/sys/health")) assert.equal(namespace, "team/one", line);
  }
});
