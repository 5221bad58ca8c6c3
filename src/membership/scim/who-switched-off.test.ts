import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { directoryOf, made, patch, user } from "#testing/scim-directory.ts";

const on = { op: "Replace", path: "active", value: "True" };
const off = { op: "Replace", path: "active", value: "False" };
const rename = { op: "Replace", path: "displayName", value: "Renamed" };

/** What is done one after the other, by the directory or an administrator (a state), and whether the person may come in then. */
const rows: readonly (readonly [what: string, steps: readonly (object | string)[], isActive: boolean])[] = [
  ["the directory wakes whom it suspended", [off, on], true],
  ["by PUT too", [off, user("", { active: "true" })], true],
  ["and after a change of something else", [off, rename, on], true],
  ["an administrator's suspension stays", ["suspended", on], false],
  ["an administrator's disabling stays", ["disabled", on], false],
  ["by PUT too", ["suspended", user("", { active: true })], false],
  ["also where the directory says false before true", ["disabled", off, on], false],
  ["also where the directory had suspended before", [off, "active", "suspended", on], false],
  ["also where an administrator disables who was suspended", [off, "disabled", on], false],
  ["who was woken by an administrator is suspended again by the directory", [off, "active", off], false],
  ["and then woken by it", [off, "active", off, on], true],
  ["what does not say active wakes nobody", [off, rename, user("", { displayName: "x" })], false],
  ["nor suspends whom an administrator woke", [off, "active", rename], true],
  ["active taken away wakes nobody", [off, { op: "remove", path: "active" }, { op: "replace", path: "active", value: null }], false],
];

test("active: true wakes whom the directory suspended, nobody whom an administrator switched off, and the answer is true", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const scim = await directoryOf(world);
  for (const [at, [what, steps, isActive]] of rows.entries()) {
    const userName = `u${at}`;
    const id = await made(scim, "/Users", user(userName));
    const person = `person:scim:${id}`;
    let tag = "";
    for (const step of steps) {
      if (typeof step === "string") {
        await world.put({ id: person, kind: "Person", name: userName, system: "scim", tenant_id: "tenant:acme", state: step });
        continue;
      }
      const reply =
        "op" in step ? await scim("PATCH", `/Users/${id}`, patch(step)) : await scim("PUT", `/Users/${id}`, { ...step, userName });
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      tag = reply.headers.get("etag") ?? "";
    }
    const [node] = await world.sql<{ state: string }>(`select state from membership.node where id = '${person}'`);
    const read = await scim("GET", `/Users/${id}`);
    assert.deepEqual([what, node?.state === "active", read.body.active], [what, isActive, isActive]);
    const found = await scim("GET", `/Users?filter=${encodeURIComponent(`id eq "${id}" and active eq ${isActive}`)}`);
    assert.equal(found.body.totalResults, 1, what);
    if (typeof steps.at(-1) !== "string") assert.equal(read.headers.get("etag"), tag, what);
  }
  const id = await made(scim, "/Users", user("seen"));
  const before = (await scim("GET", `/Users/${id}`)).headers.get("etag") ?? "";
  await world.put({ id: `person:scim:${id}`, kind: "Person", name: "seen", system: "scim", tenant_id: "tenant:acme", state: "disabled" });
  const after = await scim("GET", `/Users/${id}`, undefined, { "if-none-match": before });
  assert.deepEqual([after.status, after.body?.active], [200, false], "it is another version");
  const tokens = await world.call("ada", "GET", "/api/v1/scim-tokens", { scopes: ["membership.read"] });
  assert.ok(
    tokens.body.items[0].problems.some(({ detail }: { detail: string }) => detail.includes("wakes nobody whom somebody else switched off")),
    "its owner sees why",
  );
});
