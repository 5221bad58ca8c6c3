import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import { canonicalJson } from "#contract/canonical-json.ts";
import { endpointTable } from "#contract/endpoints.ts";
import { portOffsets } from "#app/addresses.ts";
import { testDatabase } from "#testing/database.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer } from "#testing/kv-provider.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { testSecrets } from "#testing/secrets.ts";
import { sharedInFile } from "#testing/shared.ts";
import { startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

interface Answer {
  readonly status: number;
  /** Of a refusal. */
  readonly code: string | undefined;
  /** What is the same however often it is answered. */
  readonly body: string;
}
interface Asked {
  readonly ask: (as: "first" | "other", key: string, body: unknown) => Promise<Answer>;
  /** The body, and another one. */
  readonly bodies: readonly [unknown, unknown];
  /** How often the upstream or the store was acted on. */
  readonly acts?: () => Promise<number>;
  readonly conflict?: string;
}

/** What differs from answer to answer by its nature. */
const ownOfEach = new Set(["correlation_id", "decision_id", "call_id", "replayed", "duration_ms", "cost_usd", "audit_id"]);
const answerOf = (status: number, text: string): Answer => {
  const body = JSON.parse(text === "" ? "{}" : text) as { code?: string; error?: { data?: { code?: string } } };
  const same = canonicalJson(JSON.parse(JSON.stringify(body, (name, value: unknown) => (ownOfEach.has(name) ? undefined : value))));
  return { status, code: body.error?.data?.code ?? body.code, body: same ?? "" };
};

const instance = sharedInFile(async (t) => {
  const started = await startTestInstance();
  t.after(() => started.stop());
  return started;
});

/** Of the tool server: each call is one step of the delegation. */
const called = async (path: string, wrap: (tool: string, args: unknown) => unknown, through: "gateway" | "crud"): Promise<Asked> => {
  const { port } = await instance();
  const [ben, other, person] = await Promise.all([
    fetchToken(port, { user: "ben", agent: "agent:hr-assistant" }),
    fetchToken(port, { user: "cleo", agent: "agent:reporter" }),
    fetchToken(port, { user: "ben" }),
  ]);
  const base = `http://localhost:${port + portOffsets[through]}${through === "gateway" ? "/api/crud" : ""}`;
  const post = async (as: "first" | "other", key: string, body: unknown): Promise<Answer> => {
    const response = await fetch(`${base}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${as === "first" ? ben : other}`, "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify(body),
    });
    return answerOf(response.status, await response.text());
  };
  return {
    ask: post,
    bodies: [wrap("people.demo.list_employees", { limit: 1 }), wrap("people.demo.list_employees", { limit: 2 })],
    acts: async () => {
      const response = await fetch(`http://localhost:${port}/access/v1/budgets/effective`, {
        headers: { authorization: `Bearer ${person}` },
      });
      const { snapshot } = (await response.json()) as { snapshot: { steps_used?: number }[] };
      return snapshot.reduce((sum, { steps_used: steps = 0 }) => sum + steps, 0);
    },
  };
};
const rpcOf = (name: string, args: unknown) => ({ jsonrpc: "2.0", id: "1", method: "tools/call", params: { name, arguments: args } });

const graph = sharedInFile(async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  await world.put({ id: "policy:once", kind: "Policy", name: "policy:once", tenant_id: null, props: { rev: "1", uri: "cedar:once" } });
  return world;
});
const written = async (
  path: string,
  bodies: readonly [unknown, unknown],
  more: { readonly media?: string; readonly as?: string } = {},
): Promise<Asked> => {
  const world = await graph();
  const scopes = ["membership.read", "membership.delegate", "membership.write", "membership.registry"];
  return {
    bodies,
    ask: async (as, key, body) => {
      const headers = { "idempotency-key": key, "content-type": more.media ?? "application/json" };
      const who = as === "first" ? (more.as ?? "ada") : "dan";
      const reply = await world.call(who, "POST", path, { body, headers, scopes, asText: true });
      return answerOf(reply.status, String(reply.body));
    },
    acts: async () => Number((await world.sql<{ n: number }>("select count(*)::int as n from membership.graph_change"))[0]?.n),
  };
};

const delegated = (purpose: string) => ({ agent_id: "agent:hr-assistant", capabilities: null, budget_usd: 1, max_steps: 1, purpose });
const group = (id: string) => ({ changes: [{ op: "put_node", node: { id, kind: "Group", name: id } }], reason: "For a test" });
const line = (id: string): string => `${JSON.stringify({ node: { id, kind: "Group", name: id } })}\n`;

