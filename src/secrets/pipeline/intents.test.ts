import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { suite, test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { refOf } from "#secrets/providers/secret-provider.contract.ts";
import type { Intend, SecretProvider } from "#secrets/providers/secret-provider.ts";
import { statement } from "#store/database.ts";
import { createLog } from "#telemetry/log.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer } from "#testing/kv-provider.ts";
import { startOpenBao } from "#testing/openbao.ts";
import { requireProgram } from "#testing/programs.ts";
import { testSecrets } from "#testing/secrets.ts";
import { until } from "#testing/until.ts";
import { createChanges } from "#secrets/model/changes.ts";
import { createIntents } from "./intents.ts";
import { isSameData, SecretValue, toSecretData } from "#secrets/model/secret-value.ts";
import { settleIntents } from "./settle-intents.ts";
import type { Scheme } from "#contract/secret-schemes.ts";
import { parseSchemeAliases } from "#secrets/model/uri-schemes.ts";

const scopes = ["read", "write", "rotate", "delete", "destroy", "read_metadata"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
const { schemes } = parseSchemeAliases([], "SECRETS_SCHEME_ALIASES");
const policy = { schemes, isPlatform: () => false };
const log = createLog({ level: "silent", service: "secrets", version: "0", environment: "test", write: () => undefined });
const ROWS = statement<{ id: string; uri: string; op: string; state: string; row: string }>(
  "testing.intent_rows",
  "select id, uri, op, state, intent::text as row from secrets.intent order by created_at",
);

/** The service on the file and a double, whose acts its "process" may not survive; and whoever comes after it. */
const open = async (t: Parameters<typeof testSecrets>[0]) => {
  const store = await startKvDouble(t, "openbao");
  const secrets = [randomBytes(32)] as const;
  const at = await testSecrets(t);
  const kv = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken, TIMEOUT_MS: "300" }));
  const inner = new Map<Scheme, SecretProvider>([
    ["yaml", at.provider],
    ["vaulta+kv2", kv],
  ]);
  // Dies as soon as it has said what it is about to do, or when that is done.
  const life: { dies?: "before" | "after"; intended?: () => void } = {};
  const dead = (): never => {
    throw new Problem("provider_unavailable");
  };
  const intending = <M extends { readonly intend?: Intend }>(more: M): M => ({
    ...more,
    intend: async (intent) => {
      await more.intend?.(intent);
      life.intended?.();
      if (life.dies === "before") dead();
    },
  });
  const dying = async <T>(work: Promise<T>): Promise<T> => {
    const done = await work;
    return life.dies === "after" ? dead() : done;
  };
  const mortal = [...inner.values()].map((one): SecretProvider => ({
    ...one,
    write: (ref, change, expect) => dying(one.write(ref, change, intending(expect))),
    remove: (ref, how) => dying(one.remove(ref, intending(how))),
    settle: (ref, versions, how, more = {}) => dying(one.settle(ref, versions, how, intending(more))),
  }));
  const instance = await testSecrets(t, { providers: mortal, instanceSecrets: secrets });
  const parts = {
    intents: createIntents({ database: instance.database, secrets }, 0),
    providers: inner,
    policy,
    changes: createChanges(instance.database, 30),
    change: instance.change,
    resourceRef: undefined,
    log,
    metrics: instance.metrics,
  };
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await instance.send(ada, method, `/api/secrets${path}`, body === undefined ? {} : { body });
    return { status: response.status, reply: (await response.json()) as Record<string, unknown> };
  };
  /** Entries of acts that were ended for somebody else. */
  const ended = async () =>
    (await instance.entries()).filter(
      (entry) => "intent_id" in (entry["data"] as object) && (entry["actor"] as { kind: string }).kind === "system",
    );
  return { store, instance, inner, life, send, ended, rows: () => instance.database.run(ROWS), settle: () => settleIntents(parts) };
};

const stateOf = async (provider: SecretProvider, uri: string): Promise<string> => {
  try {
    const { value, version } = await provider.read(refOf(uri));
    return `${isSameData(SecretValue.reveal(value), toSecretData({ k: "new" })) ? "new" : "old"} ${version ?? ""}`.trim();
  } catch (error) {
    assert.ok(error instanceof Problem);
    return error.code;
  }
};

