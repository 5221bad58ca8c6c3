import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { Database } from "#store/database.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { directoryOf, group, made, patch, user } from "#testing/scim-directory.ts";
import { foldName } from "./scim-filter.ts";

const MIGRATION = new URL("../migrations/021-scim-names.sql", import.meta.url);
/** The database as it was before the migration. */
const undo = (database: Database): Promise<void> =>
  database.script(`drop trigger require_scim_name on membership.scim_resource;
    drop function membership.require_scim_name();
    drop function membership.fold_name(text) cascade;
    create index scim_resource_display_name on membership.scim_resource (tenant_id, lower((document ->> 'displayName') collate "C")) where type = 'Group';`);

/** Two spellings each: of one name, or of two. */
const rows: readonly (readonly [one: string, other: string, isSame: boolean])[] = [
  ["ASA.x", "asa.X", true],
  ["ÅSA.x", "åsa.X", true],
  ["ÖZ.x", "öz.x", true],
  ["\u212aarl", "karl", true],
  ["İz", "i\u0307z", true],
  ["ΟΔΟΣ", "οδος", true],
  ["ΟΔΟΣ.2", "οδοσ.2", true],
  ["ДМИТРИЙ", "дмитрий", true],
  ["𐐀lo", "𐐨lo", true],
  ["STRASSE", "straße", false],
  ["Iğ", "ığ", false],
  ["a%_\\Ä", "axy\\ä", false],
];

