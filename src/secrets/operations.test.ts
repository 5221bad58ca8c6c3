import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointTable } from "#contract/endpoints.ts";
import { actionOf, secretOperations, secretScopes, type SecretOperation } from "#contract/secret-operations.ts";
import { pairOf } from "#pdp-client/pairs.ts";
import { leastOf } from "#testing/contract-samples.ts";
import { testSecrets } from "#testing/secrets.ts";

const rows = Object.values<SecretOperation>(secretOperations);

test("every secret operation is served, under a name of its own", async (t) => {
  const at = await testSecrets(t);
  const caller = { sub: "person:ada", tenant: "tenant:acme", scopes: [...secretScopes] };
  assert.equal(new Set(rows.map(({ op }) => op)).size, rows.length);
  for (const { op, endpoint } of rows) {
    const name = endpointTable.find((one) => one.endpoint === endpoint)?.name ?? "";
    const least = leastOf(name, endpoint.body ?? endpoint.query);
    const response =
      endpoint.body === undefined
        ? await at.send(caller, endpoint.method, `${endpoint.path}?${new URLSearchParams(least).toString()}`)
        : await at.send(caller, endpoint.method, endpoint.path, { body: least });
    const { code } = (await response.json()) as { readonly code?: string };
    assert.ok(code !== "not_found" && response.status !== 405, `${op} has no handler`);
  }
});

test("the scope of a secret operation is one of its endpoint's, and each purpose has a pair", () => {
  for (const { op, endpoint, scope, also = [], purposes } of rows) {
    for (const needed of [scope, ...also.map((one) => one.scope)]) assert.ok(endpoint.scope?.includes(needed), `${op}: ${needed}`);
    for (const purpose of purposes)
      if (purpose !== undefined) assert.ok(pairOf("secret", actionOf(purpose)) !== undefined, `${op}: secret/${purpose}`);
  }
});
