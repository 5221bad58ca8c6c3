import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import { readText, refOf, refusal, write } from "#secrets/providers/secret-provider.contract.ts";
import { readPosition } from "#secrets/model/store-position.ts";
import { startKvDouble, type KvDoubleFaults } from "#testing/kv-double.ts";
import { kvProvider, kvServer } from "#testing/kv-provider.ts";
import { startOpenBao } from "#testing/openbao.ts";
import { requireProgram } from "#testing/programs.ts";
import { selfSigned } from "#testing/self-signed.ts";
import { until } from "#testing/until.ts";

const detailOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof Problem ? `${error.code} ${error.options.detail ?? ""}` : String(error)),
  );

test("a store that is sealed, killed, silent or not who it should be is refused in words, and served again by itself", async (t) => {
  const program = requireProgram(t, "bao");
  if (program === undefined) return;
  const folder = await mkdtemp(join(tmpdir(), "kv-faults-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const tls = await selfSigned(t, ["127.0.0.1"]);
  const caFile = join(folder, "ca.pem");
  await writeFile(caFile, tls.cert);
  const bao = await startOpenBao(t, program, { storage: "disk", tls });
  const settings = { URL: bao.url, TOKEN: bao.rootToken, TIMEOUT_MS: "500" };
  const provider = kvProvider(kvServer({ ...settings, CACERT: caFile }));
  const uri = "vaultA+kv2://kv-a/a#k";
  await write(provider, uri, "1");
  const read = () => provider.read(refOf(uri));
  const works = (value: string) =>
    until(
      () => readText(provider, uri).catch((error: unknown) => String(error)),
      (said) => said === value,
    );
  assert.deepEqual(await provider.state(), { status: "up" });

  await t.test("wrong certificate", async () => {
    const stranger = kvProvider(kvServer(settings));
    assert.match(
      await detailOf(stranger.read(refOf(uri))),
      /^provider_unavailable The store's certificate is not trusted here \([A-Z_]+\)\.$/,
    );
  });

  await t.test("sealed", async () => {
    await bao.ask("PUT", "sys/seal");
    assert.equal(await detailOf(read()), "provider_unavailable The store is sealed.");
    assert.equal(await refusal(write(provider, uri, "2")), "provider_unavailable");
    assert.deepEqual(await provider.state(), { status: "degraded", issue: "sealed" });
    await bao.unseal();
    await works("1");
    assert.deepEqual(await provider.state(), { status: "up" });
  });

  await t.test("silent", async () => {
    await bao.freeze();
    assert.equal(await detailOf(read()), "provider_unavailable The store does not answer.");
    bao.thaw();
    await works("1");
  });

  await t.test("killed in the middle of writes: each that was answered is there, and no other", async () => {
    const answers = Array.from({ length: 20 }, (_, index) => refusal(write(provider, `vaultA+kv2://kv-a/w${index}#k`, String(index))));
    await answers[3];
    await bao.kill();
    const said = await Promise.all(answers);
    assert.ok(said.includes("done") && said.every((one) => ["done", "provider_unavailable", "outcome_unknown"].includes(one)), said.join());
    assert.deepEqual(await provider.state(), { status: "degraded", issue: "unreachable" });
    await bao.start();
    await works("1");
    for (const [index, one] of said.entries()) {
      const there = await refusal(provider.read(refOf(`vaultA+kv2://kv-a/w${index}#k`)));
      if (one === "done") assert.equal(there, "done");
      if (one === "provider_unavailable") assert.equal(there, "secret_not_found", String(index));
    }
    await write(provider, uri, "2");
    await works("2");
  });
});

/** A server that answers each request by this. */
const answering = async (t: TestContext, status: number, body: string, headers: Record<string, string> = {}) => {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? "");
    request.resume();
    response.writeHead(status, headers).end(body);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { paths, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
};

test("a store that sends elsewhere is not followed", async (t) => {
  const foreign = await answering(t, 200, "{}");
  const store = await answering(t, 307, "", { location: `${foreign.url}/v1/auth/token/renew-self` });
  const provider = kvProvider(kvServer({ URL: store.url, TOKEN: "canary-token" }));
  assert.equal(await refusal(provider.read(refOf("vaultA+kv2://kv-a/a#k"))), "provider_redirect");
  assert.deepEqual(foreign.paths, []);
});

for (const [status, said, whole] of [
  [200, "up", "up"],
  [429, "up", "standby"],
  [473, "up", "perf_standby"],
  [472, "degraded", "dr_secondary"],
  [501, "degraded", "uninitialised"],
  [503, "degraded", "sealed"],
  [418, "degraded", "unreachable"],
] as const)
  test(`a store whose health is ${status} is ${said}: ${whole}`, async (t) => {
    const store = await startKvDouble(t, "vault");
    store.faults.health = status;
    const provider = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }));
    assert.deepEqual(await provider.state(), said === "up" ? { status: said } : { status: said, issue: whole });
    assert.deepEqual(
      store.journal.map(({ line, hasToken }) => [line, hasToken]),
      [["GET /v1/sys/health?standbyok=true&perfstandbyok=true", false]],
    );
  });

