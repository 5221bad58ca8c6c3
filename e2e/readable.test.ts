import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import { portOffsets } from "#app/model/addresses.ts";
import { sampleOf, samples, schemaOf } from "#testing/contract-samples.ts";
import { requestOf } from "#testing/probes/probe.ts";
import { probedEndpoints } from "#testing/probes/probes.ts";
import { sharedInFile } from "#testing/shared.ts";
import { until } from "#testing/until.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

type Headers = Readonly<Record<string, string>>;
type Parameters = Readonly<Record<string, string>>;
type Row = (typeof probedEndpoints)[number];

const openapi = JSON.stringify({
  openapi: "3.1.0",
  info: { title: "Things", version: "1" },
  servers: [{ url: "https://things.example.com" }],
  paths: { "/things": { get: { operationId: "list_things", responses: { 200: { description: "Things." } } } } },
});

const instance = sharedInFile(async (t) => {
  const started = await startTestInstance();
  t.after(() => started.stop());
  const { port, origin } = started;
  const bearer = async (user: string, acr?: "strong"): Promise<Headers> => ({
    authorization: `Bearer ${await fetchToken(port, { user, ...(acr === undefined ? {} : { acr }) })}`,
  });
  const [ada, ben, cleo] = await Promise.all([bearer("ada", "strong"), bearer("ben"), bearer("cleo")]);
  return { port, ada, ben, cleo, session: (await signInPerson(origin, "ada")).headers };
});
type Instance = Awaited<ReturnType<typeof instance>>;

const send = async (
  { port, ada }: Instance,
  service: keyof typeof portOffsets,
  path: string,
  more: { readonly as?: Headers; readonly method?: string; readonly body?: unknown; readonly text?: string } = {},
) => {
  const body = more.text ?? (more.body === undefined ? undefined : JSON.stringify(more.body));
  const response = await fetch(`http://localhost:${port + portOffsets[service]}${path}`, {
    method: more.method ?? (body === undefined ? "GET" : "POST"),
    headers: { "content-type": "application/json", "idempotency-key": crypto.randomUUID(), ...(more.as ?? ada) },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  assert.ok(response.ok, `${path}: ${response.status} ${text}`);
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into what it expects
  return JSON.parse(text) as any;
};

const startRun = async (at: Instance): Promise<string> => {
  const data = { person: "person:dan", resource: crypto.randomUUID(), until: "2099-01-01T00:00:00Z" };
  return (await send(at, "crud", "/workflows/grant_access/start", { as: at.ben, body: { data } })).run_id;
};

/** Makes, or looks up, what there is to be read. */
const makeOne: Readonly<Record<string, (at: Instance) => Promise<string>>> = {
  accessRequest: async (at) => {
    const question = {
      subject: { type: "identity", id: "person:cleo" },
      action: { name: "view" },
      resource: { type: "pages", id: "operations" },
    };
    const { context } = (await send(at, "gateway", "/access/v1/evaluation", { as: at.cleo, body: question })) as EvaluationReply;
    const { expires_at, binding_token } = context?.access_request ?? {};
    const denial = { evaluation_id: context?.evaluation_id, expires_at, binding_token };
    return (await send(at, "gateway", "/access/v1/requests", { as: at.cleo, body: { ...question, denial } })).task.id;
  },
  binding: async (at) => {
    const node = { id: "policy:read", kind: "Policy", name: "policy:read", props: { rev: "1", uri: "cedar:read" } };
    await send(at, "membership", "/api/v1/graph/changes", { body: { changes: [{ op: "put_node", node }], reason: "For a test" } });
    const body = { target_id: "memory.demo.read_graph", policy_id: node.id };
    return (await send(at, "membership", "/api/v1/policy-bindings", { body })).id;
  },
  decision: async (at) => (await send(at, "pdp", "/access/v1/decisions?whose=own")).decisions[0].decision_id,
  importId: async (at) => (await send(at, "crud", "/config/imports/openapi?provider=things&instance=read", { text: openapi })).import_id,
  killSwitch: async (at) =>
    (await send(at, "crud", "/config/kill-switches/view:people", { method: "PUT", body: { reason: "For a test" } })).scope,
  policy: async (at) => (await send(at, "pdp", "/access/v1/policies")).policies[0].id,
  replay: async (at) => {
    const { version } = await send(at, "pdp", "/access/v1/policies");
    return (await send(at, "pdp", "/access/v1/policies/replay", { body: { version, filter: {}, limit: 1 } })).replay_id;
  },
  run: async (at) => startRun(at),
  task: async (at) => {
    const run = await startRun(at);
    const tasks = () => send(at, "crud", `/tasks?run_id=${run}`, { as: at.cleo });
    const { items } = await until(tasks, (found) => found.items.length > 0, 20_000);
    return items[0].id;
  },
  service: async (at) => (await send(at, "membership", "/api/v1/mcp/services")).services[0].id,
  version: async (at) => (await send(at, "pdp", "/access/v1/policies")).version,
};

const read = async (at: Instance, { name, endpoint, probe }: Row): Promise<readonly string[]> => {
  const { as, params = {}, query = {} } = probe.read ?? {};
  const marks = [...JSON.stringify(params).matchAll(/\{(\w+)\}/g)].map(([, mark = ""]) => mark);
  const made = Object.fromEntries(await Promise.all(marks.map(async (mark) => [mark, (await makeOne[mark]?.(at)) ?? ""] as const)));
  const least = endpoint.query === undefined ? {} : ((samples[name] ?? sampleOf(schemaOf(endpoint.query), "")) as Parameters);
  const { path } = requestOf(endpoint, { params, query: { ...least, ...query } }, made);
  const answers: string[] = [];
  for (const headers of as === undefined ? [at.ada, at.ben, at.session] : [at[as]]) {
    const response = await fetch(`http://localhost:${at.port + portOffsets[endpoint.service]}${path}`, { headers });
    if (response.status === 200) {
      await response.body?.cancel();
      return [];
    }
    answers.push(`${response.status} ${(await response.text()).slice(0, 300)}`);
  }
  return answers;
};

describe("everything that is served to be read is read by somebody in the demo", () => {
  let at: Instance;
  before(async () => {
    at = await instance();
  });
  for (const row of probedEndpoints.filter(({ endpoint, probe }) => endpoint.method === "GET" && probe.unread === undefined))
    test(`GET ${row.endpoint.path} (${row.name})`, async () => {
      assert.deepEqual(await read(at, row), [], `nobody is answered: its probe says what ${row.name} is asked for, or why nobody is`);
    });
});
