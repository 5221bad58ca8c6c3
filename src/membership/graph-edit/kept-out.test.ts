import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";

const scopes = ["membership.read", "membership.write"];

test("who is suspended or disabled stays so when somebody writes them without a state, and an agent stays its client's", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = async (method: string, path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<void> => {
    const more = { "if-match": "*", "idempotency-key": crypto.randomUUID(), ...headers };
    const reply = await world.call("ada", method, path, { body, scopes, headers: more });
    assert.equal(reply.status, 200, `${method} ${path}: ${JSON.stringify(reply.body)}`);
  };
  const imported = (body: string, type: string, query = "") =>
    call("POST", `/api/v1/imports?reason=from%20a%20file${query}`, body, { "content-type": type });
  type Node = Readonly<Record<"id" | "kind" | "name", string>> & { readonly state?: string };
  const writers: Readonly<Record<string, (node: Node) => Promise<void>>> = {
    "PUT of a node": ({ id, ...node }) => call("PUT", `/api/v1/nodes/${id}`, node),
    "graph/changes": (node) => call("POST", "/api/v1/graph/changes", { changes: [{ op: "put_node", node }], reason: "renamed" }),
    "import of NDJSON": (node) => imported(JSON.stringify({ node }), "application/x-ndjson"),
    "import of CSV": (node) =>
      imported(`${Object.keys(node).join()}\n${Object.values(node).join()}\n`, "text/csv", "&format=csv&csv=nodes"),
  };
  const stored = async (id: string) => {
    const [row] = await world.sql<object>(`select name, state, props ->> 'client_id' as client_id from membership.node where id = '${id}'`);
    return row;
  };
  const client_id = "agent:hr-assistant";
  for (const [what, write] of Object.entries(writers))
    for (const [id, kind, state, client] of [
      ["person:dan", "Person", "suspended", null],
      ["person:dan", "Person", "disabled", null],
      [client_id, "AIAgent", "suspended", client_id],
      [client_id, "AIAgent", "disabled", client_id],
    ] as const) {
      await call("PATCH", `/api/v1/nodes/${id}`, { state });
      const name = `${what} ${state}`;
      await write({ id, kind, name });
      assert.deepEqual(await stored(id), { name, state, client_id: client });
      await write({ id, kind, name, state: "active" });
      assert.deepEqual(await stored(id), { name, state: "active", client_id: client }, "a state that is named counts");
    }
});