for (const [what, status, body, code] of [
  ["no JSON", 200, "<html>canary</html>", "provider_error"],
  ["no mount", 200, '{"data":{"canary":1}}', "not_supported"],
  ["nothing", 200, "", "not_supported"],
  ["a fault of its own", 500, '{"errors":["canary"]}', "provider_unavailable"],
  ["a fault of ours", 418, '{"errors":["canary"]}', "provider_error"],
] as const)
  test(`a store that answers ${what} gives no secret, and none of its words`, async (t) => {
    const store = await answering(t, status, body);
    const provider = kvProvider(kvServer({ URL: store.url, TOKEN: "token" }));
    const said = await detailOf(provider.read(refOf("vaultA+kv2://kv-a/a#k")));
    assert.ok(said.startsWith(code) && !said.includes("canary"), said);
  });

/** What the store does, what a read and then a write of version 2 are answered, and how many versions there are then. */
const faulty: readonly (readonly [what: string, issues: Partial<KvDoubleFaults>, read: string, write: string, versions: number])[] = [
  ["cuts one connection before it does anything", { cutBefore: 1 }, "done", "done", 2],
  ["cuts connections time after time", { cutBefore: 1000 }, "provider_unavailable", "provider_unavailable", 1],
  ["is over its quota for two requests", { quota429: 2 }, "done", "done", 2],
  ["is over its quota", { quota429: 1000 }, "provider_unavailable", "provider_unavailable", 1],
  ["is a standby that is behind for two requests", { answer412: 2 }, "done", "done", 2],
  ["has a fault of its own for two requests", { answer500: 2 }, "done", "done", 2],
  [
    "stands behind a proxy that does not reach it for two requests",
    { answer500: 2, issueStatus: 502, issueBody: "<html>" },
    "done",
    "done",
    2,
  ],
  [
    "stands behind a proxy that does not reach it",
    { answer500: 1000, issueStatus: 502, issueBody: "<html>" },
    "provider_unavailable",
    "provider_unavailable",
    1,
  ],
  ["is not ready for two requests, and not sealed", { answer500: 2, issueStatus: 503 }, "done", "done", 2],
  ["is not ready, and not sealed", { answer500: 1000, issueStatus: 503, issueBody: "" }, "provider_unavailable", "provider_unavailable", 1],
  ["answers with a megabyte more than there is to say", { moreBytes: 1024 * 1024 }, "done", "done", 2],
  ["has a fault of its own", { answer500: 1000 }, "provider_unavailable", "provider_unavailable", 1],
  ["refuses a token that cannot be replaced", { deny: 1000 }, "provider_denied", "provider_denied", 1],
  ["is sealed", { sealed: true }, "provider_unavailable", "provider_unavailable", 1],
  ["is slower than anybody waits", { slowMs: 600 }, "provider_unavailable", "provider_unavailable", 1],
  ["sends elsewhere", { redirectTo: "http://127.0.0.1:9/v1/kv-a/data/a" }, "provider_redirect", "provider_redirect", 1],
];
for (const [what, issues, read, written, versions] of faulty)
  test(`a store that ${what}: ${read}, ${written}, nothing half done, and it is used again by itself`, async (t) => {
    const store = await startKvDouble(t, "vault");
    const good = { ...store.faults };
    const provider = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken, TIMEOUT_MS: "300" }));
    const uri = "vaultA+kv2://kv-a/a#k";
    await write(provider, uri, "1");
    Object.assign(store.faults, issues);
    assert.equal(await refusal(provider.read(refOf(uri))), read);
    Object.assign(store.faults, good, issues);
    const said = await refusal(write(provider, uri, "2"));
    Object.assign(store.faults, good);
    // A slow store may do what nobody waits for any more: then nobody was told that it was not done.
    if (issues.slowMs === undefined) assert.equal(said, written);
    else assert.match(said, /^(?:provider_unavailable|outcome_unknown)$/);
    await until(
      () => refusal(provider.read(refOf(uri))),
      (now) => now === "done",
    );
    const { current_version } = await provider.describe(refOf("vaultA+kv2://kv-a/a"));
    if (issues.slowMs === undefined) assert.equal(current_version, versions);
  });

