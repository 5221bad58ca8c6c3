import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { suite, test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer } from "#testing/kv-provider.ts";
import { testSecrets, type SendMore, type TestSecrets } from "#testing/secrets.ts";
import { seedDemoSecret, readDemoSecret, demoAllowedMounts } from "#demo/secret.ts";
import { parseAllowedMounts } from "./model/allowed-mounts.ts";
import type { SecretProvider } from "./providers/secret-provider.ts";
import type { StartIssues } from "#contract/start-issues.ts";
import { parseSchemeAliases } from "./model/uri-schemes.ts";

const scopes = ["secrets.read", "secrets.write"];
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
const eve = { sub: "person:eve", tenant: "tenant:globex", scopes };
/** A person whose id is the provider's own and says nothing of what it names. */
const unformed = { ...ada, sub: "00u1a2b3" };
const DEMO = "yaml://secret/people/demo#api_key";
const q = (uri: string): string => encodeURIComponent(uri);

const get = (at: TestSecrets, who: Parameters<TestSecrets["send"]>[0], uri: string, more?: SendMore) =>
  at.send(who, "GET", `/api/secrets?uri=${q(uri)}`, more);
const getValue = (at: TestSecrets, who: Parameters<TestSecrets["send"]>[0], uri: string, more?: SendMore) =>
  at.send(who, "GET", `/api/secrets/value?uri=${q(uri)}`, more);
const post = (at: TestSecrets, who: Parameters<TestSecrets["send"]>[0], body: unknown, more?: SendMore) =>
  at.send(who, "POST", "/api/secrets", { body, ...more });
const json = async (response: Response): Promise<Record<string, unknown>> => (await response.json()) as Record<string, unknown>;
const refusal = async (response: Response): Promise<string> => `${response.status} ${String((await json(response))["code"])}`;

/** The permit of the tool call that a workload names. */
const PERMIT = "d_01KB0000000000000000000001";

const call = (tool = "people.demo.list_employees", decision = PERMIT): SendMore => ({
  headers: { "x-tool-id": tool, "x-decision-id": decision, "x-call-id": "call-7", "x-delegation-id": "delegation:ben-hr" },
});

