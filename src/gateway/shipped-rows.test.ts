import assert from "node:assert/strict";
import { test } from "node:test";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();

const evaluation = "POST, OPTIONS";
const readOnly = "GET, OPTIONS, HEAD";
for (const [rest, allow, refused] of [
  ["evaluation", evaluation, "GET"],
  ["evaluations", evaluation, "DELETE"],
  ["search/subject", evaluation, "GET"],
  ["search/resource", evaluation, "GET"],
  ["search/action", evaluation, "GET"],
  ["budgets/effective", readOnly, "POST"],
  ["budgets/effective", readOnly, "DELETE"],
] as const)
  for (const base of ["/access/v1", "/api/pdp"])
    test(`OPTIONS ${base}/${rest} says what may be sent, without a credential; ${refused} is no part of it`, async (t) => {
      const pdp = recordingPeer();
      const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer } });
      const options = await made.fetch(`${base}/${rest}`, { method: "OPTIONS" });
      assert.deepEqual([options.status, options.headers.get("allow"), await options.text()], [204, allow, ""]);
      const { headers } = await made.signIn("person:ben");
      const other = await made.fetch(`${base}/${rest}`, { method: refused, headers, ...(refused === "POST" ? { body: "{}" } : {}) });
      assert.deepEqual([other.status, other.headers.get("allow")], [405, allow]);
      assert.deepEqual(pdp.seen, [], "the decision point hears of none of it");
    });

test("effective budgets are the decision point's, under both names and by both credentials", async (t) => {
  const pdp = recordingPeer();
  const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer } });
  const { cookie } = await made.signIn("person:ben");
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] });
  for (const base of ["/access/v1", "/api/pdp"])
    for (const headers of [cookie, { authorization: `Bearer ${token}` }]) {
      const response = await made.fetch(`${base}/budgets/effective?scope=user`, { headers });
      assert.equal(response.status, 200, await response.text());
      const { method, path, query } = pdp.seen.at(-1) ?? {};
      assert.deepEqual([method, path, query], ["GET", "/access/v1/budgets/effective", "?scope=user"]);
    }
});