test("an answer over 32 MiB is refused in words and asked for once; the store is used on", async (t) => {
  const store = await startKvDouble(t, "vault");
  const provider = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken, TIMEOUT_MS: "20000" }));
  const uri = "vaultA+kv2://kv-a/a#k";
  await write(provider, uri, "1");
  store.faults.moreBytes = 32 * 1024 * 1024;
  for (let tries = 0; tries < 2; tries++) {
    const before = store.journal.length;
    assert.equal(await detailOf(provider.read(refOf(uri))), "provider_error The store's answer is over 32 MiB.");
    assert.equal(store.journal.length, before + 1);
  }
  assert.equal(await refusal(write(provider, uri, "2")), "provider_error");
  store.faults.moreBytes = 0;
  assert.equal(await readText(provider, uri), "1");
});

for (const flavor of ["vault", "openbao"] as const)
  test(`what ${flavor} was told is waited for by whoever reads next, at a standby too, and one sent on goes where the settings say`, async (t) => {
    const store = await startKvDouble(t, flavor);
    const provider = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken, FLAVOR: flavor }));
    const uri = "vaultA+kv2://kv-a/a#k";
    await write(provider, uri, "1");
    await write(provider, uri, "2");
    store.faults.behind = 4;
    assert.equal(await readText(provider, uri), "2");
    const waits = store.journal.slice(-2).map((one) => (one.waits ?? "").split(" "));
    for (const [index = ""] of waits) assert.equal(readPosition(index)?.value, "2");
    assert.deepEqual(
      waits.map(([, word]) => word),
      [flavor === "openbao" ? "await-state" : "forward-active-node", "forward-active-node"],
    );
    store.faults.behind = 4;
    await write(provider, uri, "3");
    assert.equal(await readText(provider, uri), "3");
    const refused = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken, FLAVOR: flavor }));
    await write(refused, uri, "3");
    store.faults.behind = 2;
    store.faults.refusesInconsistent = true;
    assert.equal(await readText(refused, uri), "3", "one that refuses the word is asked without it, until it has come so far");
    assert.ok(!(store.journal.at(-1)?.waits ?? "").includes(" "));
    store.faults.refusesInconsistent = false;
    store.faults.behind = 1000;
    // OpenBao sends on whoever says so.
    if (flavor === "openbao") assert.equal(await readText(provider, uri), "3");
    else assert.equal(await refusal(provider.read(refOf(uri))), "provider_unavailable");
    store.faults.behind = 0;

    const standby = await startKvDouble(t, flavor);
    const settings = { URL: standby.url, TOKEN: store.rootToken };
    const sentOn = kvProvider(kvServer({ ...settings, ALLOWED_ORIGINS: store.url }));
    standby.faults.redirectTo = store.url;
    assert.equal(await readText(sentOn, uri), "3");
    assert.equal(await refusal(kvProvider(kvServer(settings)).read(refOf(uri))), "provider_redirect", "only where the settings say");
    const reached = store.journal.length;
    for (const status of [301, 302, 303, 308]) {
      standby.faults.redirectStatus = status;
      assert.equal(await refusal(sentOn.read(refOf(uri))), "provider_redirect", `${status} says more than that it stands by`);
    }
    assert.equal(store.journal.length, reached);
    standby.faults.redirectStatus = 307;
    standby.faults.redirectTo = `${store.url}/v1/kv-a/data/b`;
    assert.equal(await refusal(sentOn.read(refOf(uri))), "provider_redirect", "only the same path");
  });