suite("secrets service", () => {
  test("what POST stores, GET answers: the key's value and the whole map, with canonical URIs", async (t) => {
    const at = await testSecrets(t);
    const created = await post(at, ada, { uri: "YAML://secret/people/demo#api_key", value: "k-1" });
    assert.equal(created.status, 201);
    assert.deepEqual(await json(created), { uri: DEMO, provider: "yaml", created: true, changed: true });
    const again = await post(at, ada, { uri: DEMO, value: "k-2" });
    assert.equal(again.status, 200);
    assert.equal((await json(again))["created"], false);
    await post(at, ada, { uri: "yaml://secret/people/demo", value: { region: "eu" } });
    assert.deepEqual(await json(await get(at, ada, DEMO)), { uri: DEMO, value: "k-2" });
    const whole = await get(at, ada, "yaml://secret/people/demo");
    assert.equal(whole.headers.get("cache-control"), "no-store");
    assert.deepEqual(await json(whole), { uri: "yaml://secret/people/demo", value: { api_key: "k-2", region: "eu" } });
  });

  test("health names a store that is sealed or silent, and a file that is bad, and no longer than it is so; the service is ready all the same", async (t) => {
    const store = await startKvDouble(t, "openbao");
    const at = await testSecrets(t, { more: [kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }))] });
    const said = async () => {
      const response = await at.service.fetch(new Request("http://sallyport.internal/health/ready"));
      return [response.status, (await json(response))["degraded"]];
    };
    assert.deepEqual(await said(), [200, undefined]);
    store.faults.sealed = true;
    assert.deepEqual(await said(), [200, ["vaulta+kv2:sealed"]]);
    await post(at, ada, { uri: DEMO, value: "k" });
    const good = await readFile(at.path, "utf8");
    await writeFile(at.path, "people: [");
    at.clock += 1000;
    assert.deepEqual(await said(), [200, ["yaml:file_invalid", "vaulta+kv2:sealed"]]);
    assert.deepEqual(await json(await get(at, ada, DEMO)), { uri: DEMO, value: "k" });
    Object.assign(store.faults, { sealed: false, slowMs: 60_000 });
    await writeFile(at.path, good);
    at.clock += 1000;
    assert.deepEqual(await said(), [200, ["vaulta+kv2:unreachable"]]);
    store.faults.slowMs = 0;
    assert.deepEqual(await said(), [200, undefined]);
  });

  test("health tries what an operation does: a token that is refused, a policy that forbids, and a mount that is none are told", async (t) => {
    const store = await startKvDouble(t, "openbao");
    const open = (mount: string, token: string) => {
      const places = [{ scheme: "vaulta+kv2" as const, mount, segments: ["team"] }];
      return testSecrets(t, { more: [kvProvider(kvServer({ URL: store.url, TOKEN: token }), { places })] });
    };
    const degraded = async (at: TestSecrets) =>
      (await json(await at.service.fetch(new Request("http://sallyport.internal/health/ready"))))["degraded"];
    const good = await open("kv-a", store.rootToken);
    assert.equal(await degraded(good), undefined);
    assert.ok(store.journal.some(({ line }) => line === "GET /v1/kv-a/data/team/sallyport-health-probe"));
    store.faults.deny = 1;
    assert.deepEqual(await degraded(good), ["vaulta+kv2:denied"]);
    store.faults.issueStatus = 400;
    store.faults.answer500 = 1;
    assert.deepEqual(await degraded(good), ["vaulta+kv2:error"]);
    assert.equal(await degraded(good), undefined);
    assert.deepEqual(await degraded(await open("kv-a", "of nobody")), ["vaulta+kv2:denied"]);
    assert.deepEqual(await degraded(await open("none", store.rootToken)), ["vaulta+kv2:denied"], "a store does not say that there is none");
  });

  test("numbers leave with every digit they came with", async (t) => {
    const at = await testSecrets(t);
    await post(at, ada, undefined, {
      raw: '{"uri":"yaml://secret/n","value":{"big":12345678901234567890,"cents":1.10,"__proto__":{"x":1}}}',
    });
    assert.equal(
      await (await get(at, ada, "yaml://secret/n")).text(),
      '{"uri":"yaml://secret/n","value":{"big":12345678901234567890,"cents":1.10,"__proto__":{"x":1}}}',
    );
    assert.equal(({} as { x?: number }).x, undefined);
  });

  test("the value endpoint answers with an audit id, and nothing to keep for a person", async (t) => {
    const at = await testSecrets(t);
    await post(at, ada, { uri: DEMO, value: "k-1" });
    const answer = await json(await getValue(at, ada, DEMO));
    const entries = await at.entries();
    assert.deepEqual({ ...answer, audit_id: "x" }, { uri: DEMO, value: "k-1", cached: false, audit_id: "x", keep_seconds: 0 });
    assert.ok(entries.some((entry) => entry["act_id"] === answer["audit_id"] && entry["phase"] === "open"));
    assert.ok(entries.some((entry) => entry["act_id"] === answer["audit_id"] && entry["phase"] === "close" && entry["outcome"] === "ok"));
  });

  test("a workload reads for the tool call whose permit it names, in that call's tenant", async (t) => {
    const at = await testSecrets(t);
    await post(at, ada, { uri: DEMO, value: "k-1" });
    at.asked.length = 0;
    at.records.set(PERMIT, {});
    const answer = await getValue(at, "crud", DEMO, call());
    assert.equal(answer.status, 200);
    assert.equal((await json(answer))["keep_seconds"], 30);
    assert.deepEqual(
      at.asked.map(({ sub, tenant, ask }) => ({ sub, tenant, action: ask.action, id: ask.id, tool: ask.context?.["tool"] })),
      [
        {
          sub: "service:crud",
          tenant: "*",
          action: "use",
          id: DEMO,
          tool: { id: "people.demo.list_employees", decision_id: PERMIT, call_id: "call-7", delegation_id: "delegation:ben-hr" },
        },
      ],
    );
    assert.equal(at.asked[0]?.ask.properties?.["tenant"], "tenant:acme");
  });

  const badCalls: readonly (readonly [what: string, prepare: (at: TestSecrets) => void, more: SendMore, argument: string])[] = [
    ["no tool is named", () => undefined, { headers: { "x-decision-id": PERMIT } }, "x-tool-id"],
    ["no decision is named", () => undefined, { headers: { "x-tool-id": "people.demo.list_employees" } }, "x-decision-id"],
    ["the decision is unknown", () => undefined, call("people.demo.list_employees", "d_01KB0000000000000000000002"), "x-decision-id"],
    ["the decision was a denial", (at) => at.records.set(PERMIT, { decision: false }), call(), "x-decision-id"],
    ["the decision was for another tool", () => undefined, call("people.demo.get_employee"), "x-decision-id"],
    ["the decision was no tool call", (at) => at.records.set(PERMIT, { action: "tools/list" }), call(), "x-decision-id"],
    [
      "the decision is old",
      (at) => at.records.set(PERMIT, { decided_at: new Date(at.clock - 301_000).toISOString() }),
      call(),
      "x-decision-id",
    ],
    ["another service asked for the decision", (at) => at.records.set(PERMIT, { pep: "service:gateway" }), call(), "x-decision-id"],
    ["the decision has no tenant", (at) => at.records.set(PERMIT, { tenant: "*" }), call(), "x-decision-id"],
    ["a header is malformed", () => undefined, { headers: { "x-tool-id": "a b", "x-decision-id": PERMIT } }, "x-tool-id"],
  ];
  for (const [what, prepare, more, argument] of badCalls) {
    test(`a workload is refused when ${what}`, async (t) => {
      const at = await testSecrets(t);
      at.records.set(PERMIT, {});
      prepare(at);
      const response = await getValue(at, "crud", DEMO, more);
      assert.equal(response.status, 403);
      const body = await json(response);
      assert.equal(body["code"], "secret_authz_failed");
      assert.equal((body["details"] as { failures: { argument: string }[] }).failures[0]?.argument, argument);
      assert.deepEqual([at.asked, at.touched], [[], []]);
    });
  }

  test("a workload in the tenant of a globex call reaches globex' and the platform's mounts alone", async (t) => {
    const at = await testSecrets(t, { settings: { TENANT_ALLOWED_MOUNTS: demoAllowedMounts } });
    at.records.set(PERMIT, { tenant: "tenant:globex" });
    assert.equal(await refusal(await getValue(at, "crud", "yaml://secret/acme#k", call())), "403 tenant_mount");
    assert.equal(await refusal(await getValue(at, "crud", DEMO, call())), "404 secret_not_found");
  });

  test("a workload may narrow its purpose to read, nobody may widen to execute", async (t) => {
    const at = await testSecrets(t);
    at.records.set(PERMIT, {});
    assert.equal(
      await refusal(await at.send("crud", "GET", `/api/secrets/value?uri=${q(DEMO)}&purpose=read`, call())),
      "403 tenant_required",
    );
    assert.equal(
      await refusal(await at.send(ada, "GET", `/api/secrets/value?uri=${q(DEMO)}&purpose=execute`, call())),
      "403 secret_authz_failed",
    );
    assert.equal(await refusal(await get(at, "crud", DEMO, call())), "403 tenant_required");
    assert.deepEqual(at.asked, []);
  });

  test("an agent gets no value: 403 before the decision point, whatever it says", async (t) => {
    const at = await testSecrets(t);
    const agent = { sub: "person:ben", tenant: "tenant:acme", scopes, agent: "agent:hr-assistant" };
    assert.equal(await refusal(await getValue(at, agent, DEMO)), "403 agent_value_denied");
    assert.equal(await refusal(await get(at, agent, DEMO)), "403 agent_value_denied");
    assert.deepEqual([at.asked, at.touched], [[], []]);
    const open = await testSecrets(t, { settings: { SECRETS_AGENT_VALUE_READS: "pdp" } });
    assert.equal(await refusal(await getValue(open, agent, DEMO)), "404 secret_not_found");
    assert.equal(open.asked[0]?.agent, "agent:hr-assistant");
  });

  test("a denial is a structured 403 that names neither path nor child, is the same for what is absent, and touches nothing", async (t) => {
    const at = await testSecrets(t, { settings: { TENANT_SALT: "0123456789abcdef0123456789abcdef" } });
    await post(at, ada, { uri: DEMO, value: "k-1" });
    at.touched.length = 0;
    at.rule = ({ ask }) =>
      ask.id === "yaml://secret/people/demo"
        ? { decision: false, decisionId: "dec-child", reason: "forbidden" }
        : ask.type !== "decisions" || mayKnowWhy;
    let mayKnowWhy = false;
    const response = await get(at, ada, "yaml://secret/people");
    assert.equal(response.status, 403);
    assert.equal(response.headers.get("x-decision-id"), "dec-child");
    const body = await json(response);
    assert.deepEqual(body["details"], {
      failures: [
        {
          argument: "uri",
          purpose: "read",
          code: "access_denied",
          decision_id: "dec-child",
          resource_ref:
            body["details"] === undefined ? "" : (body["details"] as { failures: { resource_ref: string }[] }).failures[0]?.resource_ref,
        },
      ],
    });
    assert.ok(!JSON.stringify(body).includes("demo"));
    assert.deepEqual(at.touched, []);
    assert.deepEqual(
      at.asked.filter(({ ask }) => ask.type === "decisions").map(({ sub, ask }) => [sub, ask.action, ask.id, ask.context]),
      [["person:ada", "explain", "dec-child", { showing: true }]],
    );
    mayKnowWhy = true;
    const reported = await json(await get(at, ada, "yaml://secret/people"));
    const [failure] = (reported["details"] as { failures: Record<string, string>[] }).failures;
    assert.deepEqual(
      [failure?.["reason"], typeof failure?.["remedy"]],
      ["forbidden", "string"],
      "for whom may have the decision explained",
    );
    assert.ok(!JSON.stringify(reported).includes("demo"));
    at.rule = () => false;
    const [there, absent] = [await json(await getValue(at, ada, DEMO)), await json(await getValue(at, ada, "yaml://secret/nowhere#k"))];
    const shape = (one: Record<string, unknown>) => [one["code"], one["status"], one["title"], one["detail"]];
    assert.deepEqual(shape(there), shape(absent));
  });

  test("a whole map is decided node by node, the secret first", async (t) => {
    const at = await testSecrets(t);
    await post(at, ada, { uri: "yaml://secret/people", value: { demo: { api_key: "k", deep: { x: 1 } }, plain: 1 } });
    assert.deepEqual(
      at.asked.map(({ ask }) => ask.id),
      ["yaml://secret/people", "yaml://secret/people/demo", "yaml://secret/people/demo/deep"],
    );
    at.asked.length = 0;
    await get(at, ada, "yaml://secret/people");
    assert.deepEqual(
      at.asked.map(({ ask }) => [ask.action, ask.id]),
      [
        ["read", "yaml://secret/people"],
        ["read", "yaml://secret/people/demo"],
        ["read", "yaml://secret/people/demo/deep"],
      ],
    );
    at.asked.length = 0;
    at.rule = ({ ask }) => ask.id !== "yaml://secret/people/demo/deep";
    assert.equal(await refusal(await post(at, ada, { uri: "yaml://secret/people#demo", value: "flat" })), "403 secret_authz_failed");
    assert.deepEqual(
      at.asked.map(({ ask }) => ask.id),
      ["yaml://secret/people#demo", "yaml://secret/people/demo", "yaml://secret/people/demo/deep"],
    );
  });

  test("want of assurance is 401 with the challenge and where to step up", async (t) => {
    const at = await testSecrets(t);
    at.rule = () => ({ decision: false, decisionId: "dec-s", reason: "step_up_required" });
    const response = await getValue(at, ada, DEMO);
    assert.equal(response.status, 401);
    assert.match(response.headers.get("www-authenticate") ?? "", /insufficient_user_authentication/);
    assert.equal((await json(response))["code"], "step_up_required");
  });

  test("an obligation of a permit is met or the permit is none", async (t) => {
    const at = await testSecrets(t);
    at.rule = () => ({ decision: true, obligations: [{ id: "mfa", type: "step-up" }] });
    assert.equal(await refusal(await getValue(at, ada, DEMO)), "401 step_up_required");
    assert.equal(await refusal(await getValue(at, { ...ada, acr: "strong" }, DEMO)), "404 secret_not_found");
    at.rule = () => ({ decision: true, obligations: [{ id: "end-session", type: "session_termination" }] });
    assert.equal(await refusal(await getValue(at, ada, DEMO)), "403 obligation_unsupported");
    at.rule = () => ({
      decision: true,
      obligations: [{ id: "secret-grant", type: "custom", properties: { kind: "secret_grant", ttl_s: 60, max_uses: 1 } }],
    });
    assert.equal(await refusal(await getValue(at, ada, DEMO)), "404 secret_not_found");
  });

  test("404 is for the permitted only", async (t) => {
    const at = await testSecrets(t);
    await post(at, ada, { uri: "yaml://secret/a#k", value: 1 });
    assert.equal(await refusal(await get(at, ada, "yaml://secret/a#l")), "404 key_not_found");
    assert.equal(await refusal(await get(at, ada, "yaml://secret/b")), "404 secret_not_found");
    at.rule = () => false;
    assert.equal(await refusal(await get(at, ada, "yaml://secret/b")), "403 secret_authz_failed");
  });

  test("without decision nothing is touched: 503", async (t) => {
    const at = await testSecrets(t);
    at.rule = () => new Problem("decision_unavailable");
    assert.equal(await refusal(await getValue(at, ada, DEMO)), "503 decision_unavailable");
    assert.equal(await refusal(await post(at, ada, { uri: DEMO, value: "x" })), "503 decision_unavailable");
    assert.deepEqual(at.touched, []);
  });

  test("without a committed audit entry nothing is touched: 503", async (t) => {
    const at = await testSecrets(t);
    await at.database.script("alter table events.audit_queue rename to audit_queue_away");
    assert.equal(await refusal(await getValue(at, ada, DEMO)), "503 audit_unavailable");
    assert.equal(await refusal(await post(at, ada, { uri: DEMO, value: "x" })), "503 audit_unavailable");
    at.rule = () => false;
    assert.equal(await refusal(await getValue(at, ada, DEMO)), "503 audit_unavailable");
    assert.deepEqual(at.touched, []);
    await at.database.script("alter table events.audit_queue_away rename to audit_queue");
  });

  const pipeline: readonly (readonly [what: string, who: Parameters<TestSecrets["send"]>[0], uri: string, expected: string])[] = [
    ["no token", "nobody", DEMO, "401 unauthenticated"],
    ["no token, whatever the URI", "nobody", "nonsense", "401 unauthenticated"],
    ["a bad URI before the scope", { ...ada, scopes: [] }, "yaml://secret/..", "400 uri_dot_segment"],
    ["a missing provider before the tenant", eve, "vaultA+kv2://kv-a/x#k", "501 provider_not_configured"],
    ["a foreign mount before the scope", { ...eve, scopes: [] }, "yaml://secret/acme#k", "403 tenant_mount"],
    ["a foreign mount", eve, "yaml://secret/acme#k", "403 tenant_mount"],
    ["a sibling of an allowed place", eve, "yaml://secret/people2/demo#k", "403 tenant_mount"],
    ["a missing scope before the decision", { ...ada, scopes: ["secrets.write"] }, DEMO, "403 insufficient_scope"],
    ["an unknown tenant", { ...ada, tenant: "tenant:other" }, DEMO, "403 tenant_mount"],
  ];
  for (const [what, who, uri, expected] of pipeline) {
    test(`the pipeline's order: ${what} is ${expected}`, async (t) => {
      const at = await testSecrets(t);
      const response = await getValue(at, who, uri);
      assert.equal(await refusal(response), expected);
      assert.deepEqual([at.asked, at.touched], [[], []]);
      if (expected.endsWith("insufficient_scope")) assert.match(response.headers.get("www-authenticate") ?? "", /scope="secrets\.read"/);
    });
  }

  test("GET of another provider's URI is 501 not_supported, with or without a server", async (t) => {
    const at = await testSecrets(t);
    assert.equal(await refusal(await get(at, ada, "vaultA+kv2://kv-a/x")), "501 not_supported");
    assert.equal(await refusal(await post(at, ada, { uri: "vaultB+kv2://kv-b/x#k", value: 1 })), "501 provider_not_configured");
  });

  const badQueries: readonly (readonly [query: string, expected: string])[] = [
    ["", "400 uri_required"],
    ["uri=", "400 uri_required"],
    [`uri=${q(DEMO)}&uri=${q(DEMO)}`, "400 query_repeated"],
    [`uri=${q(DEMO)}&u%72i=${q(DEMO)}`, "400 query_repeated"],
    [`uri=${q(DEMO)}&list=true`, "400 query_unknown"],
    ["uri=%zz", "400 query_encoding"],
    ["uri=%ff", "400 query_encoding"],
    [`uri=${q("vaultA+kv2://kv-a/x?version=2")}&version=3`, "400 version_conflict"],
    [`uri=${q("vaultA+kv2://kv-a/x")}&version=0`, "400 uri_version"],
    [`uri=${q(DEMO)}&version=1`, "400 uri_version_unsupported"],
    [`uri=${q(DEMO)}&purpose=look`, "422 unprocessable"],
    ["uri=vaultA+kv2://kv-a/x", "501 provider_not_configured"],
    ["uri=yaml%253A//secret/a", "400 uri_syntax"],
  ];
  for (const [query, expected] of badQueries) {
    test(`?${query} is ${expected}`, async (t) => {
      const at = await testSecrets(t);
      assert.equal(await refusal(await at.send(ada, "GET", `/api/secrets/value?${query}`)), expected);
    });
  }

  const badBodies: readonly (readonly [what: string, raw: string, expected: string])[] = [
    ["no uri", '{"value":1}', "400 uri_required"],
    ["a uri that is a list", '{"uri":["yaml://secret/a"],"value":1}', "400 uri_type"],
    ["uri twice", '{"uri":"yaml://secret/a","uri":"yaml://secret/b","value":{}}', "400 body_ambiguous"],
    ["a repeated member deep inside", '{"uri":"yaml://secret/a","value":{"x":{"k":1,"k":2}}}', "400 body_ambiguous"],
    ["no JSON", "uri=x", "400 body_unreadable"],
    ["half a surrogate pair", '{"uri":"yaml://secret/a#k","value":"\\ud800"}', "400 body_unreadable"],
    ["10,000 brackets", `{"uri":"yaml://secret/a#k","value":${"[".repeat(10_000)}${"]".repeat(10_000)}}`, "400 value_too_deep"],
    ["no value", '{"uri":"yaml://secret/a#k"}', "422 invalid_body"],
    ["an unknown member", '{"uri":"yaml://secret/a#k","value":1,"overwrite":true}', "422 unknown_member"],
    ["a text without key", '{"uri":"yaml://secret/a","value":"text"}', "422 value_shape"],
    ["a version", '{"uri":"vaultA+kv2://kv-a/a#k?version=2","value":1}', "400 uri_version_not_allowed"],
    ["a value over 512 KiB", JSON.stringify({ uri: "yaml://secret/a#k", value: "x".repeat(524_289) }), "422 value_too_large"],
    [
      "over 1,000 keys",
      JSON.stringify({ uri: "yaml://secret/a", value: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`k${i}`, i])) }),
      "422 value_too_large",
    ],
    [
      "a list of over 1,000 items",
      JSON.stringify({ uri: "yaml://secret/a#k", value: Array.from({ length: 1001 }, () => 1) }),
      "422 value_too_large",
    ],
    [
      "over 1,000 keys and items together, deep inside",
      JSON.stringify({
        uri: "yaml://secret/a",
        value: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, [Array(49).fill({})]])),
      }),
      "422 value_too_large",
    ],
    ["over 1 MiB", JSON.stringify({ uri: "yaml://secret/a#k", value: "x".repeat(1_048_576) }), "413 body_too_large"],
    ["a version to compare with", '{"uri":"yaml://secret/a#k","value":1,"cas":3}', "501 not_supported"],
    ["the same version as another text", '{"uri":"yaml://secret/a#k","value":1,"cas":3.0}', "501 not_supported"],
    ["a version that is no whole number", '{"uri":"yaml://secret/a#k","value":1,"cas":3.5}', "422 invalid_body"],
    ["a version beyond what a double holds exactly", '{"uri":"yaml://secret/a#k","value":1,"cas":9007199254740993}', "422 invalid_body"],
  ];
  for (const [what, raw, expected] of badBodies) {
    test(`POST with ${what} is ${expected} and writes nothing`, async (t) => {
      const at = await testSecrets(t);
      assert.equal(await refusal(await post(at, ada, undefined, { raw })), expected);
      await assert.rejects(readFile(at.path), { code: "ENOENT" });
    });
  }

  test("a body of another media type is 415, If-Match on the file is 501, cas 0 on what is there is 409", async (t) => {
    const at = await testSecrets(t);
    assert.equal(
      await refusal(await post(at, ada, undefined, { raw: "{}", headers: { "content-type": "text/plain" } })),
      "415 unsupported_media_type",
    );
    assert.equal(await refusal(await post(at, ada, { uri: DEMO, value: 1 }, { headers: { "if-match": '"3"' } })), "501 not_supported");
    await post(at, ada, { uri: DEMO, value: 1, cas: 0 });
    assert.equal(await refusal(await post(at, ada, { uri: DEMO, value: 2, cas: 0 })), "409 cas_mismatch");
  });

  test("a person states a purpose where it is required, in 10 to 200 characters", async (t) => {
    const at = await testSecrets(t, { settings: { SECRETS_REVEAL_PURPOSE: "required" } });
    for (const who of [ada, unformed]) {
      const read = (purpose: string | undefined) =>
        getValue(at, who, DEMO, purpose === undefined ? {} : { headers: { "x-purpose": purpose } });
      for (const bad of [undefined, "short", "x".repeat(201), "         x         "])
        assert.equal(await refusal(await read(bad)), "400 purpose_required");
      assert.equal(await refusal(await read("ticket 4711: key rotation")), "404 secret_not_found");
      assert.equal(await refusal(await get(at, who, DEMO)), "400 purpose_required");
    }
    at.records.set(PERMIT, {});
    assert.equal(await refusal(await getValue(at, "crud", DEMO, call())), "404 secret_not_found");
  });

  test("outside dev and test a person's purpose is required unless said otherwise", async (t) => {
    const at = await testSecrets(t, { environment: "production" });
    assert.equal(await refusal(await getValue(at, ada, DEMO)), "400 purpose_required");
  });

  test("more than 600 value reads a minute of one caller are 429; others go on, and the tool server, whose calls are counted elsewhere", async (t) => {
    const at = await testSecrets(t);
    at.records.set(PERMIT, {});
    for (let index = 0; index < 600; index++)
      await (await getValue(at, { ...ada, sub: "person:busy", scopes: ["secrets.read"] }, DEMO)).text();
    const refused = await getValue(at, { ...ada, sub: "person:busy" }, DEMO);
    assert.ok(Number(refused.headers.get("retry-after")) >= 1);
    assert.equal(await refusal(refused), "429 rate_limited");
    assert.equal((await getValue(at, ada, DEMO)).status, 404);
    for (let index = 0; index < 601; index++) await (await getValue(at, "crud", DEMO, call())).text();
    assert.equal((await getValue(at, "crud", DEMO, call())).status, 404);
    at.clock += 60_000;
    assert.equal((await getValue(at, { ...ada, sub: "person:busy" }, DEMO)).status, 404);
  });

  test("dev and test may switch tokens off: then a request without one is service:anonymous of TENANT_ID, and still decided", async (t) => {
    const at = await testSecrets(t, {
      settings: {
        SECRETS_API_REQUIRE_AUTH: "false",
        SECRETS_ENFORCE_SCOPES: "false",
        TENANT_ID: "tenant:acme",
        TENANT_ALLOWED_MOUNTS: "yaml://secret",
      },
    });
    assert.equal(await refusal(await getValue(at, "nobody", DEMO)), "404 secret_not_found");
    assert.deepEqual([at.asked[0]?.sub, at.asked[0]?.tenant], ["service:anonymous", "tenant:acme"]);
    assert.equal(await refusal(await getValue(at, eve, DEMO)), "403 tenant_mismatch");
    const forged = await at.service.fetch(
      new Request(`http://localhost:8085/api/secrets?uri=${q(DEMO)}`, { headers: { authorization: "Bearer nonsense" } }),
    );
    assert.equal(forged.status, 401);

    // What a page in a browser may have sent, or a name that somebody made lead here.
    const asked = at.asked.length;
    const pages: readonly (readonly [headers: Record<string, string>, said: string])[] = [
      [{ origin: "http://localhost:8085" }, "403 access_denied"],
      [{ origin: "null" }, "403 access_denied"],
      [{ "sec-fetch-site": "cross-site" }, "403 access_denied"],
      [{ "sec-fetch-site": "same-site" }, "403 access_denied"],
      [{ host: "rebound.example:8085" }, "403 access_denied"],
      [{ host: "localhost.rebound.example" }, "403 access_denied"],
      [{ host: "127.0.0.1:8085", "sec-fetch-site": "none" }, "404 secret_not_found"],
    ];
    for (const [headers, said] of pages)
      assert.equal(await refusal(await getValue(at, "nobody", DEMO, { headers })), said, JSON.stringify(headers));
    assert.equal(at.asked.length, asked + 1);
  });

  const people = "yaml://secret/people";
  const carried = (path: string, dryRun: boolean) => (at: TestSecrets) =>
    at.send({ ...ada, scopes: [...scopes, "secrets.delete"] }, "POST", `/api/secrets/${path}`, {
      body: { fromUri: people, toUri: "yaml://secret/elsewhere", dry_run: dryRun },
    });
  for (const [what, read] of [
    ["shown", (at: TestSecrets) => get(at, ada, people)],
    ["given out", (at: TestSecrets) => getValue(at, ada, people)],
    ["copied", carried("copy", false)],
    ["moved", carried("move", false)],
    ["looked at for a copy", carried("copy", true)],
    ["looked at for a move", carried("move", true)],
  ] as const)
    test(`a file that grows between decision and read is refused, not ${what} undecided`, async (t) => {
      const at = await testSecrets(t);
      await writeFile(at.path, "people:\n  plain: 1\n", { mode: 0o600 });
      at.clock += 1000;
      const grown = "people:\n  plain: 1\n  demo:\n    api_key: new\n";
      const nodes = at.provider.nodes.bind(at.provider);
      (at.provider as { nodes: typeof nodes }).nodes = async (ref, change) => {
        const seen = await nodes(ref, change);
        if (ref.id === people) await writeFile(at.path, grown, { mode: 0o600 });
        at.clock += 1000;
        return seen;
      };
      assert.equal(await refusal(await read(at)), "503 busy");
      assert.equal(await readFile(at.path, "utf8"), grown);
    });

  test("records: open before, close after, denials too; references instead of paths; no value, path, key or purpose anywhere", async (t) => {
    const at = await testSecrets(t, { settings: { TENANT_SALT: "0123456789abcdef0123456789abcdef" } });
    const canaries = ["canary-value-4711", "canarypath", "canary_key", "canary purpose of the reading"];
    const uri = "yaml://secret/canarypath/x#canary_key";
    const purpose = { headers: { "x-purpose": "canary purpose of the reading" } };
    const written = await json(await post(at, ada, { uri, value: canaries[0] }));
    assert.match(String(written["resource_ref"]), /^hr1\.1\./);
    await getValue(at, ada, uri, purpose);
    await get(at, ada, "yaml://secret/canarypath/x#canary_absent", purpose);
    at.rule = () => ({ decision: false, decisionId: "dec-no", reason: "forbidden" });
    await getValue(at, ada, uri, purpose);
    await getValue(at, { ...ada, agent: "agent:hr-assistant" }, uri, purpose);
    const entries = await at.entries();
    assert.deepEqual(
      entries.map((entry) => [entry["phase"], entry["outcome"], entry["code"] ?? ""]),
      [
        ["open", "pending", ""],
        ["close", "ok", ""],
        ["open", "pending", ""],
        ["close", "ok", ""],
        ["open", "pending", ""],
        ["close", "refused", "key_not_found"],
        ["single", "denied", "secret_authz_failed"],
        ["single", "denied", "agent_value_denied"],
      ],
    );
    assert.equal(new Set(entries.map((entry) => (entry["resource"] as { ref: string }).ref)).size, 2);
    const events = await at.events();
    assert.deepEqual(
      events.map((event) => [event.type, event.tenant]),
      [
        ["secrets.updated", "tenant:acme"],
        ["secrets.read", "tenant:acme"],
        ["secrets.denied", "tenant:acme"],
        ["secrets.denied", "tenant:acme"],
      ],
    );
    const everything = JSON.stringify([entries, events, at.lines]);
    for (const canary of [...canaries, "person:ada"]) assert.ok(!everything.includes(canary), canary);
  });

  test("records tell a person by the token, whatever the id looks like, and events name no person", async (t) => {
    const at = await testSecrets(t);
    await post(at, unformed, { uri: DEMO, value: "k" });
    await getValue(at, { ...unformed, sub: "ci-runner", clientId: "ci-runner" }, DEMO);
    const kinds = (await at.entries()).map(({ actor }) => (actor as { readonly kind: string }).kind);
    assert.deepEqual(kinds, ["person", "person", "service", "service"]);
    assert.deepEqual(
      (await at.events()).map(({ data }) => data["actor"]),
      [{ kind: "person" }, { kind: "service", id: "ci-runner" }],
    );
    assert.deepEqual(
      at.asked.map(({ ask }) => ask.context?.["caller_kind"]),
      ["person", "service"],
    );
  });

  test("without TENANT_SALT records name no secret at all", async (t) => {
    const at = await testSecrets(t);
    await post(at, ada, { uri: DEMO, value: "k" });
    assert.ok(!JSON.stringify([await at.entries(), await at.events()]).includes("resource_ref"));
    assert.deepEqual((await at.entries())[0]?.["resource"], { type: "secret" });
  });
});

suite("demo secret", () => {
  test("it is made once, 32 bytes, and handed over in the process", async (t) => {
    const at = await testSecrets(t);
    await seedDemoSecret(at.provider);
    const key = await readDemoSecret(at.provider);
    assert.equal(Buffer.from(key, "base64url").length, 32);
    await seedDemoSecret(at.provider);
    assert.equal(await readDemoSecret(at.provider), key);
    await post(at, ada, { uri: DEMO, value: "rotated" });
    assert.equal(await readDemoSecret(at.provider), "rotated");
  });

  test("where the file is read-only the start is refused with the way out", async () => {
    const readOnly = {
      nodes: async () => [],
      read: async () => {
        throw new Problem("secret_not_found");
      },
      write: async () => {
        throw new Problem("provider_readonly");
      },
    } as unknown as SecretProvider;
    await assert.rejects(seedDemoSecret(readOnly), (error: StartIssues) => error.exitCode === 78 && /--no-demo/.test(error.message));
  });

  test("the demo's mounts have no fault", () => {
    const { schemes } = parseSchemeAliases([], "X");
    assert.deepEqual(parseAllowedMounts({ text: demoAllowedMounts, tenantId: undefined, schemes, servers: new Map() }).issues, []);
  });
});
