import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { crudInstance } from "#testing/crud-instance.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { until } from "#testing/until.ts";

const response = { maxBytes: 1_000_000 };
const operations = {
  read: { description: "Reads something.", request: { method: "GET", path: "/read" }, response },
  send: { description: "Sends something.", request: { method: "POST", path: "/send" }, input: { type: "object" }, response },
  hold: {
    description: "Reads pages slowly.",
    request: { method: "GET", path: "/pages" },
    paginate: { style: "page", param: "page", items: "${ response.body }" },
    response,
  },
};
const LARGE = JSON.stringify({ text: "x".repeat(400_000) });

test("while answers of one tenant take its share of bytes, its further calls are refused and those of another go on", async (t) => {
  const instance = await crudInstance(t, { settings: { MCP_MAX_ANSWER_BYTES: String(4 * 1_048_576) } });
  const upstream = await serverUpstream(t);
  let held: ServerResponse | undefined;
  upstream.answer = ({ url = "" }, answer) => {
    answer.setHeader("content-type", "application/json");
    if (url === "/pages?page=1") answer.end(JSON.stringify(["x".repeat(900_000)]));
    else if (url.startsWith("/pages")) held = answer;
    else answer.end(LARGE);
  };
  for (const tenant of ["acme", "globex"]) {
    const made = await instance.request("/config/systems", {
      as: { sub: "person:ada", tenant: `tenant:${tenant}`, scopes: ["config.read", "config.write"] },
      body: {
        apiVersion: "systems/v1",
        provider: "case",
        instance: tenant,
        title: "Large answers",
        owner: "group:people-ops",
        kind: "http",
        tenants: [`tenant:${tenant}`],
        baseUrl: upstream.url,
        network: { allow: ["127.0.0.1/32"] },
        defaults: { dataScope: "none", circuit: { failures: 3, window: "PT30S", open: "PT30S" } },
        operations,
      },
    });
    assert.equal(made.status, 201, await made.text());
  }
  instance.membership.capabilities = ["acme", "globex"].flatMap((one) => Object.keys(operations).map((name) => `case.${one}.${name}`));
  const call = async (tenant: string, name: string): Promise<readonly unknown[]> => {
    const sent = upstream.seen.length;
    const answered = await instance.request("/execute", {
      body: { tool: `case.${tenant}.${name}`, arguments: {} },
      as: { sub: "person:ben", tenant: `tenant:${tenant}` },
    });
    const body = (await answered.json()) as { readonly code?: string; readonly error?: { readonly code: string } };
    return [answered.status, body.code ?? body.error?.code, answered.headers.get("retry-after"), upstream.seen.length - sent];
  };
  const [first] = await Promise.all([
    call("acme", "hold"),
    // Whoever asks for the second page has read the first.
    until(() => held !== undefined).then(async () => {
      for (let at = 0; at < 4; at++) {
        assert.deepEqual(await call("acme", "read"), [429, "overloaded", "1", 1], "tried once");
        assert.deepEqual(await call("acme", "send"), [200, "output_too_large", null, 1], "done");
      }
      for (const name of ["read", "send"]) assert.deepEqual(await call("globex", name), [200, undefined, null, 1], name);
      held?.end("[]");
    }),
  ]);
  assert.equal(first[0], 200);
  for (const name of ["read", "send"]) assert.deepEqual(await call("acme", name), [200, undefined, null, 1], `${name} afterwards`);
});