test("while the active node changes, nodes that send to one another are followed a few times, and are unavailable then", async (t) => {
  const [active, one, other] = await Promise.all([startKvDouble(t, "vault"), startKvDouble(t, "vault"), startKvDouble(t, "vault")]);
  const uri = "vaultA+kv2://kv-a/a#k";
  await write(kvProvider(kvServer({ URL: active.url, TOKEN: active.rootToken })), uri, "1");
  const settings = { URL: one.url, TOKEN: active.rootToken, ALLOWED_ORIGINS: [active.url, other.url].join() };
  one.faults.redirectTo = other.url;
  other.faults.redirectTo = active.url;
  const provider = kvProvider(kvServer(settings));
  assert.equal(await readText(provider, uri), "1", "one that sends on to one that sends on");
  await write(provider, uri, "2");
  assert.equal(await readText(provider, uri), "2");
  for (const [what, work] of [
    ["a read", () => provider.read(refOf(uri))],
    ["a write", () => write(provider, uri, "3")],
  ] as const) {
    other.faults.redirectTo = one.url;
    const before = one.journal.length + other.journal.length;
    const error = await work().then(
      () => undefined,
      (thrown: unknown) => thrown as Problem,
    );
    assert.equal(error?.code, "provider_unavailable", what);
    assert.deepEqual(error.options.headers, { "retry-after": "2" }, what);
    const asked = one.journal.length + other.journal.length - before;
    assert.ok(asked > 4 && asked <= 3 * 4 * 2, `${what} is tried again, each time followed three times: ${asked}`);
  }
  const foreign = await startKvDouble(t, "vault");
  other.faults.redirectTo = foreign.url;
  assert.equal(await refusal(provider.read(refOf(uri))), "provider_redirect", "not where the settings do not say");
  assert.deepEqual(foreign.journal, []);
  other.faults.redirectTo = active.url;
  assert.equal(await readText(provider, uri), "2", "nothing was written by what was refused");
});

for (const status of [403, 404, 405] as const)
  test(`keys of a store that answers ${status} to keys without values are read with them, and it is asked once`, async (t) => {
    const store = await startKvDouble(t, "vault");
    const provider = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }));
    const uri = "vaultA+kv2://kv-a/a";
    await write(provider, uri, '{"k":1,"l":2}');
    const asked = async (): Promise<readonly string[]> => {
      const before = store.journal.length;
      assert.deepEqual((await provider.keys(refOf(uri))).keys, ["k", "l"]);
      return store.journal.slice(before).map(({ line }) => line);
    };
    assert.deepEqual(await asked(), ["GET /v1/kv-a/subkeys/a?depth=1"], "no value is read");
    store.faults.noSubkeys = status;
    assert.deepEqual(await asked(), ["GET /v1/kv-a/subkeys/a?depth=1", "GET /v1/kv-a/data/a"]);
    assert.deepEqual(await asked(), ["GET /v1/kv-a/data/a"]);
  });

