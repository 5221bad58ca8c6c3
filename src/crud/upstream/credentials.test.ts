import assert from "node:assert/strict";
import { test } from "node:test";
import type { Invocation } from "#crud/mcp/tool.ts";
import { atOnce } from "#http/turns.ts";
import { createRedact } from "#crud/mcp/call/redact.ts";
import { credentialsOf } from "./credentials.ts";

test("name and password are concealed as they are sent, joined, even where each alone is short", async () => {
  const concealed: string[] = [];
  const call = {
    secret: async (uri: string) => (uri.endsWith("#user") ? "ben" : "s:3t+"),
    conceal: (value: string) => void concealed.push(value),
  } as Partial<Invocation> as Invocation;
  const auth = { type: "basic", username: "yaml://secret/up#user", password: "yaml://secret/up#password" } as const;
  const { headers } = await credentialsOf({ auth }, call);
  assert.equal(headers["authorization"], `Basic ${Buffer.from("ben:s:3t+").toString("base64")}`);
  assert.deepEqual(atOnce(createRedact(concealed)({ headers })), { headers: { authorization: "Basic [redacted]" } });
});
