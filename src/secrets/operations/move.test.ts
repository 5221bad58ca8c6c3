import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { suite, test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import { refOf } from "#secrets/providers/secret-provider.contract.ts";
import type { KvClient } from "#secrets/providers/kvv2/kv-client.ts";
import type { Recorder } from "#events/audit/entry.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";
import { createYamlProvider } from "#secrets/providers/yaml/yaml-provider.ts";
import { statement, type Database } from "#store/database.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer, sharedOpenBao } from "#testing/kv-provider.ts";
import { requireProgram } from "#testing/programs.ts";
import { testSecrets } from "#testing/secrets.ts";
import { createLog, silentLog } from "#telemetry/log.ts";
import { createChanges } from "#secrets/model/changes.ts";
import { createMoveJournal } from "#secrets/pipeline/move-journal.ts";
import { settleMoves } from "./move.ts";
import { isSameData, SecretValue, toSecretData } from "#secrets/model/secret-value.ts";
import type { Scheme } from "#contract/secret-schemes.ts";
import { parseSchemeAliases } from "#secrets/model/uri-schemes.ts";

const openBaoA = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });
const openBaoB = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes: ["secrets.read", "secrets.write", "secrets.delete"] };
const { schemes } = parseSchemeAliases([], "SECRETS_SCHEME_ALIASES");
const policy = { schemes, isPlatform: () => false };
const STATES = statement<{ state: string; from_uri: string }>(
  "testing.move_states",
  "select state, from_uri from secrets.move order by created_at",
);

interface Life {
  steps: number;
  isDead: boolean;
}
/** One step further, or dead. */
const isDeadNow = (life: Life): boolean => {
  if (life.steps-- === 0) life.isDead = true;
  return life.isDead;
};
/** Steps of a process that "dies" before or after the n-th of them: nothing that follows is done. */
const stepsOf =
  (life: Life) =>
  async <T>(work: () => Promise<T>): Promise<T> => {
    if (isDeadNow(life)) throw new Problem("provider_unavailable");
    const done = await work();
    if (isDeadNow(life)) throw new Problem("provider_unavailable");
    return done;
  };

/** Whatever the process waits for is such a step: each request to a store, each call of the file, each statement, each record of an act. */
const dyingFile = (inner: SecretProvider, life: Life): SecretProvider => {
  const step = stepsOf(life);
  return {
    ...inner,
    read: (ref) => step(() => inner.read(ref)),
    write: (...how) => step(() => inner.write(...how)),
    remove: (...how) => step(() => inner.remove(...how)),
  };
};
const dyingDatabase = (inner: Database, life: Life): Database => {
  const step = stepsOf(life);
  const run: Database["run"] = (...how) => step(() => inner.run(...how));
  return Object.assign(Object.create(inner) as Database, { run });
};
const dyingClient = (inner: KvClient, life: Life): KvClient => {
  const step = stepsOf(life);
  return { ...inner, call: (...how) => step(() => inner.call(...how)) };
};
const dyingRecorder = (inner: Recorder, life: Life): Recorder => {
  const step = stepsOf(life);
  return {
    ...inner,
    open: async (...how) => {
      const act = await step(() => inner.open(...how));
      return { ...act, close: (...end) => step(() => act.close(...end)).catch(() => "pending" as const) };
    },
  };
};

let place = 0;
const open = async (t: TestContext) => {
  const [a, b] = await Promise.all([openBaoA(t), openBaoB(t)]);
  if (a === undefined || b === undefined) return undefined;
  const at = await testSecrets(t);
  const stores = (wrap: (client: KvClient) => KvClient): readonly (readonly [Scheme, SecretProvider])[] => [
    ["vaulta+kv2", kvProvider(kvServer({ URL: a.url, TOKEN: a.rootToken }), { wrap })],
    ["vaultb+kv2", kvProvider(kvServer({ URL: b.url, TOKEN: b.rootToken }), { scheme: "vaultb+kv2", wrap })],
  ];
  const inner = new Map<Scheme, SecretProvider>([["yaml", at.provider], ...stores((client) => client)]);
  const mortal = (life: Life): readonly SecretProvider[] => [
    dyingFile(at.provider, life),
    ...stores((client) => dyingClient(client, life)).map(([, provider]) => provider),
  ];
  return { at, inner, mortal };
};

