import assert from "node:assert/strict";
import { test } from "node:test";
import { startOpenBao } from "#testing/openbao.ts";
import { requireProgram } from "#testing/programs.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

/** Each operation on `uri`, and the status of the file and of KVv2; the destruction wants a second factor. */
const rows: readonly (readonly [
  method: string,
  path: (uri: string) => string,
  body: ((uri: string) => unknown) | undefined,
  string,
  string,
])[] = [
  ["POST", () => "", (uri) => ({ uri: `${uri}#k`, value: "v\u00e4lue +/% 1" }), "201", "201"],
  ["GET", (uri) => `?uri=${encodeURIComponent(`${uri}#k`)}`, undefined, "200", "501 not_supported"],
  ["GET", (uri) => `/value?uri=${encodeURIComponent(`${uri}#k`)}`, undefined, "200", "200"],
  ["POST", () => "/rotate", (uri) => ({ uri: `${uri}#k`, value: "rotated" }), "200", "200"],
  ["GET", (uri) => `/metadata?prefix=${encodeURIComponent(uri)}`, undefined, "200", "200"],
  ["GET", (uri) => `/keys?uri=${encodeURIComponent(uri)}`, undefined, "200", "200"],
  ["GET", (uri) => `/metadata/detail?uri=${encodeURIComponent(uri)}`, undefined, "501 not_supported", "200"],
  ["GET", (uri) => `/versions?uri=${encodeURIComponent(uri)}`, undefined, "501 not_supported", "200"],
  ["GET", (uri) => `/search?q=row&prefix=${encodeURIComponent(uri)}`, undefined, "200", "200"],
  ["POST", () => "/bulk", (uri) => ({ operations: [{ op: "set", uri: `${uri}#l`, value: 1 }], dry_run: true }), "200", "200"],
  ["POST", () => "/copy", (uri) => ({ fromUri: uri, toUri: `${uri}-copy`, overwrite: true }), "201", "201"],
  ["POST", () => "/move", (uri) => ({ fromUri: `${uri}-copy`, toUri: `${uri}-moved` }), "201", "201"],
  ["DELETE", (uri) => `?uri=${encodeURIComponent(uri)}`, undefined, "200", "200"],
  ["POST", () => "/undelete", (uri) => ({ uri, versions: [2] }), "501 not_supported", "200"],
  ["POST", () => "/destroy-versions", (uri) => ({ uri, versions: [1] }), "501 not_supported", "401 step_up_required"],
  ["GET", () => "/audit?limit=5", undefined, "200", "200"],
  ["GET", () => "/events", undefined, "200", "200"],
];

/** What each row answers on `uri`. */
const answersOf = async (origin: string, headers: Readonly<Record<string, string>>, uri: string): Promise<string[]> => {
  const said: string[] = [];
  for (const [method, path, body] of rows) {
    const ended = new AbortController();
    const response = await fetch(`${origin}/api/secrets${path(uri)}`, {
      method,
      headers: { ...headers, "x-purpose": "looking at each operation" },
      signal: ended.signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body(uri)) }),
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const text = isStream ? "{}" : await response.text();
    ended.abort();
    said.push(`${method} ${path("u")} ${response.status} ${response.ok ? "" : (JSON.parse(text) as { code: string }).code}`.trim());
  }
  return said;
};
const wanted = (scheme: string): string[] =>
  rows.map(([method, path, , file, kv]) => `${method} ${path("u")} ${scheme === "file" ? file : kv}`);

test("every operation answers alike to a signed-in session through the gateway and to a token direct", async (t) => {
  const program = requireProgram(t, "bao");
  if (program === undefined) return;
  const bao = await startOpenBao(t, program, { storage: "memory" });
  const instance = await startTestInstance({
    environment: {
      VAULTA_URL: bao.url,
      VAULTA_TOKEN: bao.rootToken,
      TENANT_ALLOWED_MOUNTS: '{"tenant:acme":["yaml://secret/e2e","vaultA+kv2://kv-a"],"tenant:globex":["yaml://secret/globex"]}',
      TENANT_SALT: "0123456789abcdef0123456789abcdef",
    },
  });
  t.after(() => instance.stop());
  const person = await signInPerson(instance.origin, "ada");
  const token = await fetchToken(instance.port, { user: "ada" });
  const bearer = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const ways: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
    ["session", instance.origin, person.headers],
    ["token", `http://localhost:${instance.port + 5}`, bearer],
  ];
  for (const [way, origin, headers] of ways)
    for (const [scheme, base] of [
      ["file", "yaml://secret/e2e"],
      ["kv", "vaultA+kv2://kv-a/e2e"],
    ] as const) {
      assert.deepEqual(await answersOf(origin, headers, `${base}/${way}/row`), wanted(scheme), `${way} ${scheme}`);
    }
});

test("in dev and test the contract's optional mode is lived: every operation without a token, within the mounts and nowhere else", async (t) => {
  const program = requireProgram(t, "bao");
  if (program === undefined) return;
  const bao = await startOpenBao(t, program, { storage: "memory" });
  const instance = await startTestInstance({
    environment: {
      VAULTA_URL: bao.url,
      VAULTA_TOKEN: bao.rootToken,
      SECRETS_API_REQUIRE_AUTH: "false",
      SECRETS_ENFORCE_SCOPES: "false",
      TENANT_ID: "tenant:acme",
      TENANT_ALLOWED_MOUNTS: "yaml://secret/e2e,vaultA+kv2://kv-a",
      TENANT_SALT: "0123456789abcdef0123456789abcdef",
    },
  });
  t.after(() => instance.stop());
  const origin = `http://localhost:${instance.port + 5}`;
  const plain = { "content-type": "application/json" };
  for (const [scheme, base] of [
    ["file", "yaml://secret/e2e"],
    ["kv", "vaultA+kv2://kv-a/e2e"],
  ] as const)
    assert.deepEqual(
      await answersOf(origin, plain, `${base}/row`),
      // Nobody can be asked for a second factor.
      wanted(scheme).map((one) => one.replace("401 step_up_required", "200")),
      scheme,
    );
  const read = async (path: string) => {
    const response = await fetch(`${origin}/api/secrets${path}`);
    return { status: response.status, body: (await response.json()) as { code?: string; items?: unknown[]; mounts?: unknown[] } };
  };
  assert.equal((await read("/mounts")).body.mounts?.length, 2);
  assert.ok(((await read("/metadata?prefix=yaml%3A%2F%2Fsecret%2Fe2e")).body.items?.length ?? 0) > 0);
  assert.ok(((await read("/audit?limit=500")).body.items?.length ?? 0) > 10);
  assert.equal((await read("?uri=yaml%3A%2F%2Fsecret%2Fpeople%2Fdemo")).body.code, "tenant_mount");
  const membership = await fetch(`http://localhost:${instance.port + 4}/api/v1/identity_nodes/search?q=ada`);
  assert.equal(membership.status, 401);
});
