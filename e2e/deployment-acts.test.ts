import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeDataFolder, startTestInstance, type TestInstance } from "./test-instance.ts";
import { runCommand, scriptCommand } from "./run-script.ts";
import { fetchToken } from "./tokens.ts";

/**
 * What an administrator of a tenant that is not the operator's comes to, with one factor and with two, wherever an act or a reading reaches
 * beyond the own tenant. Eve has `role:administrator` of Globex here, and nothing else.
 */

interface Reply {
  readonly status: number;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into what it expects
  readonly body: any;
}
interface Sent {
  readonly body?: unknown;
  readonly raw?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

let instance: TestInstance;
let data: string;
const tokens = new Map<string, string>();
const ask = async (who: string, method: string, path: string, sent: Sent = {}): Promise<Reply> => {
  const body = sent.raw ?? (sent.body === undefined ? undefined : JSON.stringify(sent.body));
  // The gateway takes configuration and the graph by session alone; with a token one asks the services themselves.
  const [, service, rest] = /^\/(crud|membership)(\/.*)$/.exec(path) ?? [];
  const port = instance.port + (service === "crud" ? 3 : service === "membership" ? 4 : 0);
  const response = await fetch(`http://localhost:${port}${rest ?? path}`, {
    method,
    headers: {
      authorization: `Bearer ${tokens.get(who)}`,
      ...(body === undefined ? {} : { "content-type": sent.type ?? "application/json" }),
      ...sent.headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text };
};

before(async () => {
  data = await makeDataFolder();
  instance = await startTestInstance({ data });
  assert.equal(await instance.stop(), 0);
  const file = join(data, "eve.ndjson");
  const administrators = ["person:eve", "person:cleo"].map((src) => ({ edge: { kind: "MEMBER_OF", src, dst: "role:administrator" } }));
  await writeFile(file, administrators.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const made = await runCommand(scriptCommand("graph.ts", ["import", file, "--roles", "--data", data]), { ENVIRONMENT: "test" });
  assert.equal(made.code, 0, made.err);
  instance = await startTestInstance({ data });
  for (const user of ["eve", "ada", "cleo"]) {
    tokens.set(user, await fetchToken(instance.port, { user, data }));
    tokens.set(`${user} strong`, await fetchToken(instance.port, { user, data, acr: "strong" }));
  }
});
after(async () => {
  assert.equal(await instance?.stop(), 0);
  await rm(data, { recursive: true, force: true });
});

const yaml = "application/yaml";
const system = (tenants: string, instance = "own"): string => `apiVersion: systems/v1
provider: globex
instance: ${instance}
title: Globex
owner: person:eve
${tenants}
kind: http
baseUrl: "\${DEMO_UPSTREAM_URL}/api"
auth: { type: none }
defaults: { dataScope: none }
operations:
  get_one:
    description: Shows one by its id.
    request: { method: GET, path: "/employees/{id}" }
    input: { type: object, required: [id], properties: { id: { type: string } } }
`;
const own = "tenants: [tenant:globex]";
const both = "tenants: [tenant:globex, tenant:acme]";
const views = (view: string): string => `apiVersion: tools/v1\nviews:\n  - { name: mine, ${view} filters: { provider: [people] } }\n`;
const once = (): Readonly<Record<string, string>> => ({ "idempotency-key": crypto.randomUUID() });
const change = (...changes: readonly object[]): Sent => ({ body: { changes, reason: "an attack" }, headers: once() });
const draft = {
  files: { "policies/mine.cedar": '@id("mine") @description("Mine") permit (principal == Person::"person:eve", action, resource);' },
  message: "mine",
};
const policies = "/api/pdp/policies";
const config = "/crud/config";
const graph = "/membership/api/v1";

type Attempt = readonly [what: string, method: string, path: string, sent: Sent, codes: readonly string[]];
const refused = ["access_denied"];
const walled = ["cross_tenant"];
const attempts: readonly Attempt[] = [
  ["draft a version of the policies", "POST", `${policies}/rollouts`, { body: draft }, refused],
  ["drop a version", "DELETE", `${policies}/rollouts/v1`, {}, refused],
  ["let a version decide", "POST", `${policies}/rollouts/v1/promote`, { body: { to: "active", acknowledged_diff: "x" } }, refused],
  ["put a version in the shadow", "POST", `${policies}/rollouts/v1/promote`, { body: { to: "shadow" } }, refused],
  ["roll back", "POST", `${policies}/rollouts/last/rollback`, { body: {} }, refused],
  ["read versions", "GET", `${policies}/rollouts`, {}, refused],
  ["read the files of a version", "GET", `${policies}/rollouts/v1`, {}, refused],
  ["read a matrix", "GET", `${policies}/rollouts/v1/matrix`, {}, refused],
  ["read differences", "GET", `${policies}/rollouts/v1/differences`, {}, refused],
  ["have files validated", "POST", `${policies}/validate`, { body: { files: {} } }, refused],
  ["have cases tried", "POST", `${policies}/test`, { body: { cases: [] } }, refused],
  ["read a policy that names a group of Acme", "GET", `${policies}/employee-salary`, {}, ["not_found"]],
  ["read it in a version", "GET", `${policies}/employee-salary?version=v1`, {}, ["not_found"]],
  [
    "what-if for a person of Acme",
    "POST",
    "/api/pdp/what-if",
    { body: { subject_id: "person:ben", tenant_id: "tenant:acme", changes: {} } },
    refused,
  ],
  ["reload routes", "POST", "/api/v1/routes/reload", {}, refused],
  ["read routes", "POST", "/api/v1/routes/explain", { body: { method: "GET", target: "/" } }, refused],
  ["reload the configuration", "POST", `${config}/reload`, {}, refused],
  ["a view that names no tenant", "PUT", `${config}/tools`, { raw: views(""), type: yaml }, walled],
  ["a view of several tenants", "PUT", `${config}/tools`, { raw: views("tenants: [tenant:globex, tenant:acme],"), type: yaml }, walled],
  [
    "an override of a shared tool",
    "PUT",
    `${config}/tools`,
    { raw: "apiVersion: tools/v1\noverrides: { people.demo.get_employee: { enabled: false } }\n", type: yaml },
    walled,
  ],
  ["a system for all tenants", "POST", `${config}/systems`, { raw: system("", "all"), type: yaml }, walled],
  ["a system for several tenants", "POST", `${config}/systems`, { raw: system(both, "several"), type: yaml }, walled],
  ["a system of Acme", "POST", `${config}/systems`, { raw: system("tenants: [tenant:acme]", "theirs"), type: yaml }, walled],
  ["the own system made several tenants'", "PUT", `${config}/systems/globex.own`, { raw: system(both), type: yaml }, walled],
  ["the own system made everybody's", "PUT", `${config}/systems/globex.own`, { raw: system(""), type: yaml }, walled],
  [
    "a shared system made one's own",
    "PUT",
    `${config}/systems/people.demo`,
    { raw: system(own).replace("globex\ninstance: own", "people\ninstance: demo"), type: yaml },
    walled,
  ],
  ["a shared system taken away", "DELETE", `${config}/systems/people.demo`, {}, walled],
  ["a system of Acme read", "GET", `${config}/systems/memory.demo`, {}, ["not_found"]],
  ["a system of Acme taken away", "DELETE", `${config}/systems/memory.demo`, {}, ["not_found"]],
  ["versions of a system of Acme", "GET", `${config}/systems/memory.demo/versions`, {}, ["not_found"]],
  ["a shared node changed", "PATCH", `${graph}/nodes/people.demo`, { body: { name: "mine" }, headers: { "if-match": "*" } }, refused],
  [
    "a shared node written over",
    "PUT",
    `${graph}/nodes/people.demo`,
    {
      body: { kind: "MCPService", name: "x", tenant_id: null, props: { service_type: "mcp", trust: "pinned" } },
      headers: { "if-match": "*" },
    },
    refused,
  ],
  [
    "a shared node made",
    "PUT",
    `${graph}/nodes/group:all`,
    { body: { kind: "BusinessRole", name: "x", tenant_id: null }, headers: { "if-none-match": "*" } },
    refused,
  ],
  ["a shared node taken away", "DELETE", `${graph}/nodes/people.demo?cascade=true`, { headers: { "if-match": "*" } }, refused],
  ["a role taken away", "DELETE", `${graph}/nodes/role:administrator?cascade=true`, { headers: { "if-match": "*" } }, refused],
  [
    "a shared node among many changes",
    "POST",
    `${graph}/graph/changes`,
    change({ op: "put_node", node: { id: "role:mine", kind: "BusinessRole", name: "x", tenant_id: null } }),
    refused,
  ],
  [
    "what is shared joined",
    "POST",
    `${graph}/graph/changes`,
    change({ op: "put_edge", edge: { kind: "PROVIDES", src: "people.demo", dst: "system.health" } }),
    refused,
  ],
  ["what is shared parted", "DELETE", `${graph}/edges/PROVIDES/people.demo/people.demo.get_employee`, {}, refused],
  [
    "a shared node imported",
    "POST",
    `${graph}/imports?reason=attack`,
    {
      raw: `${JSON.stringify({ node: { id: "role:mine", kind: "BusinessRole", name: "x", tenant_id: null } })}\n`,
      type: "application/x-ndjson",
      headers: once(),
    },
    ["import_refused", "access_denied"],
  ],
  [
    "a node of Acme imported",
    "POST",
    `${graph}/imports?reason=attack`,
    {
      raw: `${JSON.stringify({ node: { id: "group:x", kind: "Group", name: "x", tenant_id: "tenant:acme" } })}\n`,
      type: "application/x-ndjson",
      headers: once(),
    },
    ["import_refused", "access_denied"],
  ],
  ["a shared tool retired", "DELETE", `${graph}/mcp/tools/people.demo.get_employee`, {}, refused],
  ["a shared service taken away", "DELETE", `${graph}/mcp/services/people.demo?force=true`, {}, refused],
  [
    "the role platform for oneself",
    "PUT",
    `${graph}/edges/MEMBER_OF/person:eve/role:platform`,
    { body: {} },
    ["access_denied", "step_up_required"],
  ],
  [
    "a group of one's own led to the role platform",
    "POST",
    `${graph}/graph/changes`,
    change({ op: "put_edge", edge: { kind: "MEMBER_OF", src: "group:globex-staff", dst: "role:platform" } }),
    ["access_denied", "step_up_required"],
  ],
  ["a dead letter of no tenant", "POST", "/api/v1/events/outbox/00000000-0000-4000-8000-000000000000/drop", {}, ["not_found"]],
];

const codesOf = ({ body }: Reply): readonly string[] => [
  body?.code,
  ...(Array.isArray(body?.errors) ? body.errors.map((one: { code?: string }) => one.code) : []),
];

test("an administrator of another tenant changes and reads nothing of the deployment, with one factor or two", async () => {
  assert.equal(
    (await ask("eve", "POST", `${config}/systems`, { raw: system(own), type: yaml })).status,
    201,
    "what is the own tenant's is",
  );
  const wrong: string[] = [];
  for (const who of ["eve", "eve strong"])
    for (const [what, method, path, sent, codes] of attempts) {
      const reply = await ask(who, method, path, sent);
      if (reply.status < 400 || reply.status >= 500 || !codesOf(reply).some((code) => codes.includes(code)))
        wrong.push(`${who}: ${what}: ${reply.status} ${reply.text.slice(0, 300)}`);
    }
  // What is in force already may be sent again: nothing is written, and nothing made known in the deployment's name.
  const same = await ask("eve strong", "POST", `${config}/systems/people.demo/rollback`, { body: { version: 1 } });
  assert.deepEqual([same.status, same.body.version, same.body.warnings], [200, 1, []]);
  assert.deepEqual(wrong, []);
  assert.equal((await ask("eve", "DELETE", `${config}/systems/globex.own`)).status, 200);
});

test("policies are shown to a tenant's administrator as far as they speak of the own tenant", async () => {
  const idsOf = async (who: string): Promise<readonly string[]> =>
    (await ask(who, "GET", policies)).body.policies.map(({ id }: { id: string }) => id);
  const [eves, adas] = [await idsOf("eve"), await idsOf("ada")];
  const hidden = adas.filter((id) => !eves.includes(id));
  assert.deepEqual(hidden, ["employee-list", "employee-salary", "employee-birth-date", "secret-for-tool"]);
  assert.equal((await ask("eve", "GET", `${policies}/globex-staff`)).status, 200);
  assert.equal((await ask("ada", "GET", `${policies}/globex-staff`)).status, 200, "who runs the deployment sees them whole");
  const { text } = await ask("eve", "GET", policies);
  assert.ok(!text.includes("people-ops") && !text.includes("tenant:acme"), text);
  const tried = await ask("eve", "POST", "/api/pdp/what-if", {
    body: { subject_id: "person:eve", changes: { edges: { add: [{ kind: "MEMBER_OF", from: "person:eve", to: "role:member" }] } } },
  });
  assert.equal(tried.status, 200, tried.text);
});

test("a kill switch of all reaches the own tenant's callers alone, and who runs the deployment steps up for its acts", async () => {
  const body = { reason: "an attack" };
  assert.equal((await ask("eve", "PUT", `${config}/kill-switches/all`, { body })).status, 200);
  const listed = await ask("ada", "POST", "/api/crud/mcp/jsonrpc", { body: { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} } });
  assert.ok(listed.body.result.tools.length > 1, listed.text);
  assert.deepEqual((await ask("ada", "GET", `${config}/kill-switches`)).body.kill_switches, []);
  assert.equal((await ask("eve", "DELETE", `${config}/kill-switches/all`)).status, 200);

  const acts: readonly Attempt[] = [
    ["reload routes", "POST", "/api/v1/routes/reload", {}, []],
    ["reload the configuration", "POST", `${config}/reload`, {}, []],
    [
      "a system for several tenants",
      "POST",
      `${config}/systems`,
      { raw: system(both, "several").replace("person:eve", "person:ada"), type: yaml },
      [],
    ],
    [
      "a shared node",
      "PUT",
      `${graph}/nodes/role:mine`,
      { body: { kind: "BusinessRole", name: "x", tenant_id: null }, headers: { "if-none-match": "*" } },
      [],
    ],
    ["a shared node taken away", "DELETE", `${graph}/nodes/role:mine`, { headers: { "if-match": "*" } }, []],
    ["a draft", "POST", `${policies}/rollouts`, { body: draft }, []],
  ];
  for (const [what, method, path, sent] of acts) {
    const one = await ask("ada", method, path, sent);
    assert.deepEqual([what, one.status, one.body.code, one.body.step_up?.acr_value], [what, 401, "step_up_required", "strong"]);
    const two = await ask("ada strong", method, path, sent);
    assert.ok(two.status < 300, `${what}: ${two.status} ${two.text}`);
  }
});

test("an administrator of the operator's tenant grants nobody a secret of the platform; who runs the deployment does, and ben has his", async () => {
  const secret = "resource:acme.secret.people.demo";
  const grant: Sent = { body: {} };
  const path = `${graph}/edges/GRANTS_ACCESS/group:analysts/${secret}`;
  const used = { body: { props: { type: "secret", attributes: { used_by: "globex.own" } } }, headers: { "if-match": "*" } };
  for (const who of ["cleo", "cleo strong"])
    for (const [method, at, sent] of [
      ["PUT", path, grant],
      ["PATCH", `${graph}/nodes/${secret}`, used],
    ] as const) {
      const { status, body } = await ask(who, method, at, sent);
      assert.deepEqual([who, method, status, body.code], [who, method, 403, "access_denied"]);
    }
  assert.equal((await ask("cleo", "PUT", `${graph}/edges/GRANTS_ACCESS/group:analysts/resource:acme.pages.people`, grant)).status, 200);
  assert.deepEqual((await ask("ada", "PUT", path, grant)).body.code, "step_up_required");
  assert.equal((await ask("ada strong", "PUT", path, grant)).status, 201);
  assert.equal((await ask("cleo", "DELETE", path)).status, 204, "what only narrows is the administrator's");
});
