import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointTable } from "#contract/endpoints.ts";
import { listSecretAudit } from "#contract/secret-audit.ts";
import { secretsBase } from "#contract/secrets.ts";
import { createIntegrator } from "#events/audit/integrator.ts";
import { openTelemetry } from "#telemetry/open-telemetry.ts";
import { formsOf, textOfDatabase } from "#testing/canary.ts";
import { leastOf } from "#testing/contract-samples.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { startCollector } from "#testing/otlp/collector.ts";
import { kvProvider, kvServer, sharedOpenBao } from "#testing/kv-provider.ts";
import { requireProgram } from "#testing/programs.ts";
import { silentLog } from "#telemetry/log.ts";
import { testSecrets } from "#testing/secrets.ts";

const openBao = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });
const scopes = ["read", "write", "delete", "destroy", "rotate", "read_metadata", "set_owner"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes: [...scopes, "audit.read"] };
const PURPOSE = "canary of a purpose that was stated";
const values = [
  "canary-plain-4711",
  'canary "quoted" \\ value',
  "canary\nof two lines",
  "canary \u{1f986} caf\u00e9",
  "Y2FuYXJ5LXZhbHVl",
  "47114711471147",
];

/** What a stream has said until it says this. */
const textUpTo = async (response: Response, last: string): Promise<string> => {
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes(last)) break;
  }
  return text;
};

/** Every endpoint of the service, by the contract, and the stream of events beside it. */
const declared = endpointTable.filter(({ endpoint }) => endpoint.service === "secrets" && endpoint.path.startsWith(secretsBase));
const endpoints = declared.map(({ endpoint }) => `${endpoint.method} ${endpoint.path}`).concat(`GET ${secretsBase}/events`);

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
  const asked = new Set<string>();
  const send = async (method: string, path: string, body?: unknown) => {
    const headers = { "x-purpose": PURPOSE, ...(method === "POST" ? { "idempotency-key": `key-${++keys}` } : {}) };
    asked.add(`${method} ${secretsBase}${path.split("?", 1)[0]}`);
    const response = await at.send(ada, method, `${secretsBase}${path}`, { headers, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    const isShown = response.ok && method === "GET" && /^\/?(?:value)?\?uri=/.test(path);
    if (isShown) shown++;
    else said.push(text, JSON.stringify([...response.headers]));
  };
  asked.add(`GET ${secretsBase}/events`);
  const events = await at.send(ada, "GET", `${secretsBase}/events`);
  assert.equal(events.status, 200);
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
      await send("GET", `/metadata?prefix=${encodeURIComponent(base)}`);
      await send("GET", `/search?q=c&prefix=${encodeURIComponent(base)}`);
      await send("POST", "/copy", { fromUri: uri, toUri: `yaml://secret/copy${index}` });
      await send("POST", "/copy", { fromUri: uri, toUri: `${uri}-copy` });
      if (index === 0) await send("POST", "/move", { fromUri: `${uri}-copy`, toUri: "vaultB+kv2://kv-b/moved" });
      await send("POST", "/move", { fromUri: `${uri}-copy`, toUri: `vaultA+kv2://kv-a/moved${index}-${base.slice(0, 4)}` });
      await send("POST", "/metadata/owner", { uri, owner: "group:canaries" });
      for (const dry_run of [true, false])
        await send("POST", "/bulk", {
          dry_run,
          operations: [
            { op: "set", uri, value: { k: value } },
            { op: "rotate", uri, value },
            { op: "set", uri: value, value },
          ],
        });
      await send("POST", "/destroy-versions", { uri, versions: [1] });
      await send("DELETE", `?${q}`);
      await send("POST", "/undelete", { uri, versions: [2] });
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
  await send("GET", "/mounts");
  // What is not asked above is asked with the least that it takes, about a secret that is there.
  for (const { name, endpoint } of declared) {
    const { method, path, query, body } = endpoint;
    if (asked.has(`${method} ${path}`) || path === listSecretAudit.path) continue;
    const least = leastOf(name, body ?? query);
    const uri = `${(least["uri"] ?? "").startsWith("vaultA") ? "vaultA+kv2://kv-a" : "yaml://secret"}/lost`;
    await send("POST", "", { uri, value: { k: values[0] } });
    const input = { ...least, ...(least["uri"] === undefined ? {} : { uri }) };
    const place = path.slice(secretsBase.length);
    await (body === undefined ? send(method, `${place}?${new URLSearchParams(input).toString()}`) : send(method, place, input));
  }
  await using integrator = createIntegrator({ database: at.database, log: silentLog, origin: "test" });
  await integrator.integrate();
  const audit: string[] = [];
  let cursor: string | undefined;
  do {
    asked.add(`GET ${secretsBase}/audit`);
    const more = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const response = await at.send(ada, "GET", `${secretsBase}/audit?limit=500${more}`);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    audit.push(text);
    cursor = (JSON.parse(text) as { next_cursor?: string }).next_cursor;
  } while (cursor !== undefined);
  assert.deepEqual([...asked].toSorted(), endpoints.toSorted(), "each endpoint was asked, and those alone");
  await telemetry[Symbol.asyncDispose]();
  assert.ok(
    collector.spans.some(({ name }) => name === "provider.vaulta+kv2"),
    "traces have left",
  );
  const kept = new Map([
    ["answers", said.join("\n")],
    ["log", at.lines.join("\n")],
    ["event stream", await textUpTo(events, String((await at.events()).at(-1)?.data["correlation_id"]))],
    ["audit", audit.join("\n")],
    ["traces", Buffer.concat(collector.raw).toString("utf8")],
    ["metrics", await (await at.service.fetch(new Request("http://127.0.0.1/metrics"))).text()],
    ...(await textOfDatabase(at.database)),
  ]);
  for (const table of ["secrets.intent", "secrets.keyed_answer", "secrets.move", "secrets.change", "events.outbox", "events.audit_entry"])
    assert.ok((kept.get(table) ?? "") !== "", `${table} was searched`);
  for (const place of ["event stream", "audit"]) assert.ok((kept.get(place) ?? "").includes("hr1.1."), `${place} was searched`);
  for (const value of [...values, PURPOSE, broken.rootToken, bao.rootToken])
    for (const [form, text] of formsOf(value))
      for (const [place, held] of kept)
        // Whoever may read the audit reads there what a value was wanted for.
        assert.ok(!held.includes(text) || (value === PURPOSE && place === "audit"), `${value} as ${form} in ${place}`);
});
