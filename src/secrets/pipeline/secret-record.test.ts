import assert from "node:assert/strict";
import { test } from "node:test";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer } from "#testing/kv-provider.ts";
import { testSecrets } from "#testing/secrets.ts";

const scopes = ["read", "write", "delete", "destroy", "rotate", "read_metadata"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };

const A = "vaulta+kv2://kv-a/recorded/a";
const Y = "yaml://secret/recorded/y";
const query = encodeURIComponent;

/** Acts one after the other on the same secrets: what is told of each, and the versions that event and record name. */
const rows: readonly (readonly [what: string, method: string, path: string, body: unknown, reported: string, versions: string])[] = [
  ["a first write", "POST", "", { uri: A, value: { k: 1, l: 1 } }, "updated", "1"],
  ["a read of what is there", "GET", `/value?uri=${query(A)}`, undefined, "read", "1"],
  ["a write of a key", "POST", "", { uri: `${A}#k`, value: 2 }, "updated", "2"],
  ["a read of a pinned version", "GET", `/value?uri=${query(A)}&version=1`, undefined, "read", "1"],
  ["a rotation", "POST", "/rotate", { uri: A, value: { k: 3, l: 3 } }, "rotated", "3"],
  ["a key that is taken out: a version of the rest", "DELETE", `?uri=${query(`${A}#l`)}`, undefined, "deleted", "4"],
  ["the destruction of two versions", "POST", "/destroy-versions", { uri: A, versions: [1, 2] }, "destroyed kv2.destroyed", "1 2"],
  ["a deletion", "DELETE", `?uri=${query(A)}`, undefined, "deleted kv2.deleted", "4"],
  ["a restoration", "POST", "/undelete", { uri: A, versions: [4] }, "undeleted kv2.undeleted", "4"],
  ["a copy, and the write of its target", "POST", "/copy", { fromUri: A, toUri: `${A}-copy` }, "updated copied", "1, 4"],
  ["a move, and the write of its target", "POST", "/move", { fromUri: `${A}-copy`, toUri: Y }, "updated moved kv2.deleted", ", 1"],
  ["the destruction of all", "DELETE", `?uri=${query(A)}&destroy=true`, undefined, "destroyed kv2.destroyed", "3 4"],
  ["a read of the file", "GET", `?uri=${query(Y)}`, undefined, "read", ""],
  ["a removal from the file", "DELETE", `?uri=${query(Y)}`, undefined, "deleted yaml.removed", ""],
];

const named = (data: unknown): string => {
  const { versions } = data as { versions: readonly number[] };
  return [...versions].toSorted((one, other) => one - other).join(" ");
};

test("event and record say which versions were read, made or marked, by which policies, and what was done to the store", async (t) => {
  const double = await startKvDouble(t, "openbao");
  const at = await testSecrets(t, { more: [kvProvider(kvServer({ URL: double.url, TOKEN: double.rootToken }))] });
  at.rule = () => ({ policyVersion: "policies-1" });
  let [events, entries] = [0, 0];
  for (const [what, method, path, body, reported, versions] of rows) {
    const response = await at.send(ada, method, `/api/secrets${path}`, body === undefined ? {} : { body });
    assert.ok(response.ok, `${what}: ${response.status} ${await response.text()}`);
    const newEvents = (await at.events()).slice(events);
    const newEntries = (await at.entries()).slice(entries);
    const closed = newEntries.filter(({ phase }) => phase === "close");
    [events, entries] = [events + newEvents.length, entries + newEntries.length];
    assert.equal(newEvents.map(({ type }) => type.replace("secrets.", "")).join(" "), reported, what);
    assert.equal(closed.map(({ data }) => named(data)).join(", "), versions, `${what}, recorded`);
    for (const { data } of [...newEvents, ...closed] as readonly { data: Record<string, unknown> }[])
      assert.equal(data["policy_version"], "policies-1", what);
    // Whatever is told of one act is told of the same.
    const acts = new Map(newEvents.map(({ data }) => [data["op"], named(data)]));
    assert.equal([...acts.values()].join(", "), versions, what);
  }
});

test("of a refusal the record says which policies denied, and of a write that was raced no version", async (t) => {
  const double = await startKvDouble(t, "openbao");
  const at = await testSecrets(t, { more: [kvProvider(kvServer({ URL: double.url, TOKEN: double.rootToken }))] });
  at.rule = ({ ask }) => ({ policyVersion: "policies-2", decision: ask.action !== "read" });
  assert.equal((await at.send(ada, "GET", `/api/secrets/value?uri=${query(A)}`)).status, 403);
  assert.equal((await at.send(ada, "POST", "/api/secrets", { body: { uri: A, value: { k: 1 }, cas: 7 } })).status, 409);
  const dataOf = (await at.entries()).flatMap(({ phase, data }) => (phase === "open" ? [] : [data as Record<string, unknown>]));
  assert.deepEqual(
    dataOf.map(({ op, policy_version, versions }) => [op, policy_version, versions]),
    [
      ["value", "policies-2", []],
      ["write", "policies-2", []],
    ],
  );
  assert.deepEqual(
    (await at.events()).map(({ type, data }) => [type, data["policy_version"]]),
    [["secrets.denied", "policies-2"]],
  );
});

test("what somebody wants a value for is sealed in the record of the read and of its denial, and in no event", async (t) => {
  const at = await testSecrets(t);
  const purpose = "looking after the canary of a purpose";
  const read = () => at.send(ada, "GET", `/api/secrets/value?uri=${query(Y)}`, { headers: { "x-purpose": purpose } });
  assert.equal((await at.send(ada, "POST", "/api/secrets", { body: { uri: Y, value: { k: 1 } } })).status, 201);
  assert.equal((await read()).status, 200);
  at.rule = () => false;
  assert.equal((await read()).status, 403);
  const entries = await at.entries();
  assert.deepEqual(
    entries.map(({ phase, outcome, sealed }) => [phase, outcome, typeof sealed]),
    [
      ["open", "pending", "undefined"],
      ["close", "ok", "undefined"],
      ["open", "pending", "string"],
      ["close", "ok", "string"],
      ["single", "denied", "string"],
    ],
  );
  assert.ok(!JSON.stringify([entries, await at.events()]).includes(purpose));
});
