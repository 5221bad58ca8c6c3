import assert from "node:assert/strict";
import { test } from "node:test";
import type { Invocation } from "#crud/tools/tool.ts";
import type { AuthRules } from "#crud/systems/system-document.ts";
import { atOnce } from "#http/yielding.ts";
import { createRedact } from "#crud/tools/redact.ts";
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

const shown: readonly (readonly [auth: AuthRules, secrets: Readonly<Record<string, string>>, echo: string, left: string])[] = [
  [
    { type: "basic", username: "yaml://secret/up#user", password: "yaml://secret/up#password" },
    { user: "admin", password: "1234!" },
    "role admin, password 1234!, admin:1234!",
    "role admin, password [redacted], [redacted]",
  ],
  [{ type: "bearer", token: "yaml://secret/up#token" }, { token: "t0k" }, "t0k: Bearer t0k", "t0k: [redacted]"],
  [
    { type: "api_key", in: "query", name: "key", value: "yaml://secret/up#key" },
    { key: "k3y9" },
    "/list?key=k3y9 or k3y9",
    "/list?key=[redacted] or [redacted]",
  ],
];
for (const [auth, secrets, echo, left] of shown)
  test(`a short credential is taken out, alone or at the least as it is sent, and a name is not: ${auth.type}`, async () => {
    const concealed: string[] = [];
    const call = {
      secret: async (uri: string) => secrets[uri.split("#")[1] ?? ""] ?? "",
      conceal: (value: string) => void concealed.push(value),
    } as Partial<Invocation> as Invocation;
    await credentialsOf({ auth }, call);
    assert.equal(atOnce(createRedact(concealed)(echo)), left);
  });