suite("what is about to be done to a store", () => {
  const acts: readonly [what: string, schemes: readonly string[], send: (uri: string) => [string, string, unknown?]][] = [
    ["write", ["yaml", "kv"], (uri) => ["POST", "", { uri, value: { k: "new" } }]],
    ["rotate", ["yaml", "kv"], (uri) => ["POST", "/rotate", { uri, value: { k: "new" } }]],
    ["bulk", ["yaml", "kv"], (uri) => ["POST", "/bulk", { operations: [{ op: "set", uri, value: { k: "new" } }] }]],
    ["delete", ["yaml", "kv"], (uri) => ["DELETE", `?uri=${encodeURIComponent(uri)}`]],
    ["destroy", ["kv"], (uri) => ["DELETE", `?uri=${encodeURIComponent(uri)}&destroy=true`]],
    ["undelete", ["kv"], (uri) => ["POST", "/undelete", { uri, versions: [1] }]],
  ];
  test("is told by the store when its process is gone: each that was done is told as done, no other is", async (t) => {
    const { instance, inner, life, send, ended, rows, settle } = await open(t);
    let count = 0;
    for (const [what, where, request] of acts)
      for (const scheme of where)
        for (const dies of ["before", "after"] as const) {
          const uri = `${scheme === "kv" ? "vaulta+kv2://kv-a" : "yaml://secret"}/i${++count}`;
          const provider = inner.get(scheme === "kv" ? "vaulta+kv2" : "yaml")!;
          life.dies = undefined;
          assert.equal((await send("POST", "", { uri, value: { k: "old" } })).status, 201);
          if (what === "undelete") await send("DELETE", `?uri=${encodeURIComponent(uri)}`);
          const before = await stateOf(provider, uri);
          life.dies = dies;
          const { status, reply } = await send(...request(uri));
          if (what === "bulk") assert.match(JSON.stringify(reply), /"status":503/);
          else assert.equal(status, 503, `${what} ${JSON.stringify(reply)}`);
          const after = await stateOf(provider, uri);
          assert.equal(before === after, dies === "before", `${what} of ${scheme}: ${before}, ${after}`);
          const left = (await rows()).filter((row) => row.state === "open");
          assert.deepEqual(
            left.map((row) => row.uri),
            [uri],
            `${what} of ${scheme}`,
          );
          const known = (await ended()).length;
          assert.equal(await settle(), 1);
          // Of a file nobody can tell whether a write was never there or is there no more.
          const state = dies === "after" ? "completed" : scheme === "yaml" && what !== "delete" ? "superseded" : "failed";
          assert.equal(
            (await rows()).find((row) => row.uri === uri && row.id === left[0]!.id)?.state,
            state,
            `${what} of ${scheme}, ${dies}`,
          );
          const reported = (await ended()).slice(known);
          assert.deepEqual(
            reported.map(({ outcome, data }) => [outcome, (data as { intent_id: string }).intent_id]),
            [[{ completed: "ok", failed: "refused", superseded: "unknown" }[state], left[0]!.id]],
          );
          const events = (await instance.events()).filter(
            ({ data }) => data["correlation_id"] === reported[0]!["correlation_id"] && data["outcome"] === "ok",
          );
          const [first, ...more] = events.map(({ type }) => type);
          assert.equal(first !== undefined, state === "completed", `${what} of ${scheme}, ${dies}`);
          const mark = { delete: "deleted", destroy: "destroyed", undelete: "undeleted" }[what];
          const marked = scheme === "kv" ? `secrets.kv2.${mark}` : "secrets.yaml.removed";
          assert.deepEqual(more, state === "completed" && mark !== undefined ? [marked] : [], `${what} of ${scheme}, ${dies}`);
          assert.equal(await settle(), 0);
          assert.equal(await stateOf(provider, uri), after, "looking changes nothing");
        }
    assert.ok(
      (await rows()).every(({ row }) => !/\bold\b|\bnew\b/.test(row)),
      "no row holds a value",
    );
  });

  test("is 504 with its id and the newest version known when the answer and every look are lost, and settled when the store is back", async (t) => {
    const { store, instance, inner, life, send, ended, rows, settle } = await open(t);
    const uri = "vaulta+kv2://kv-a/lost";
    assert.equal((await send("POST", "", { uri, value: { k: "old" } })).status, 201);
    for (const [issue, expected] of [
      ["cutAfter", "completed"],
      ["cutBefore", "failed"],
    ] as const) {
      life.intended = () => void (store.faults[issue] = 1000);
      const { status, reply } = await send("POST", "", { uri, value: { k: "new" } });
      life.intended = undefined;
      assert.equal(await settle(), 1);
      assert.match(await instance.metrics.text(), /^secrets_open_intents 1$/m);
      store.faults[issue] = 0;
      assert.deepEqual([status, reply["code"]], [504, "outcome_unknown"]);
      const base = expected === "completed" ? 1 : 2;
      assert.equal(reply["current_version"], base, "as it was before");
      const row = (await rows()).at(-1)!;
      assert.deepEqual([row.id, row.state], [reply["intent_id"], "open"]);
      const closed = (await instance.entries()).at(-1)!;
      assert.deepEqual([closed["outcome"], (closed["data"] as { intent_id: string }).intent_id], ["unknown", row.id]);
      await until(
        () => stateOf(inner.get("vaulta+kv2")!, uri),
        (state) => state === "new 2",
      );
      assert.equal(await settle(), 1);
      assert.match(await instance.metrics.text(), /^secrets_open_intents 0$/m);
      assert.equal((await rows()).at(-1)!.state, expected);
      assert.equal((await ended()).at(-1)!["outcome"], expected === "completed" ? "ok" : "refused");
      assert.equal((await send("GET", `/metadata/detail?uri=${encodeURIComponent(uri)}`)).reply["updated_by"], "person:ada");
    }
  });

  test("is enough to tell what came of 200 writes in the middle of which OpenBao is killed: what was acknowledged is there, the rest is known", async (t) => {
    const program = requireProgram(t, "bao");
    if (program === undefined) return;
    const bao = await startOpenBao(t, program, { storage: "disk" });
    const kv = kvProvider(kvServer({ URL: bao.url, TOKEN: bao.rootToken, TIMEOUT_MS: "500" }));
    const secrets = [randomBytes(32)] as const;
    const instance = await testSecrets(t, { more: [kv], instanceSecrets: secrets });
    const uriOf = (n: number): string => `vaulta+kv2://kv-a/n${n}`;
    let acknowledged = 0;
    const write = async (n: number) => {
      const response = await instance.send(ada, "POST", "/api/secrets", { body: { uri: uriOf(n), value: { k: "new" } } });
      const { intent_id: intentId } = (await response.json()) as { intent_id?: string };
      if (response.status === 201 && ++acknowledged === 60) void bao.kill();
      return { status: response.status, intentId };
    };
    const answers = (
      await Promise.all(
        Array.from({ length: 20 }, async (_, writer) => {
          const own = [];
          for (let n = writer; n < 200; n += 20) own.push([n, await write(n)] as const);
          return own;
        }),
      )
    ).flat();
    const said = new Set(answers.map(([, { status }]) => status));
    assert.ok(said.has(201) && said.has(503) && [...said].every((status) => [201, 503, 504].includes(status)), [...said].join());
    await bao.start();
    await until(
      () => kv.state(),
      ({ status }) => status === "up",
    );
    const settle = () =>
      settleIntents({
        intents: createIntents({ database: instance.database, secrets }, 0),
        providers: new Map([["vaulta+kv2", kv]]),
        policy,
        changes: createChanges(instance.database, 30),
        change: instance.change,
        resourceRef: undefined,
        log,
        metrics: instance.metrics,
      });
    const rows = () => instance.database.run(ROWS);
    await until(async () => {
      await settle();
      return (await rows()).every(({ state }) => state !== "open");
    });
    const kept = new Map((await rows()).map((row) => [row.uri, row]));
    const entries = await instance.entries();
    // Half a second is for those who write: what is there is asked by who waits.
    const patient = kvProvider(kvServer({ URL: bao.url, TOKEN: bao.rootToken }));
    for (const [n, { status, intentId }] of answers) {
      const isThere = (await stateOf(patient, uriOf(n))) === "new 1";
      const row = kept.get(uriOf(n));
      if (status === 201) assert.ok(isThere, `${n} was acknowledged`);
      if (status === 504) assert.equal(intentId, row?.id);
      // What was never about to be done is not there; of the rest the record says what is so.
      assert.equal(row?.state ?? "failed", isThere ? "completed" : "failed", `${n}: ${status}`);
      if (status === 201 || row === undefined) continue;
      const end = entries.find((entry) => (entry["data"] as { intent_id?: string }).intent_id === row.id && entry["phase"] === "single");
      assert.equal(end?.["outcome"], isThere ? "ok" : "refused");
    }
  });

  test("is not there when the store is never reached or refuses, and is over when it is done", async (t) => {
    const { instance, store, send, rows } = await open(t);
    const uri = "vaulta+kv2://kv-a/plain";
    assert.equal((await send("POST", "", { uri, value: { k: "v" } })).status, 201);
    assert.equal((await send("POST", "", { uri, value: { k: "v" }, cas: 7 })).reply["code"], "cas_mismatch");
    instance.rule = () => false;
    assert.equal((await send("POST", "", { uri, value: { k: "v" } })).status, 403);
    instance.rule = () => true;
    store.faults.sealed = true;
    assert.equal((await send("POST", "", { uri, value: { k: "v" } })).status, 503);
    assert.deepEqual(
      (await rows()).map(({ op, state }) => `${op} ${state}`),
      ["write completed"],
    );
  });
});