forEachDatabase("a name is found, and is once in a tenant, whatever the case of its letters", graphModules, async (t, database) => {
  const world = await servedWorld(t, database);
  const scim = await directoryOf(world);
  const found = async (path: string, filter: string): Promise<readonly string[]> => {
    const { status, body } = await scim("GET", `${path}?filter=${encodeURIComponent(filter)}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.Resources.map(({ userName, displayName }: Record<string, string>) =>
      path === "/Users" ? userName : displayName,
    ).toSorted();
  };
  for (const [one, other, isSame] of rows) {
    await made(scim, "/Users", user(one, { displayName: `Name ${one}` }));
    const again = await scim("POST", "/Users", user(other, { displayName: `Name ${other}` }));
    assert.deepEqual([other, again.status, again.body.scimType], [other, ...(isSame ? [409, "uniqueness"] : [201, undefined])]);
    await made(scim, "/Groups", group(one));
    await made(scim, "/Groups", group(other));
    for (const name of [one, other]) {
      const text = JSON.stringify(name);
      const expected = [isSame ? one : name];
      for (const filter of [`userName eq ${text}`, `userName eq ${text} and active eq true`, `not (userName ne ${text})`])
        assert.deepEqual([filter, await found("/Users", filter)], [filter, expected]);
      assert.deepEqual([name, await found("/Users", `displayName eq ${JSON.stringify(`NAME ${name}`)}`)], [name, expected]);
      const groups = isSame ? [one, other].toSorted() : [name];
      assert.deepEqual([name, await found("/Groups", `displayName eq ${text}`)], [name, groups]);
      assert.deepEqual([name, await found("/Groups", `displayName sw ${text} and displayName ew ${text}`)], [name, groups]);
    }
  }
  const id = await made(scim, "/Users", user("renamed"));
  const taken = await scim("PATCH", `/Users/${id}`, patch({ op: "replace", path: "userName", value: "öZ.X" }));
  assert.deepEqual([taken.status, taken.body.scimType], [409, "uniqueness"]);
  const long = "Ä".repeat(300);
  await made(scim, "/Users", user("long", { displayName: `${long}1` }));
  assert.deepEqual(await found("/Users", `displayName eq "${long.toLowerCase()}1"`), ["long"]);
  assert.deepEqual(await found("/Users", `displayName eq "${long}2"`), [], "whole, not as far as the database looks");
  const replies = await Promise.all(["Äl", "äL", "ÄL"].map((name) => scim("POST", "/Users", user(name))));
  assert.deepEqual(replies.map(({ status }) => status).toSorted(), [201, 409, 409], "of several at once one");
});

forEachDatabase("the database folds every letter as the program does", graphModules, async (t, database) => {
  const world = await servedWorld(t, database);
  const folded: string[] = [];
  for (let code = 0x80; code <= 0x10_ffff; code++) {
    if (code === 0xd800) code = 0xe000;
    const letter = String.fromCodePoint(code);
    if (foldName(letter) !== letter || (/\p{L}/u.test(letter) && code < 0x3000)) folded.push(letter);
  }
  for (let at = 0; at < folded.length; at += 256) {
    const text = folded.slice(at, at + 256).join("");
    const [row] = await world.sql<{ name: string }>(`select membership.fold_name('${text}') as name`);
    assert.equal(row?.name, foldName(text));
  }
});

forEachDatabase("names that collide where the migration runs stay, and no more come", graphModules, async (t, database) => {
  const world = await servedWorld(t, database);
  const scim = await directoryOf(world);
  await undo(database);
  for (const name of ["ÖZ", "öz"]) await made(scim, "/Users", user(name));
  await database.script(await readFile(MIGRATION, "utf8"));
  const { body } = await scim("GET", `/Users?filter=${encodeURIComponent('userName eq "Öz"')}`);
  assert.deepEqual(body.Resources.map(({ userName }: { userName: string }) => userName).toSorted(), ["ÖZ", "öz"]);
  const [first, second] = body.Resources.map(({ id }: { id: string }) => id);
  assert.equal((await scim("POST", "/Users", user("Öz"))).status, 409);
  const off = await scim("PATCH", `/Users/${first}`, patch({ op: "replace", path: "active", value: false }));
  assert.deepEqual([off.status, off.body.active], [200, false], "one of them is changed as ever");
  assert.equal((await scim("PATCH", `/Users/${first}`, patch({ op: "replace", path: "userName", value: "oz" }))).status, 200);
  assert.equal((await scim("PATCH", `/Users/${first}`, patch({ op: "replace", path: "userName", value: "ÖZ" }))).status, 409);
  assert.equal((await scim("DELETE", `/Users/${second}`)).status, 204);
  assert.equal((await scim("PATCH", `/Users/${first}`, patch({ op: "replace", path: "userName", value: "ÖZ" }))).status, 200);
});

test("whom an administrator switched off before SCIM did is not SCIM's to wake after the migration", async (t) => {
  const database = await testDatabase(t, graphModules);
  const world = await servedWorld(t, database);
  const scim = await directoryOf(world);
  const on = patch({ op: "replace", path: "active", value: true });
  const cases: readonly (readonly [what: string, states: readonly string[], isWoken: boolean])[] = [
    ["SCIM alone", ["suspended"], true],
    ["disabled before", ["disabled", "suspended"], false],
    ["disabled and woken before", ["disabled", "active", "suspended"], true],
  ];
  const ids: string[] = [];
  for (const [what, states] of cases) {
    const id = await made(scim, "/Users", user(what));
    for (const state of states)
      await world.put({ id: `person:scim:${id}`, kind: "Person", name: what, system: "scim", tenant_id: "tenant:acme", state });
    ids.push(id);
  }
  const born = await made(scim, "/Users", user("born suspended", { active: false }));
  // What the migration before this one made of them: the last change was the directory's.
  await world.sql("update membership.scim_resource set suspended = true, document = document || '{\"active\": false}'");
  await undo(database);
  await database.script(await readFile(MIGRATION, "utf8"));
  for (const [at, [what, , isWoken]] of [...cases, ["born suspended", [], true] as const].entries()) {
    const reply = await scim("PATCH", `/Users/${ids[at] ?? born}`, on);
    assert.deepEqual([what, reply.status, reply.body.active], [what, 200, isWoken]);
  }
});
