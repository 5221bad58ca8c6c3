import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { directoryOf, group, made, patch, user } from "#testing/scim-directory.ts";

const DONE = /Of this message the removal of members is done\.$/;
const NOTHING = /Nothing of this message is done\.$/;
const nobody = "z".repeat(26);

test("who leaves a group by a message leaves it whoever else of the message is refused, and the answer says so", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const scim = await directoryOf(world);
  const [a, b, c] = [await made(scim, "/Users", user("a")), await made(scim, "/Users", user("b")), await made(scim, "/Users", user("c"))];
  const remove = (id: string) => ({ op: "remove", path: `members[value eq "${id}"]` });
  const add = (...members: readonly unknown[]) => ({ op: "add", path: "members", value: members });
  const rename = { op: "replace", path: "displayName", value: "Other" };
  const whole = (...members: readonly unknown[]) => ({ op: "replace", path: "members", value: members });
  type Row = readonly [what: string, sent: object, after: readonly string[], detail: RegExp];
  const rows = (id: string): readonly Row[] => [
    ["an unknown id", patch(remove(a), add({ value: nobody }), rename), [b], DONE],
    ["an unknown id before", patch(add({ value: nobody }, { value: c }), remove(a)), [b], DONE],
    ["no id", patch(remove(a), add({ value: "dan@acme" })), [b], DONE],
    ["a member without value", patch(add({ display: "c" }, { value: c }), remove(a)), [b], DONE],
    ["a removal that is none", patch(remove(a), { op: "remove", path: "members", value: [{}] }), [b], DONE],
    ["a part of a list", patch({ op: "remove", path: "members", value: [{ value: a }, {}] }), [b], DONE],
    ["the group itself", patch(remove(a), add({ value: id })), [b], DONE],
    ["all but one, and an unknown id", patch(whole({ value: b }, { value: nobody })), [b], DONE],
    ["all by PUT, and an unknown id", group("Staff", [b, c, nobody]), [b], DONE],
    ["who stays is not known", patch(whole({ value: b }, { value: "dan@acme" })), [a, b], NOTHING],
    ["who stays is not known, by PUT", { ...group("Staff"), members: [{ value: b }, {}] }, [a, b], NOTHING],
    ["nobody leaves", patch(add({ value: nobody }), rename), [a, b], NOTHING],
    ["an operation that is none", patch(remove(a), { op: "move", path: "members" }), [a, b], NOTHING],
    ["a path that is none", patch(remove(a), { op: "replace", path: "displayName[", value: "x" }), [a, b], NOTHING],
    ["a name that is none", patch(remove(a), { ...rename, value: "" }), [b], DONE],
  ];
  for (let at = 0; at < rows("").length; at++) {
    const id = await made(scim, "/Groups", group("Staff", [a, b]));
    const [what, sent, after, detail] = rows(id)[at] as Row;
    const reply = await scim("Operations" in sent ? "PATCH" : "PUT", `/Groups/${id}`, sent);
    assert.deepEqual([what, reply.status], [what, 400], JSON.stringify(reply.body));
    assert.match(reply.body.detail, detail, what);
    const read = (await scim("GET", `/Groups/${id}`)).body;
    const members = (read.members ?? []).map(({ value }: { value: string }) => value);
    assert.deepEqual([what, members.toSorted(), read.displayName], [what, after.toSorted(), "Staff"]);
    const [token] = (await world.call("ada", "GET", "/api/v1/scim-tokens", { scopes: ["membership.read"] })).body.items;
    assert.ok(
      token.problems.some((problem: { detail: string }) => problem.detail === reply.body.detail),
      what,
    );
  }
});

test("values of an operation in the plural are those that leave, and not all", async (t) => {
  const scim = await directoryOf(await servedWorld(t, await testDatabase(t, graphModules)));
  const [a, b] = [await made(scim, "/Users", user("a")), await made(scim, "/Users", user("b"))];
  const id = await made(scim, "/Groups", group("Staff", [a, b]));
  const reply = await scim("PATCH", `/Groups/${id}`, patch({ op: "remove", path: "members", values: [{ value: a }] }));
  assert.deepEqual([reply.status, reply.body.members.map(({ value }: { value: string }) => value)], [200, [b]]);
});
