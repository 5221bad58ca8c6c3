import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import { canonicalJson } from "#contract/canonical-json.ts";
import type { ServiceName } from "#contract/endpoint.ts";
import { portOffsets } from "#app/model/addresses.ts";
import type { Json } from "#testing/contract-samples.ts";
import { testDatabase } from "#testing/database.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer } from "#testing/kv-provider.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { requestOf } from "#testing/probes/probe.ts";
import { probedEndpoints } from "#testing/probes/probes.ts";
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

type Row = (typeof probedEndpoints)[number];
/** What is sent, as the row's probe has it: the path, its headers, and one of its bodies. */
const requestTo = ({ endpoint, probe }: Row, at = 0) => requestOf(endpoint, { ...probe.repeat, body: probe.repeat?.bodies[at] });
const bodiesOf = (row: Row): readonly [unknown, unknown] => [requestTo(row).body, requestTo(row, 1).body];

/** Of the tool server: each call is one step of the delegation. */
const called = async (row: Row, through: "gateway" | "crud"): Promise<Asked> => {
  const { port } = await instance();
  const [ben, other, person] = await Promise.all([
    fetchToken(port, { user: "ben", agent: "agent:hr-assistant" }),
    fetchToken(port, { user: "cleo", agent: "agent:reporter" }),
    fetchToken(port, { user: "ben" }),
  ]);
  const base = `http://localhost:${port + portOffsets[through]}${through === "gateway" ? "/api/crud" : ""}`;
  const post = async (as: "first" | "other", key: string, body: unknown): Promise<Answer> => {
    const response = await fetch(`${base}${requestTo(row).path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${as === "first" ? ben : other}`, "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify(body),
    });
    return answerOf(response.status, await response.text());
  };
  return {
    ask: post,
    bodies: bodiesOf(row),
    acts: async () => {
      const response = await fetch(`http://localhost:${port}/access/v1/budgets/effective`, {
        headers: { authorization: `Bearer ${person}` },
      });
      const { snapshot } = (await response.json()) as { snapshot: { steps_used?: number }[] };
      return snapshot.reduce((sum, { steps_used: steps = 0 }) => sum + steps, 0);
    },
  };
};

const graph = sharedInFile(async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  await world.put({ id: "policy:once", kind: "Policy", name: "policy:once", tenant_id: null, props: { rev: "1", uri: "cedar:once" } });
  return world;
});
const written = async (row: Row): Promise<Asked> => {
  const world = await graph();
  const scopes = ["membership.read", "membership.delegate", "membership.write", "membership.registry"];
  return {
    bodies: bodiesOf(row),
    ask: async (as, key, body) => {
      const { path, headers } = requestTo(row);
      const who = as === "first" ? (row.probe.repeat?.as ?? "ada") : "dan";
      const sent = { "content-type": "application/json", ...headers, "idempotency-key": key };
      const reply = await world.call(who, "POST", path, { body, headers: sent, scopes, asText: true });
      return answerOf(reply.status, String(reply.body));
    },
    acts: async () => Number((await world.sql<{ n: number }>("select count(*)::int as n from membership.graph_change"))[0]?.n),
  };
};

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
  await (await at.send(who("person:ada"), "DELETE", "/api/secrets?uri=vaultA%2Bkv2%3A%2F%2Fkv-a%2Fb")).text();
  return { at, send };
});
const stored = async (row: Row): Promise<Asked> => {
  const { at, send } = await kept();
  return {
    bodies: bodiesOf(row),
    ask: (as, key, body) => send(as === "first" ? "person:ada" : "person:ben", row.endpoint.path, body, { "idempotency-key": key }),
    acts: async () => at.touched.filter((name) => name === "write").length,
  };
};
/** Of the decision point: the bodies are a question that is denied; the request carries the denial. */
const requested = async (row: Row): Promise<Asked> => {
  const { port } = await instance();
  const [first, other] = await Promise.all([fetchToken(port, { user: "cleo" }), fetchToken(port, { user: "ben" })]);
  const post = async (path: string, token: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(`http://localhost:${port}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  const [question, another] = bodiesOf(row) as readonly [Json, Json];
  const { context } = JSON.parse((await post("/access/v1/evaluation", first, question)).text) as EvaluationReply;
  const { expires_at = "", binding_token = "" } = context?.access_request ?? {};
  const denial = { evaluation_id: context?.evaluation_id, expires_at, binding_token };
  return {
    bodies: [
      { ...question, denial },
      { ...another, denial },
    ],
    ask: async (as, key, body) => {
      const { status, text } = await post(row.endpoint.path, as === "first" ? first : other, body, { "idempotency-key": key });
      return answerOf(status, text);
    },
  };
};

const ways: Readonly<Record<ServiceName, ((row: Row) => Promise<Asked>) | undefined>> = {
  crud: (row) => called(row, "crud"),
  membership: written,
  secrets: stored,
  pdp: requested,
  gateway: undefined,
};
const documented = probedEndpoints.filter(({ endpoint }) => "Idempotency-Key" in (endpoint.headers ?? {}));
const cases = documented.flatMap((row): (readonly [string, Row, ((row: Row) => Promise<Asked>) | undefined])[] => [
  [row.name, row, ways[row.endpoint.service]],
  // What programs use through the gateway.
  ...(row.endpoint.service === "crud" ? [[`${row.name} through the gateway`, row, (one: Row) => called(one, "gateway")] as const] : []),
]);

const isRefused = ({ status, code }: Answer): boolean => status >= 400 || code !== undefined;

describe("what is sent again with its Idempotency-Key is done once", () => {
  for (const [name, row, make] of cases)
    test(name, async () => {
      assert.ok(
        make !== undefined && row.probe.repeat !== undefined,
        `${name} documents Idempotency-Key: its probe says how it is repeated`,
      );
      const { ask, bodies, acts } = await make(row);
      const { conflict = "idempotency_conflict" } = row.probe.repeat;
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
});
