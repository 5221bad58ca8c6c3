import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import type { Database } from "#store/database.ts";
import { testSecrets } from "#testing/secrets.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";

const scopes = ["read", "write", "rotate", "delete"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
const uri = "yaml://secret/keyed#k";
type Json = Record<string, unknown>;

/** The service on a file; what it writes may end in a fault all the same, and what it answers may not be kept. */
const open = async (t: TestContext) => {
  const inner = (await testSecrets(t)).provider;
  const on = { writes: 0, fails: undefined as Error | undefined, forgets: false };
  const provider: SecretProvider = {
    ...inner,
    write: async (...how) => {
      const written = await inner.write(...how);
      on.writes++;
      if (on.fails !== undefined) throw on.fails;
      return written;
    },
  };
  const wrap = (database: Database): Database => {
    const run: Database["run"] = async (what, ...values) => {
      if (on.forgets && what.name === "secrets.keyed_save") throw new Problem("store_unavailable");
      return database.run(what, ...values);
    };
    return Object.assign(Object.create(database) as Database, { run });
  };
  const at = await testSecrets(t, { providers: [provider], wrap });
  const send = async (path: string, body: unknown, raw?: string) => {
    const more = { headers: { "idempotency-key": "one" }, ...(raw === undefined ? { body } : { raw }) };
    const response = await at.send(ada, "POST", `/api/secrets${path}`, more);
    const reply = (await response.json()) as Json;
    return { reply, said: response.ok ? String(response.status) : `${response.status} ${String(reply["code"])}` };
  };
  const rotate = () => send("/rotate", { uri, value: "new" });
  const age = (by: string) => at.database.script(`update secrets.keyed_answer set claimed_at = now() - interval '${by}'`);
  assert.equal((await at.send(ada, "POST", "/api/secrets", { body: { uri, value: "old" } })).status, 201);
  on.writes = 0;
  return { at, on, send, rotate, age };
};

suite("what was sent with an Idempotency-Key and did not end well", () => {
  const issues: readonly (readonly [what: string, issue: Error, first: string, again: string, writes: number])[] = [
    [
      "whose answer was lost",
      new Problem("outcome_unknown", { members: { current_version: 7 } }),
      "504 outcome_unknown",
      "504 outcome_unknown",
      1,
    ],
    ["that met a fault nobody foresaw", new Error("unforeseen"), "500 internal", "504 outcome_unknown", 1],
    ["that is known to have failed", new Problem("provider_unavailable"), "503 provider_unavailable", "503 provider_unavailable", 2],
  ];
  for (const [what, issue, first, again, writes] of issues)
    test(`an act ${what} is done ${writes === 1 ? "once" : "again"}`, async (t) => {
      const { on, rotate } = await open(t);
      on.fails = issue;
      const { said, reply } = await rotate();
      assert.equal(said, first);
      const { correlation_id: _first, ...reported } = reply;
      const repeated = await rotate();
      assert.deepEqual([repeated.said, on.writes], [again, writes]);
      if (first !== "504 outcome_unknown") return;
      const { correlation_id: _again, ...toldAgain } = repeated.reply;
      assert.deepEqual(toldAgain, reported, "with the id of what was intended, too");
      assert.deepEqual([typeof reported["intent_id"], reported["current_version"]], ["string", 7]);
    });

  test("its repetition is answered to whoever may still do it", async (t) => {
    const { at, on, rotate } = await open(t);
    on.fails = new Problem("outcome_unknown", { members: { current_version: 7 } });
    await rotate();
    at.rule = () => false;
    assert.equal((await rotate()).said, "403 secret_authz_failed");
  });

  const bulk = { operations: [{ op: "set", uri, value: "new" }] };
  for (const [path, body] of [
    ["/rotate", { uri, value: "new" }],
    ["/bulk", bulk],
  ] as const)
    test(`${path} whose answer could not be kept, as by a process that died, is not done again within 24 hours`, async (t) => {
      const { on, send, age } = await open(t);
      on.forgets = true;
      assert.equal((await send(path, body)).said, "200");
      on.forgets = false;
      assert.equal((await send(path, body)).said, "409 in_progress");
      await age("11 minutes");
      assert.equal((await send(path, body)).said, "504 outcome_unknown");
      assert.equal(on.writes, 1);
      await age("25 hours");
      assert.equal((await send(path, body)).said, "200");
      assert.equal(on.writes, 2);
    });

  test("a number that no double holds is no version", async (t) => {
    const { send } = await open(t);
    const raw = '{"uri":"vaultA+kv2://kv-a/keyed","versions":[1e999]}';
    assert.equal((await send("/undelete", undefined, raw)).said, "422 versions_required");
  });
});