test("answers that are lost after the write was made: one version each, and no second one", async (t) => {
  const store = await startKvDouble(t, "openbao");
  const provider = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken, NAMESPACE: "team/one" }));
  const uri = "vaultA+kv2://kv-a/a#k";
  await write(provider, `${uri}0`, "0");
  for (let version = 2; version <= 4; version++) {
    const reads = store.journal.length;
    assert.ok(reads > 0);
    const writing = write(provider, uri, String(version));
    // The read that a write begins with is answered; the write's own answer is not.
    await until(
      () => store.journal.slice(reads).filter(({ line }) => line.startsWith("GET /v1/kv-a/data/")).length,
      (count) => count > 0,
    );
    store.faults.cutAfter = 1;
    assert.equal((await writing).version, version);
  }
  store.faults.cutAfter = 0;
  assert.equal((await provider.describe(refOf("vaultA+kv2://kv-a/a"))).current_version, 4);
  assert.ok(
    store.journal.every(({ line, namespace }) => namespace === (line.startsWith("GET /v1/sys/health") ? undefined : "team/one")),
    "the namespace is that of the settings, of every request; how a server is, it says in none",
  );
});

type Double = Awaited<ReturnType<typeof startKvDouble>>;
/** A fault of requests whose line is so, from the one that is counted here on. */
const issueOf = (store: Double, name: "cutBefore" | "deny" | "answer500" | "fail500", line: RegExp, from = 1, to = from): void => {
  const isNow = (): boolean => {
    const count = store.journal.filter((one) => line.test(one.line)).length;
    return line.test(store.journal.at(-1)?.line ?? "") && count >= from && count <= to;
  };
  Object.defineProperty(store.faults, name, { get: () => (isNow() ? 1 : 0), set: () => {} });
};
const MANY = 1000;
const WRITES = /^POST .*\/data\//;
const READS = /^GET .*\/data\//;
const DETAILS = /^GET .*\/metadata\//;
const MARKS = /^POST .*\/delete\//;
const lost: readonly (readonly [what: string, act: "write" | "remove" | "remove key", issues: (store: Double) => void, said: string])[] = [
  [
    "a write whose answer is lost, and whose second try is sent elsewhere",
    "write",
    (store) => {
      issueOf(store, "cutBefore", WRITES);
      const isNow = () => WRITES.test(store.journal.at(-1)?.line ?? "") && store.journal.filter(({ line }) => WRITES.test(line)).length > 1;
      Object.defineProperty(store.faults, "redirectTo", { get: () => (isNow() ? "http://127.0.0.1:9" : undefined) });
    },
    "outcome_unknown",
  ],
  [
    "a write whose answer is lost, and whose second try is denied",
    "write",
    (store) => {
      issueOf(store, "cutBefore", WRITES);
      issueOf(store, "deny", WRITES, 2, MANY);
    },
    "outcome_unknown",
  ],
  ["a write that fails in the store after it was made", "write", (store) => issueOf(store, "fail500", WRITES), "done"],
  [
    "a write that fails in the store after it was made, and cannot be looked up",
    "write",
    (store) => {
      issueOf(store, "fail500", WRITES);
      issueOf(store, "answer500", READS, 2, MANY);
    },
    "outcome_unknown",
  ],
  ["a write that is denied", "write", (store) => issueOf(store, "deny", WRITES, 1, MANY), "provider_denied"],
  [
    "a deletion whose answer is lost, and whose second try is denied",
    "remove",
    (store) => {
      issueOf(store, "cutBefore", MARKS);
      issueOf(store, "deny", MARKS, 2, MANY);
    },
    "outcome_unknown",
  ],
  ["a deletion that is denied", "remove", (store) => issueOf(store, "deny", MARKS, 1, MANY), "provider_denied"],
  ["a key's removal after which nothing can be read", "remove key", (store) => issueOf(store, "deny", DETAILS, 1, MANY), "outcome_unknown"],
];
for (const [what, act, issues, said] of lost)
  test(`what may have been done is told as that, whatever comes after it: ${what} is ${said}`, async (t) => {
    const store = await startKvDouble(t, "vault");
    await store.ask("POST", "kv-a/data/a", { data: { k: 1, l: 2 } });
    const provider = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }));
    const ref = refOf(`vaultA+kv2://kv-a/a${act === "remove" ? "" : "#k"}`);
    store.journal.length = 0;
    issues(store);
    const work = act === "write" ? write(provider, ref.id, "3") : provider.remove(ref, { hard: false, decided: new Set([ref.id]) });
    assert.equal(await refusal(work), said);
  });