const kept = sharedInFile(async (t) => {
  const store = await startKvDouble(t, "openbao");
  const at = await testSecrets(t as TestContext, { more: [kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }))] });
  const scopes = ["read", "write", "delete", "destroy", "rotate", "read_metadata", "set_owner"].map((name) => `secrets.${name}`);
  const who = (sub: string) => ({ sub, tenant: "tenant:acme", scopes });
  const send = async (sub: string, path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> => {
    const response = await at.send(who(sub), "POST", path, { body, headers });
    return answerOf(response.status, await response.text());
  };
  for (const name of ["a", "b", "c", "d"]) {
    await send("person:ada", "/api/secrets", { uri: `vaultA+kv2://kv-a/${name}#k`, value: "old" });
    await send("person:ada", "/api/secrets/rotate", { uri: `vaultA+kv2://kv-a/${name}#k`, value: "older" });
  }
  for (const [path, body] of [
    ["/api/secrets", { uri: "yaml://secret/copied#k", value: "v" }],
    ["/api/secrets", { uri: "yaml://secret/moved#k", value: "v" }],
  ] as const)
    await send("person:ada", path, body);
  return { at, send };
});
const stored = async (path: string, bodies: readonly [unknown, unknown]): Promise<Asked> => {
  const { at, send } = await kept();
  return {
    bodies,
    ask: (as, key, body) => send(as === "first" ? "person:ada" : "person:ben", path, body, { "idempotency-key": key }),
    acts: async () => at.touched.filter((name) => name === "write").length,
  };
};
const kv = (name: string): string => `vaultA+kv2://kv-a/${name}`;

