import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "#contract/setting.ts";
import { membershipSettings } from "#membership/config.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphModules, graphWorld } from "#testing/membership.ts";
import { appointFirst, noteSignIn, otherIssuer } from "./first-administrator.ts";
import { createPersonOf } from "./links.ts";

const by = { actor: "operator:root", source: "api", correlationId: "test", system: "oidc" } as const;
const issuer = "https://login.example";

forEachDatabase("the first administrator is made once, whole, in an empty instance", graphModules, async (_t, database) => {
  const { write, sql, entries, reader } = await graphWorld(database, { demo: false });
  const draft = (subject: string, tenant: string) => appointFirst(write, { issuer, subject, tenant }, by);
  const all = await Promise.all([draft("ada", "tenant:acme"), draft("mallory", "tenant:mine")]);
  assert.equal(all.filter((one) => "personId" in one).length, 1, JSON.stringify(all));
  const won = all.find((one) => "personId" in one);
  const name = won !== undefined && won.personId.endsWith("ada") ? "acme" : "mine";
  const subject = name === "acme" ? "ada" : "mallory";
  assert.deepEqual(won, { personId: `person:oidc:${subject}` });
  assert.deepEqual(await createPersonOf(database, () => new Date())(issuer, subject), {
    id: `person:oidc:${subject}`,
    tenant: `tenant:${name}`,
  });
  const edges = await sql<{ role: string }>(
    "select src || ' ' || dst as role from membership.edge where kind in ('MEMBER_OF', 'BELONGS_TO') order by 1",
  );
  assert.deepEqual(
    edges.map(({ role }) => role),
    [
      `account:oidc:${subject} tenant:${name}`,
      `person:oidc:${subject} account:oidc:${subject}`,
      `person:oidc:${subject} role:administrator`,
      `person:oidc:${subject} role:platform`,
    ],
  );
  assert.deepEqual(
    entries.map(({ tenant, data }) => [tenant, data["op"]]),
    [[`tenant:${name}`, "first_administrator"]],
  );
  const look = (named?: string) => createPersonOf(database, () => new Date())(issuer, subject, named);
  await sql(
    "insert into membership.node (id, kind, tenant_id, name, state, fold) values ('tenant:second', 'Tenant', 'tenant:second', 'second', 'active', '')",
  );
  assert.deepEqual(
    [await look(), (await look(`tenant:${name}`))?.id],
    [undefined, `person:oidc:${subject}`],
    "of several tenants one is named, or none counts",
  );
  const { version } = await reader.version();
  // Whoever takes away all of it makes no room for another.
  await sql("delete from membership.identity_link");
  await sql("delete from membership.edge where kind in ('MEMBER_OF', 'BELONGS_TO')");
  await sql("delete from membership.node where tenant_id is not null");
  assert.match(JSON.stringify(await draft("eve", "tenant:eves")), /already/);
  assert.deepEqual(
    [await createPersonOf(database, () => new Date())(issuer, "eve"), (await reader.version()).version],
    [undefined, version],
  );
});

test("an instance that has a tenant has its administrators from elsewhere", async (t) => {
  const { write, sql } = await graphWorld(await testDatabase(t, graphModules));
  assert.match(JSON.stringify(await appointFirst(write, { issuer, subject: "eve", tenant: "tenant:eves" }, by)), /tenants already/);
  assert.deepEqual(await sql("select 1 from membership.first_administrator"), []);
});

test("who was named wrongly and never came is put right by another word, until somebody has come", async (t) => {
  const database = await testDatabase(t, graphModules);
  const { write, sql } = await graphWorld(database, { demo: false });
  const tenant = "tenant:acme";
  const draft = (subject: string, more: { readonly at?: string; readonly in?: string; readonly again?: boolean } = {}) =>
    appointFirst(write, { issuer: more.at ?? issuer, subject, tenant: more.in ?? tenant }, { ...by, again: more.again });
  const administrators = async () =>
    (await sql<{ role: string }>("select src || ' ' || dst as role from membership.edge where dst like 'role:%' order by 1")).map(
      ({ role }) => role,
    );
  const who = createPersonOf(database, () => new Date());
  assert.deepEqual(await draft("ada", { at: `${issuer}/`, again: true }), { personId: "person:oidc:ada" }, "of an empty instance as ever");
  // Without the word, as a setting has none, it is as it was.
  assert.match(JSON.stringify(await draft("ada")), /already.*"mayTryAgain":true/);
  assert.equal(await who(issuer, "ada"), undefined);
  assert.match(JSON.stringify(await draft("ada", { in: "tenant:other", again: true })), /There is no tenant:other/);
  for (const [subject, personId, instead] of [
    ["ada", "person:oidc:ada", "person:oidc:ada"],
    ["eda", "person:oidc:eda", "person:oidc:ada"],
    ["ada", "person:oidc:ada", "person:oidc:eda"],
  ] as const) {
    assert.deepEqual(await draft(subject, { again: true }), { personId, instead });
    assert.deepEqual(await administrators(), [`${personId} role:administrator`, `${personId} role:platform`]);
    assert.deepEqual(await who(issuer, subject), { id: personId, tenant });
    assert.deepEqual(await sql("select issuer, subject from membership.identity_link"), [{ issuer, subject }]);
  }
  const refused = { refused: "There was a first administrator already: nobody is made one so again." };
  await sql(
    "insert into membership.edge (id, kind, src, dst, discr) values ('e1', 'MEMBER_OF', 'person:oidc:eda', 'role:administrator', '')",
  );
  assert.deepEqual(await draft("mallory", { again: true }), refused, "somebody else is administrator");
  await sql("delete from membership.edge where id = 'e1'");
  await noteSignIn(database, "person:oidc:eda");
  assert.ok("personId" in (await draft("ada", { again: true })), "another one's sign-in is not theirs");
  await noteSignIn(database, "person:oidc:ada");
  assert.deepEqual(await draft("mallory", { again: true }), refused, "they have signed in");
  assert.equal(await who(issuer, "mallory"), undefined);
});

test("an issuer is the one that is configured, character by character", () => {
  for (const [given, configured, role] of [
    [issuer, undefined, /^undefined$/],
    [issuer, issuer, /^undefined$/],
    [`${issuer}/`, issuer, /OIDC_ISSUER: https:\/\/login\.example\. /],
  ] as const)
    assert.match(String(otherIssuer(given, configured)), role);
});

test("BOOTSTRAP_ADMIN is issuer, subject and tenant, and nothing else", () => {
  const read = (text: string) => readSettings(membershipSettings, { BOOTSTRAP_ADMIN: text });
  const first = { issuer, subject: "auth0|ada".replace("|", "-"), tenant: "tenant:acme" };
  for (const tenant of ["acme", "tenant:acme"]) assert.deepEqual(read(`${issuer}|auth0-ada|${tenant}`).values.bootstrapAdmin, first);
  assert.equal(readSettings(membershipSettings, {}).values.bootstrapAdmin, undefined);
  for (const wrong of [
    "acme",
    `${issuer}|ada`,
    `${issuer}|a b|acme`,
    `${issuer}||acme`,
    `${issuer}|ada|Acme`,
    "login|ada|acme",
    "http://login.example|ada|acme",
    `${issuer}|ada|*`,
  ])
    assert.deepEqual(
      read(wrong).issues.map(({ path }) => path),
      ["BOOTSTRAP_ADMIN"],
      wrong,
    );
});
