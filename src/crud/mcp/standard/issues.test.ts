import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Listening } from "#http/listen.ts";
import { agent, crudInstance, type CrudInstance } from "#testing/crud-instance.ts";

const modern = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const call = (method: string, params: unknown, more: Readonly<Record<string, unknown>> = {}) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params, ...more });
const initialize = call("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } });
const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const at = (method: string, name?: string) => ({
  ...json,
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": method,
  ...(name === undefined ? {} : { "mcp-name": name }),
});

interface Ask {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

const issues: readonly (readonly [what: string, ask: Ask, code: string])[] = [
  ["a body that is no JSON", { body: "{" }, "body_unreadable"],
  ["a member twice", { body: '{"jsonrpc":"2.0","jsonrpc":"2.0"}' }, "body_unreadable"],
  ["a batch", { body: "[]" }, "invalid_request"],
  ["another media type", { body: "{}", headers: { ...json, "content-type": "text/plain" } }, "unsupported_media_type"],
  ["a message too large", { body: `"${"x".repeat(3_000_000)}"` }, "too_large"],
  ["no JSON-RPC", { body: "{}" }, "invalid_request"],
  ["another version of JSON-RPC", { body: '{"jsonrpc":"1.0","id":1,"method":"tools/list"}' }, "invalid_request"],
  ["a null", { body: "null" }, "invalid_request"],
  ["nothing acceptable", { body: call("tools/list", {}), headers: { ...json, accept: "text/html" } }, "not_acceptable"],
  [
    "a version of the protocol that there is not",
    { body: call("tools/list", {}), headers: { ...json, "mcp-protocol-version": "1999-01-01" } },
    "invalid_request",
  ],
  ["a method that there is not", { body: call("tools/nothing", {}) }, "unknown_method"],
  [
    "a method that there is not, of today",
    { body: call("tools/nothing", { _meta: modern }), headers: at("tools/nothing") },
    "unknown_method",
  ],
  ["arguments that are none", { body: call("tools/call", { name: "system.health", arguments: 5 }) }, "invalid_params"],
  [
    "arguments that are none, of today",
    { body: call("tools/call", { name: "system.health", arguments: 5, _meta: modern }), headers: at("tools/call", "system.health") },
    "invalid_params",
  ],
  [
    "an argument that would be left out",
    { body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"system.health","arguments":{"__proto__":{}}}}' },
    "invalid_params",
  ],
  ["a tool that there is not", { body: call("tools/call", { name: "no.such.tool" }) }, "unknown_tool"],
  ["a header unlike the body", { body: call("tools/list", { _meta: modern }), headers: at("tools/call") }, "ambiguous_headers"],
  [
    "an envelope without a version",
    { body: call("tools/list", { _meta: { "io.modelcontextprotocol/clientInfo": {} } }), headers: at("tools/list") },
    "invalid_params",
  ],
  ["another cursor", { body: call("tools/list", { cursor: "x" }) }, "invalid_cursor"],
];

describe("every issue at /mcp says its code and the request that it is of", () => {
  let instance: CrudInstance;
  let listening: Listening;
  let url: string;
  const cleanups: (() => Promise<void> | void)[] = [];
  before(async () => {
    instance = await crudInstance({ after: (work: () => Promise<void>) => void cleanups.push(work) } as never);
    listening = await instance.listen();
    url = `http://127.0.0.1:${listening.port}`;
  });
  after(async () => {
    await listening.close(0);
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });

  const send = async ({ headers = json, body }: Ask, more: Readonly<Record<string, string>> = {}) => {
    const authorization = `Bearer ${await instance.token(agent)}`;
    const response = await fetch(`${url}/mcp`, {
      method: "POST",
      body,
      headers: { authorization, "x-correlation-id": "c-7", ...headers, ...more },
    });
    const text = await response.text();
    const [, frame] = /^data: (\{.*\})$/m.exec(text) ?? [];
    return { response, message: JSON.parse(frame ?? text) as { error?: { code: number; data?: Record<string, unknown> } } };
  };

  for (const [what, ask, code] of issues)
    test(`${what} is ${code}`, async () => {
      const { response, message } = await send(ask);
      assert.deepEqual([message.error?.data?.["code"], message.error?.data?.["correlation_id"]], [code, "c-7"], JSON.stringify(message));
      assert.equal(response.headers.get("x-correlation-id"), "c-7");
    });

  test("and so in a session of the earlier versions", async () => {
    const begun = await fetch(`${url}/mcp`, {
      method: "POST",
      body: initialize,
      headers: { ...json, authorization: `Bearer ${await instance.token(agent)}` },
    });
    const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
    assert.notEqual(session["mcp-session-id"], "");
    for (const [body, code] of [
      [call("tools/nothing", {}), "unknown_method"],
      [initialize, "invalid_request"],
      [call("tools/call", { name: 5 }), "invalid_params"],
      [call("tools/call", { name: "no.such.tool" }), "unknown_tool"],
    ] as const) {
      const { message } = await send({ body }, session);
      assert.deepEqual([message.error?.data?.["code"], message.error?.data?.["correlation_id"]], [code, "c-7"], JSON.stringify(message));
    }
  });
});