/** How each endpoint that documents the header is asked; one that is not here fails by its name. */
const rows: Readonly<Record<string, () => Promise<Asked>>> = {
  toolRpc: () => called("/mcp/jsonrpc", rpcOf, "crud"),
  viewToolRpc: () => called("/mcp/people/jsonrpc", rpcOf, "crud"),
  execute: () => called("/execute", (tool, args) => ({ tool, arguments: args }), "crud"),
  createDelegation: () => written("/api/v1/delegations", [delegated("One purpose"), delegated("Another purpose")], { as: "ben" }),
  revokeMany: () =>
    written("/api/v1/delegations/revoke-many", [
      { agent_id: "agent:reporter", mode: "pause", reason: "One reason" },
      { agent_id: "agent:reporter", mode: "pause", reason: "Another reason" },
    ]),
  changeGraph: () => written("/api/v1/graph/changes", [group("group:once"), group("group:twice")]),
  importGraph: () =>
    written("/api/v1/imports?reason=Once", [line("group:imported"), line("group:twice")], { media: "application/x-ndjson" }),
  createPolicyBinding: () =>
    written("/api/v1/policy-bindings", [
      { target_id: "memory.demo.read_graph", policy_id: "policy:once" },
      { target_id: "memory.demo.open_nodes", policy_id: "policy:once" },
    ]),
  createAccessRequest: async () => {
    const { port } = await instance();
    const [cleo, other] = await Promise.all([fetchToken(port, { user: "cleo" }), fetchToken(port, { user: "ben" })]);
    const post = async (path: string, token: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => {
      const response = await fetch(`http://localhost:${port}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      return { status: response.status, text: await response.text() };
    };
    const question = {
      subject: { type: "identity", id: "person:cleo" },
      action: { name: "view" },
      resource: { type: "pages", id: "operations" },
    };
    const { context } = JSON.parse((await post("/access/v1/evaluation", cleo, question)).text) as EvaluationReply;
    const { expires_at = "", binding_token = "" } = context?.access_request ?? {};
    const draft = { ...question, denial: { evaluation_id: context?.evaluation_id, expires_at, binding_token } };
    return {
      bodies: [draft, { ...draft, justification: "Another one." }],
      conflict: "duplicate_request",
      ask: async (as, key, body) => {
        const { status, text } = await post("/access/v1/requests", as === "first" ? cleo : other, body, { "idempotency-key": key });
        return answerOf(status, text);
      },
    };
  },
  writeSecret: () =>
    stored("/api/secrets", [
      { uri: `${kv("a")}#k`, value: "one" },
      { uri: `${kv("a")}#k`, value: "two" },
    ]),
  rotateSecret: () =>
    stored("/api/secrets/rotate", [
      { uri: `${kv("a")}#k`, value: "one" },
      { uri: `${kv("a")}#k`, value: "two" },
    ]),
  setSecretOwner: () =>
    stored("/api/secrets/metadata/owner", [
      { uri: kv("a"), owner: "group:one" },
      { uri: kv("a"), owner: "group:two" },
    ]),
  undeleteSecret: async () => {
    const { at } = await kept();
    const ada = { sub: "person:ada", tenant: "tenant:acme", scopes: ["secrets.delete"] };
    await (await at.send(ada, "DELETE", `/api/secrets?uri=${encodeURIComponent(kv("b"))}`)).text();
    return stored("/api/secrets/undelete", [
      { uri: kv("b"), versions: [2] },
      { uri: kv("b"), versions: [1] },
    ]);
  },
  destroySecretVersions: () =>
    stored("/api/secrets/destroy-versions", [
      { uri: kv("c"), versions: [1] },
      { uri: kv("c"), versions: [2] },
    ]),
  copySecret: () =>
    stored("/api/secrets/copy", [
      { fromUri: "yaml://secret/copied", toUri: "yaml://secret/copy" },
      { fromUri: "yaml://secret/copied", toUri: "yaml://secret/copy2" },
    ]),
  moveSecret: () =>
    stored("/api/secrets/move", [
      { fromUri: "yaml://secret/moved", toUri: "yaml://secret/there" },
      { fromUri: "yaml://secret/moved", toUri: "yaml://secret/there2" },
    ]),
  bulkSecrets: () =>
    stored("/api/secrets/bulk", [
      { operations: [{ op: "rotate", uri: `${kv("d")}#k`, value: "one" }] },
      { operations: [{ op: "rotate", uri: `${kv("d")}#k`, value: "two" }] },
    ]),
};

const documented = endpointTable
  .filter(({ endpoint }) => Object.keys(endpoint.headers ?? {}).includes("Idempotency-Key"))
  .map(({ name }) => name);
/** What programs use through the gateway. */
const behindGateway: Readonly<Record<string, () => Promise<Asked>>> = {
  "toolRpc through the gateway": () => called("/mcp/jsonrpc", rpcOf, "gateway"),
  "viewToolRpc through the gateway": () => called("/mcp/people/jsonrpc", rpcOf, "gateway"),
  "execute through the gateway": () => called("/execute", (tool, args) => ({ tool, arguments: args }), "gateway"),
};

const isRefused = ({ status, code }: Answer): boolean => status >= 400 || code !== undefined;

describe("what is sent again with its Idempotency-Key is done once", () => {
  for (const name of [...documented, ...Object.keys(behindGateway)])
    test(name, async () => {
      const make = rows[name] ?? behindGateway[name];
      assert.ok(make !== undefined, `${name} documents Idempotency-Key: say here how it is asked`);
      const { ask, bodies, acts, conflict = "idempotency_conflict" } = await make();
      const key = `once-${name.replaceAll(" ", "-")}`;
      const before = (await acts?.()) ?? 0;
      // Six at once: one does it, the others have its answer or hear that it runs.
      const six = await Promise.all(Array.from({ length: 6 }, () => ask("first", key, bodies[0])));
      const done = six.filter((answer) => !isRefused(answer));
      assert.ok(done.length > 0, JSON.stringify(six[0]));
      // A part that is away for a moment, on a machine under load, has done nothing either.
      for (const answer of six)
        if (isRefused(answer) && answer.status !== 503) assert.equal(answer.code, "in_progress", JSON.stringify(answer));
      const again = await ask("first", key, bodies[0]);
      for (const answer of [...done, again]) assert.deepEqual({ ...answer, status: done[0]?.status }, done[0]);
      const acted = ((await acts?.()) ?? 0) - before;
      if (acts !== undefined) assert.ok(acted <= 1, `it was done ${acted} times`);

      assert.equal((await ask("first", key, bodies[1])).code, conflict);
      const other = await ask("other", key, bodies[1]);
      assert.ok(![conflict, "idempotency_conflict", "in_progress"].includes(other.code ?? ""), other.body);
    });

  test("every row is of an endpoint that documents it", () => {
    assert.deepEqual(Object.keys(rows).toSorted(), documented.toSorted());
  });
});