const there = async (provider: SecretProvider, uri: string): Promise<boolean> => {
  try {
    const value = SecretValue.reveal((await provider.read(refOf(uri))).value);
    return isSameData(value, toSecretData(uri.includes("#") ? ["v", 1] : { k: "v", n: 1 }));
  } catch (error) {
    assert.ok(error instanceof Problem && ["secret_not_found", "version_deleted", "key_not_found"].includes(error.code), String(error));
    return false;
  }
};

suite("moving a secret", () => {
  const bases = { yaml: "yaml://secret", "vaulta+kv2": "vaulta+kv2://kv-a", "vaultb+kv2": "vaultb+kv2://kv-b" } as const;
  // Each pair of stores. The two servers are of one kind: what one has shown at every step, the other shows at each fifth.
  for (const [from, to, every] of [
    ["yaml", "vaulta+kv2", 1],
    ["vaulta+kv2", "yaml", 1],
    ["vaulta+kv2", "vaultb+kv2", 1],
    ["vaultb+kv2", "vaulta+kv2", 1],
    ["vaulta+kv2", "vaulta+kv2", 1],
    ["yaml", "yaml", 1],
    ["yaml", "vaultb+kv2", 5],
    ["vaultb+kv2", "yaml", 5],
    ["vaultb+kv2", "vaultb+kv2", 5],
    // A key gets another name.
    ["yaml", "itself", 1],
    ["vaulta+kv2", "itself", 1],
    ["vaultb+kv2", "itself", 5],
  ] as const)
    test(`from ${from} to ${to}, killed at ${every === 1 ? "everything" : "each fifth of what"} it waits for: it is at one place or at both, and whoever comes after ends it`, async (t) => {
      const on = await open(t);
      if (on === undefined) return;
      const { inner } = on;
      const [source, target] = [inner.get(from)!, inner.get(to === "itself" ? from : to)!];
      const log = createLog({ level: "silent", service: "secrets", version: "0", environment: "test", write: () => undefined });
      // The service's own rounds have nothing to do with it.
      const life = { steps: Number.POSITIVE_INFINITY, isDead: false };
      const instance = await testSecrets(t, {
        providers: on.mortal(life),
        wrap: (database) => dyingDatabase(database, life),
        wrapRecorder: (recorder) => dyingRecorder(recorder, life),
      });
      instance.rule = () => (isDeadNow(life) || isDeadNow(life) ? new Problem("decision_unavailable") : true);
      const changes = createChanges(instance.database, 30);
      const settledEntries = async () =>
        (await instance.entries()).filter(({ data }) => (data as { move_id?: string }).move_id !== undefined);
      let settled = 0;
      let ended = false;
      for (let steps = 0; !ended; steps += every) {
        place++;
        const at = `${bases[from]}/m${place}/a`;
        const [fromUri, toUri] = to === "itself" ? [`${at}#one`, `${at}#other`] : [at, `${bases[to]}/m${place}/b`];
        const value = toSecretData(to === "itself" ? ["v", 1] : { k: "v", n: 1 });
        const decided = new Set((await source.nodes(refOf(fromUri))).map((node) => node.id));
        await source.write(refOf(fromUri), { value, replace: to !== "itself" }, { decided });
        Object.assign(life, { steps, isDead: false });
        const response = await instance.send(ada, "POST", "/api/secrets/move", { body: { fromUri, toUri } });
        ended = !life.isDead;
        const places = [await there(source, fromUri), await there(target, toUri)];
        assert.ok(places.includes(true), `nowhere after ${steps} steps`);
        if (ended) {
          assert.equal(response.status, 201);
          assert.deepEqual(places, [false, true]);
        }
        // The database tells milliseconds: what was begun in this one is abandoned, too.
        const journal = createMoveJournal(instance.database, -1);
        settled += await settleMoves({ journal, providers: inner, policy, changes, change: instance.change, resourceRef: undefined, log });
        const after = [await there(source, fromUri), await there(target, toUri)];
        assert.equal(after.filter(Boolean).length, 1, `settled after ${steps} steps: ${after.join()}`);
        const reported = (await instance.database.run(STATES)).find(({ from_uri }) => from_uri === refOf(fromUri).id)?.state;
        // Whoever died before the journal was begun has touched nothing.
        assert.deepEqual(reported ?? "failed", after[0] ? "failed" : "done", `the journal after ${steps} steps`);
        assert.equal((await settledEntries()).length, settled, "each that was ended for another is in the audit log");
        assert.ok(steps < 200);
      }
      assert.ok(settled > (every === 1 ? 4 : 0), String(settled));
      const states = (await instance.database.run(STATES)).map(({ state }) => state);
      assert.ok(states.length > 2 && states.every((state) => state === "done" || state === "failed"), states.join());
      assert.equal(states.at(-1), "done");
    });

  test("a source that somebody writes meanwhile stays, as does the copy; one that somebody takes away is no secret that was never there", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    for (const [from, isTaken] of [
      ["yaml", false],
      ["yaml", true],
      ["vaulta+kv2", false],
      ["vaulta+kv2", true],
    ] as const) {
      const provider = on.inner.get(from)!;
      place++;
      const [fromUri, toUri] = [`${bases[from]}/m${place}/a`, `vaultb+kv2://kv-b/m${place}/b`];
      const put = async (n: number) => {
        const decided = new Set((await provider.nodes(refOf(fromUri))).map((node) => node.id));
        await provider.write(refOf(fromUri), { value: toSecretData({ n }), replace: true }, { decided });
      };
      const meddling: SecretProvider = {
        ...provider,
        remove: async (...how) => {
          if (isTaken) await provider.remove(how[0], { hard: false, decided: how[1].decided });
          else await put(2);
          return provider.remove(...how);
        },
      };
      const instance = await testSecrets(t, { providers: [...on.inner.values()].map((one) => (one === provider ? meddling : one)) });
      await put(1);
      const response = await instance.send(ada, "POST", "/api/secrets/move", { body: { fromUri, toUri } });
      assert.equal(`${response.status} ${((await response.json()) as { code: string }).code}`, "409 source_changed");
      const valueOf = async (uri: string) =>
        ((await (await instance.send(ada, "GET", `/api/secrets/value?uri=${encodeURIComponent(uri)}`)).json()) as { value: unknown }).value;
      assert.deepEqual([await valueOf(fromUri), await valueOf(toUri)], [isTaken ? undefined : { n: 2 }, { n: 1 }]);
      assert.deepEqual(
        (await instance.database.run(STATES)).map(({ state }) => state),
        ["failed"],
      );
    }
  });

  for (const [issue, said, words, journal, isSettledAs] of [
    ["provider_redirect", "504 outcome_unknown", /written; .* not known/, "verified", "done"],
    ["provider_error", "504 outcome_unknown", /written; .* not known/, "verified", "done"],
    ["provider_unavailable", "504 outcome_unknown", /written; .* not known/, "verified", "done"],
    ["outcome_unknown", "504 outcome_unknown", /written; .* not known/, "verified", "done"],
    ["provider_denied", "403 provider_denied", /written, and the source stays/, "failed", "failed"],
  ] as const)
    test(`a move whose target is written, and whose source is not deleted for ${issue}, says that it was written, and is settled`, async (t) => {
      const store = await startKvDouble(t, "openbao");
      const provider = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }));
      const refusing: SecretProvider = { ...provider, remove: () => Promise.reject(new Problem(issue, { detail: "The store's own." })) };
      const instance = await testSecrets(t, { providers: [refusing] });
      place++;
      const [fromUri, toUri] = [`vaulta+kv2://kv-a/m${place}/a`, `vaulta+kv2://kv-a/m${place}/b`];
      for (const [uri, value] of [
        [fromUri, { k: "v", n: 1 }],
        [toUri, { other: 1 }],
      ] as const)
        await instance.send(ada, "POST", "/api/secrets", { body: { uri, value } });
      const before = [(await instance.entries()).length, (await instance.events()).length] as const;
      const response = await instance.send(ada, "POST", "/api/secrets/move", { body: { fromUri, toUri, overwrite: true } });
      const reply = (await response.json()) as { code: string; detail: string };
      assert.equal(`${response.status} ${reply.code}`, said);
      assert.match(reply.detail, words);
      assert.deepEqual([await there(provider, fromUri), await there(provider, toUri)], [true, true]);
      const closed = (await instance.entries()).slice(before[0]).filter(({ phase }) => phase === "close");
      assert.deepEqual(
        closed.map(({ outcome, data }) => [(data as { op: string }).op, outcome]),
        [
          ["write", "ok"],
          ["move", response.status === 504 ? "unknown" : "refused"],
        ],
      );
      assert.deepEqual(
        (await instance.events()).slice(before[1]).map(({ type }) => type),
        ["secrets.updated"],
      );
      const stateOf = async () => (await instance.database.run(STATES)).map(({ state }) => state).join();
      assert.equal(await stateOf(), journal);
      await settleMoves({
        journal: createMoveJournal(instance.database, -1),
        providers: new Map([["vaulta+kv2", provider]]),
        policy,
        changes: createChanges(instance.database, 30),
        change: instance.change,
        resourceRef: undefined,
        log: silentLog,
      });
      assert.equal(await stateOf(), isSettledAs);
      assert.deepEqual([await there(provider, fromUri), await there(provider, toUri)], [isSettledAs === "failed", true]);
    });

  test("a key that gets another name keeps what is written beside it, and itself where somebody wrote it meanwhile", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    for (const from of ["yaml", "vaulta+kv2"] as const) {
      const provider = on.inner.get(from)!;
      let meanwhile: (() => Promise<unknown>) | undefined;
      const meddling: SecretProvider = {
        ...provider,
        write: async (...how) => {
          const work = meanwhile;
          meanwhile = undefined;
          await work?.();
          return provider.write(...how);
        },
      };
      const instance = await testSecrets(t, { providers: [meddling] });
      place++;
      const uri = `${bases[from]}/m${place}/ren`;
      const send = async (path: string, body: unknown) => {
        const response = await instance.send(ada, "POST", `/api/secrets${path}`, { body });
        return response.ok ? String(response.status) : `${response.status} ${((await response.json()) as { code: string }).code}`;
      };
      const value = async () =>
        ((await (await instance.send(ada, "GET", `/api/secrets/value?uri=${encodeURIComponent(uri)}`)).json()) as { value: unknown }).value;
      assert.equal(await send("", { uri, value: { k: "v", beside: 1 } }), "201");
      assert.equal(await send("/move", { fromUri: `${uri}#k`, toUri: `${uri}#j` }), "201");
      assert.deepEqual(await value(), { beside: 1, j: "v" });
      // Onto itself by its name it would be gone.
      assert.equal(await send("/move", { fromUri: `${uri}#j`, toUri: uri, overwrite: true }), "400 same_resource");
      meanwhile = () => provider.write(refOf(`${uri}#j`), { value: "newer", replace: false }, { decided: new Set([refOf(`${uri}#j`).id]) });
      assert.equal(await send("/move", { fromUri: `${uri}#j`, toUri: `${uri}#i` }), "409 source_changed");
      assert.deepEqual(await value(), { beside: 1, j: "newer", i: "v" });
    }
  });

  test("of two nodes of the file of which one holds the other none is carried to the other, whatever it is called; keys beside them are", async (t) => {
    const instance = await testSecrets(t);
    const send = async (path: string, body: unknown) => {
      const response = await instance.send(ada, "POST", `/api/secrets${path}`, { body });
      return response.ok ? String(response.status) : `${response.status} ${((await response.json()) as { code: string }).code}`;
    };
    const n = "yaml://secret/n";
    await send("", { uri: n, value: { x: { k: "v", y: { j: "w" } }, m: 1 } });
    const before = await readFile(instance.path, "utf8");
    const pairs = [
      ["/x", "/x/y/z"],
      ["/x", "#x"],
      ["#x", "/x"],
      ["#x", "/x/y"],
      ["/x/y", "/x"],
      ["/x/y", "#x"],
      ["/x/y#j", "/x#y"],
      ["/x#y", "/x/y#j"],
    ] as const;
    for (const path of ["/move", "/copy"])
      for (const [from, to] of pairs)
        for (const overwrite of [false, true])
          for (const dry_run of [false, true])
            assert.equal(
              await send(path, { fromUri: `${n}${from}`, toUri: `${n}${to}`, overwrite, dry_run }),
              "400 same_resource",
              `${path} ${from} ${to}`,
            );
    // A dry run refuses what the act refuses, and does nothing.
    for (const path of ["/move", "/copy"])
      for (const [from, to, overwrite, said] of [
        ["/x/y#j", "/free", false, "200"],
        ["/x/y#j", "/x", false, "409 target_exists"],
        ["/x/y#j", "/x", true, "200"],
        ["/nothing", "/free", false, "404 secret_not_found"],
        ["/x/y", "/free#k", false, "422 copy_shape"],
      ] as const)
        assert.equal(await send(path, { fromUri: `${n}${from}`, toUri: `${n}${to}`, overwrite, dry_run: true }), said, `${path} ${from}`);
    assert.equal(await readFile(instance.path, "utf8"), before);
    assert.equal(await send("/move", { fromUri: `${n}/x/y#j`, toUri: `${n}/x`, overwrite: true }), "200");
    assert.equal(await send("/move", { fromUri: `${n}/x`, toUri: `${n}/x2` }), "201");
  });

  const [y, k] = ["yaml://secret", "vaulta+kv2://kv-a"];
  const refusals: readonly [file: "dev" | "production", path: string, from: string, to: string, more: object, said: string][] = [
    ["dev", "/copy", `${y}/a`, `${k}/new`, {}, "422 value_shape"],
    ["dev", "/move", `${y}/a#cents`, `${k}/new#cents`, {}, "422 value_shape"],
    ["dev", "/copy", `${k}/x`, `${k}/y`, {}, "409 target_exists"],
    ["dev", "/copy", `${k}/x`, `${k}/y`, { overwrite: true, cas: 7 }, "409 cas_mismatch"],
    ["dev", "/move", `${k}/x`, `${k}/y`, { overwrite: true, cas: 7 }, "409 cas_mismatch"],
    ["dev", "/copy", `${k}/x`, `${y}/b`, { overwrite: true, cas: 1 }, "501 not_supported"],
    ["dev", "/copy", `${k}/x`, `${y}/a/cents/deeper`, {}, "422 value_shape"],
    ["dev", "/copy", `${k}/none`, `${k}/new`, {}, "404 secret_not_found"],
    ["production", "/copy", `${k}/x`, `${y}/b`, {}, "403 provider_readonly"],
    ["production", "/move", `${y}/b`, `${k}/moved`, {}, "403 provider_readonly"],
    ["production", "/copy", `${y}/b`, `${k}/copied`, {}, "20x"],
    ["dev", "/move", `${k}/x`, `${y}/moved`, {}, "20x"],
  ];
  test("a dry run is refused as its act is, touches no store, and is recorded as a read of both ends and told nobody", async (t) => {
    const store = await startKvDouble(t, "openbao");
    for (const name of ["x", "y"]) await store.ask("POST", `kv-a/data/${name}`, { data: { k: name } });
    const { path } = await testSecrets(t);
    await writeFile(path, "a:\n  cents: 1.10\nb:\n  k: v\n", { mode: 0o600 });
    const kv = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }));
    for (const [environment, where, fromUri, toUri, more, said] of refusals) {
      const file = await createYamlProvider({ path, environment, log: silentLog, now: () => new Date() });
      const instance = await testSecrets(t, { providers: [file, kv] });
      const send = async (body: object) => {
        const response = await instance.send(ada, "POST", `/api/secrets${where}`, { body: { fromUri, toUri, ...more, ...body } });
        return response.ok ? "20x" : `${response.status} ${((await response.json()) as { code: string }).code}`;
      };
      const name = `${where} ${fromUri} ${toUri} ${JSON.stringify(more)}`;
      const touched = async () => [await readFile(path, "utf8"), store.journal.filter(({ line }) => /^POST .*kv-a/.test(line)).length];
      const before = await touched();
      assert.equal(await send({ dry_run: true }), said, name);
      assert.deepEqual(await touched(), before, name);
      const [entries, events] = [await instance.entries(), await instance.events()];
      assert.ok(entries.length > 0 && entries.every(({ data }) => (data as { op: string }).op === "read"), name);
      if (said === "20x")
        assert.deepEqual(
          entries.map(({ phase, outcome, data }) => [phase, outcome, (data as { purpose: string }).purpose]),
          [
            ["open", "pending", "read"],
            ["open", "pending", "write"],
            ["close", "ok", "write"],
            ["close", "ok", "read"],
          ],
          name,
        );
      assert.deepEqual(events, [], name);
      assert.equal(await send({}), said, name);
    }
  });

  test("names that differ only in case are two resources: one is copied and moved to the other, and neither is the other's", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    const instance = await testSecrets(t, { providers: [...on.inner.values()] });
    place++;
    for (const base of Object.values(bases).map((one) => `${one}/m${place}`))
      for (const [name, lower, upper] of [
        ["path", `${base}/x/case`, `${base}/x/CASE`],
        ["folder", `${base}/f/a`, `${base}/F/a`],
        ["key", `${base}/keys#case`, `${base}/keys#CASE`],
      ] as const) {
        const send = async (path: string, body: unknown) => {
          const response = await instance.send(ada, "POST", `/api/secrets${path}`, { body });
          return response.ok ? String(response.status) : `${response.status} ${((await response.json()) as { code: string }).code}`;
        };
        const values = () =>
          Promise.all(
            [lower, upper].map(async (uri) => {
              const response = await instance.send(ada, "GET", `/api/secrets/value?uri=${encodeURIComponent(uri)}`);
              const { value, code } = (await response.json()) as { value?: unknown; code?: string };
              return value ?? code;
            }),
          );
        const [one, other] = name === "key" ? ["one", "other"] : [{ k: "one" }, { k: "other" }];
        const gone = name === "key" ? "key_not_found" : base.startsWith("yaml") ? "secret_not_found" : "version_deleted";
        await send("", { uri: lower, value: one });
        const ends = { fromUri: lower, toUri: upper };
        assert.equal(await send("/copy", ends), "201", `${base} ${name}`);
        assert.equal(await send("/copy", ends), "409 target_exists");
        await send("", { uri: upper, value: other });
        assert.deepEqual(await values(), [one, other]);
        assert.equal(await send("/move", { ...ends, overwrite: true }), "200");
        assert.deepEqual(await values(), [gone, one]);
        assert.equal(await send("/move", { fromUri: upper, toUri: upper, overwrite: true }), "400 same_resource");
      }
  });

  test("a target that is there stays unless it may be overwritten, and a key keeps its name at a path", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    const instance = await testSecrets(t, { providers: [...on.inner.values()] });
    place++;
    const [one, other] = [`vaulta+kv2://kv-a/m${place}`, `yaml://secret/m${place}`];
    const send = async (path: string, body: unknown) => {
      const response = await instance.send(ada, "POST", `/api/secrets${path}`, { body });
      return response.ok ? String(response.status) : `${response.status} ${((await response.json()) as { code: string }).code}`;
    };
    assert.equal(await send("", { uri: `${one}/a`, value: { k: "v", l: "w" } }), "201");
    assert.equal(await send("/copy", { fromUri: `${one}/a#k`, toUri: `${other}/b` }), "201");
    assert.equal(await send("/copy", { fromUri: `${one}/a#k`, toUri: `${other}/b` }), "409 target_exists");
    assert.equal(await send("/copy", { fromUri: `${one}/a`, toUri: `${other}/b`, overwrite: true }), "200");
    assert.equal(await send("/copy", { fromUri: `${other}/b#l`, toUri: `${one}/c#renamed` }), "201");
    const value = async (uri: string) =>
      ((await (await instance.send(ada, "GET", `/api/secrets/value?uri=${encodeURIComponent(uri)}`)).json()) as { value: unknown }).value;
    assert.deepEqual([await value(`${other}/b`), await value(`${one}/c`)], [{ k: "v", l: "w" }, { renamed: "w" }]);
    assert.equal(await send("/copy", { fromUri: `${one}/none`, toUri: `${other}/d` }), "404 secret_not_found");

    // Over the version that was looked at, and no other: who wrote it meanwhile loses nothing, and what is moved stays where it was.
    const over = { fromUri: `${other}/b`, toUri: `${one}/c`, overwrite: true };
    for (const path of ["/copy", "/move"]) assert.equal(await send(path, { ...over, cas: 2 }), "409 cas_mismatch");
    assert.deepEqual([await value(`${other}/b`), await value(`${one}/c`)], [{ k: "v", l: "w" }, { renamed: "w" }]);
    assert.equal(await send("/move", { ...over, cas: 1 }), "200");
    assert.deepEqual(await value(`${one}/c`), { k: "v", l: "w" });
    assert.equal(await send("/copy", { fromUri: `${one}/c`, toUri: `${other}/e`, overwrite: true, cas: 1 }), "501 not_supported");
  });
});
