import assert from "node:assert/strict";
import { test } from "node:test";
import { startOpenBao } from "#testing/openbao.ts";
import { requireProgram } from "#testing/programs.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestHouse } from "./test-house.ts";
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

test("every operation answers alike to a signed-in session through the gateway and to a token direct", async (t) => {
  const program = requireProgram(t, "bao");
  if (program === undefined) return;
  const bao = await startOpenBao(t, program, { storage: "memory" });
  const house = await startTestHouse({
    environment: {
      VAULTA_URL: bao.url,
      VAULTA_TOKEN: bao.rootToken,
      TENANT_ALLOWED_MOUNTS: '{"tenant:acme":["yaml://secret","vaultA+kv2://kv-a"],"tenant:globex":["yaml://secret/globex"]}',
      TENANT_SALT: "0123456789abcdef0123456789abcdef",
    },
  });
  t.after(() => house.stop());
  const person = await signInPerson(house.origin, "ada");
  const token = await fetchToken(house.port, { user: "ada" });
  const bearer = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const ways: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
    ["session", house.origin, person.headers],
    ["token", `http://localhost:${house.port + 5}`, bearer],
  ];
  for (const [way, origin, headers] of ways)
    for (const [scheme, base] of [
      ["file", "yaml://secret/e2e"],
      ["kv", "vaultA+kv2://kv-a/e2e"],
    ] as const) {
      const said: string[] = [];
      const uri = `${base}/${way}/row`;
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
        said.push(response.ok ? `${response.status}` : `${response.status} ${(JSON.parse(text) as { code: string }).code}`);
      }
      assert.deepEqual(
        said.map((one, at) => `${rows[at]?.[0]} ${rows[at]?.[1]("u")} ${one}`),
        rows.map(([method, path, , file, kv]) => `${method} ${path("u")} ${scheme === "file" ? file : kv}`),
        `${way} ${scheme}`,
      );
    }
});
