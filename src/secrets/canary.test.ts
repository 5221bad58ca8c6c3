import assert from "node:assert/strict";
import { test } from "node:test";
import { openTelemetry } from "#telemetry/open-telemetry.ts";
import { formsOf, textOfDatabase } from "#testing/canary.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { startCollector } from "#testing/otlp/collector.ts";
import { kvProvider, kvServer, sharedOpenBao } from "#testing/kv-provider.ts";
import { requireProgram } from "#testing/programs.ts";
import { silentLog } from "#telemetry/log.ts";
import { testSecrets } from "#testing/secrets.ts";

const openBao = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });
const scopes = ["read", "write", "delete", "destroy", "rotate", "read_metadata"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
const PURPOSE = "canary of a purpose that was stated";
const values = [
  "canary-plain-4711",
  'canary "quoted" \\ value',
  "canary\nof two lines",
  "canary \u{1f986} caf\u00e9",
  "Y2FuYXJ5LXZhbHVl",
  "47114711471147",
];

test("a value is in the answers of two endpoints, and nowhere else: in no refusal, log, trace, metric or row of any table, in no encoding", async (t) => {
  const bao = await openBao(t);
  if (bao === undefined) return;
  const store = kvProvider(kvServer({ URL: bao.url, TOKEN: bao.rootToken }));
  // Breaks off what it is sent, before and after it was done.
  const broken = await startKvDouble(t, "vault");
  const away = kvProvider(kvServer({ URL: broken.url, TOKEN: broken.rootToken, TIMEOUT_MS: "300" }), { scheme: "vaultb+kv2" });
  const collector = await startCollector(t);
  const telemetry = await openTelemetry({
    endpoint: collector.url,
    service: "secrets-service",
    version: "0",
    environment: "test",
    sampleRatio: 1,
    log: silentLog,
  });
  const at = await testSecrets(t, {
    more: [store, away],
    settings: { TENANT_SALT: "0123456789abcdef0123456789abcdef" },
    parts: { tracing: telemetry.tracing },
  });
  broken.faults.cutBefore = Number.POSITIVE_INFINITY;
  let keys = 0;
  const said: string[] = [];
  let shown = 0;
  const send = async (method: string, path: string, body?: unknown) => {
    const headers = { "x-purpose": PURPOSE, ...(method === "POST" ? { "idempotency-key": `key-${++keys}` } : {}) };
    const response = await at.send(ada, method, `/api/secrets${path}`, { headers, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    const isShown = response.ok && method === "GET" && /^\/?(?:value)?\?uri=/.test(path);
    if (isShown) shown++;
    else said.push(text, JSON.stringify([...response.headers]));
  };
  for (const [index, value] of values.entries())
    for (const base of ["yaml://secret", "vaultA+kv2://kv-a", ...(index === 0 ? ["vaultB+kv2://kv-b"] : [])]) {
      const uri = `${base}/c${index}`;
      const q = `uri=${encodeURIComponent(uri)}`;
      await send("POST", "", { uri: `${uri}#k`, value });
      await send("POST", "", { uri: `${uri}#k`, value, cas: 0 });
      await send("POST", "", { uri, value });
      await send("POST", "/rotate", { uri, value: { k: value, l: [value, { deep: value }] } });
      await send("GET", `/value?${q}`);
      await send("GET", `?${q}`);
      for (const path of ["/keys", "/metadata/detail", "/versions"]) await send("GET", `${path}?${q}`);
      await send("GET", `/search?q=c&prefix=${encodeURIComponent(base)}`);
      await send("POST", "/copy", { fromUri: uri, toUri: `yaml://secret/copy${index}` });
      await send("POST", "/copy", { fromUri: uri, toUri: `${uri}-copy` });
      if (index === 0) await send("POST", "/move", { fromUri: `${uri}-copy`, toUri: "vaultB+kv2://kv-b/moved" });
      await send("POST", "/move", { fromUri: `${uri}-copy`, toUri: `vaultA+kv2://kv-a/moved${index}-${base.slice(0, 4)}` });
      await send("POST", "/bulk", {
        operations: [
          { op: "set", uri, value: { k: value } },
          { op: "rotate", uri, value },
          { op: "set", uri: value, value },
        ],
      });
      await send("DELETE", `?${q}`);
      await send("POST", "/undelete", { uri, versions: [1] });
      await send("DELETE", `?${q}&destroy=true`);
    }
  assert.equal(shown, values.length * 3, "each value was read where it may be");
  // A write that was sent and whose answer is lost.
  const lost = "vaultB+kv2://kv-b/lost";
  broken.faults.cutBefore = 0;
  await send("POST", "", { uri: lost, value: { k: values[0] } });
  for (let reads = 1; reads < 3; reads++) {
    const writing = send("POST", "", { uri: lost, value: { k: values[0], [`n${reads}`]: values[1] } });
    broken.faults.cutAfter = reads * 2;
    await writing;
    broken.faults.cutAfter = 0;
  }
  await telemetry[Symbol.asyncDispose]();
  assert.ok(
    collector.spans.some(({ name }) => name === "provider.vaulta+kv2"),
    "traces have left",
  );
  const kept = new Map([
    ["answers", said.join("\n")],
    ["log", at.lines.join("\n")],
    ["traces", Buffer.concat(collector.raw).toString("utf8")],
    ["metrics", await (await at.service.fetch(new Request("http://127.0.0.1/metrics"))).text()],
    ...(await textOfDatabase(at.database)),
  ]);
  for (const table of ["secrets.intent", "secrets.keyed_answer", "secrets.move", "secrets.change", "events.outbox", "events.audit_queue"])
    assert.ok((kept.get(table) ?? "") !== "", `${table} was searched`);
  for (const value of [...values, PURPOSE, broken.rootToken, bao.rootToken])
    for (const [form, text] of formsOf(value))
      for (const [place, held] of kept) assert.ok(!held.includes(text), `${value} as ${form} in ${place}`);
});
