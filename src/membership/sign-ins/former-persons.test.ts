import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld, type ServedWorld } from "#testing/membership.ts";
import { directoryOf, made, patch, user, type Directory } from "#testing/scim-directory.ts";

/** The state of somebody's node, as an administrator changes it. */
const setState = (world: ServedWorld, id: string, state: string) =>
  world.sql(`update membership.node set state = '${state}' where id = '${id}'`);

interface Row {
  readonly what: string;
  /** What became of somebody whom the directory had pushed. */
  readonly before: (world: ServedWorld, scim: Directory, id: string, email: string) => Promise<unknown>;
  /** Who signs in with the address of before: that person, somebody new where that may be, or nobody. */
  readonly byEmail: "same" | "new" | "nobody";
  readonly bySubject: "same" | "new" | "nobody";
}

const rows: readonly Row[] = [
  { what: "nothing", before: async () => {}, byEmail: "same", bySubject: "same" },
  { what: "removed by the directory", before: (_world, scim, id) => scim("DELETE", `/Users/${id}`), byEmail: "new", bySubject: "new" },
  {
    what: "removed, and another one has the address",
    before: async (_world, scim, id, email) => {
      await scim("DELETE", `/Users/${id}`);
      await made(scim, "/Users", user(`again-${id}`, { emails: [{ value: email.toUpperCase() }] }));
    },
    byEmail: "same",
    bySubject: "new",
  },
  {
    what: "deactivated by the directory",
    before: (_world, scim, id) => scim("PATCH", `/Users/${id}`, patch({ op: "replace", path: "active", value: "False" })),
    byEmail: "nobody",
    bySubject: "nobody",
  },
  {
    what: "disabled by an administrator",
    before: (world, _scim, id) => setState(world, `person:scim:${id}`, "disabled"),
    byEmail: "nobody",
    bySubject: "nobody",
  },
  {
    what: "whose account was suspended",
    before: (world, _scim, id) => setState(world, `account:scim:${id}`, "suspended"),
    byEmail: "nobody",
    bySubject: "nobody",
  },
  {
    what: "whose account came to its end",
    before: (world, _scim, id) =>
      world.sql(`update membership.edge set expires_at = now() - interval '1 s' where src = 'person:scim:${id}' and kind = 'BELONGS_TO'`),
    byEmail: "nobody",
    bySubject: "nobody",
  },
  {
    what: "whose address changed",
    before: (_world, scim, id) =>
      scim("PATCH", `/Users/${id}`, patch({ op: "replace", path: "emails", value: [{ value: `new-${id}@acme.example` }] })),
    byEmail: "new",
    bySubject: "same",
  },
  {
    what: "whose address was taken away",
    before: (_world, scim, id) => scim("PATCH", `/Users/${id}`, patch({ op: "remove", path: "emails" })),
    byEmail: "new",
    bySubject: "same",
  },
  {
    what: "who got another external id",
    before: (_world, scim, id) => scim("PATCH", `/Users/${id}`, patch({ op: "replace", path: "externalId", value: `new-${id}` })),
    byEmail: "same",
    bySubject: "new",
  },
  {
    what: "of a tenant that has ended",
    before: (world) => setState(world, "tenant:acme", "disabled"),
    byEmail: "nobody",
    bySubject: "nobody",
  },
];

for (const provision of ["match", "create"] as const)
  test(`${provision}: nobody signs in as somebody who is gone, switched off or called otherwise now`, async (t) => {
    const world = await servedWorld(t, await testDatabase(t, graphModules), {
      signIns: { provision, system: "scim", subjectPrefix: "", groups: new Map() },
    });
    const scim = await directoryOf(world);
    const signIn = async (subject: string, email?: string): Promise<string> => {
      const body = { issuer: "https://login.example", subject, tenant: "tenant:acme", ...(email === undefined ? {} : { email }) };
      const reply = await world.call("service:gateway", "POST", "/api/v1/sign-ins", { body, scopes: ["membership.sign_in"] });
      return reply.status === 200 ? reply.body.person.id : reply.body.code;
    };
    for (const [at, { what, before, byEmail, bySubject }] of rows.entries()) {
      for (const [how, expected] of [
        ["email", byEmail],
        ["subject", bySubject],
      ] as const) {
        const email = `p${at}-${how}@acme.example`;
        const id = await made(scim, "/Users", user(`p${at}-${how}`, { externalId: `x${at}-${how}`, emails: [{ value: email }] }));
        await before(world, scim, id, email);
        const seen = how === "email" ? await signIn(`other-${at}`, email.toUpperCase()) : await signIn(`x${at}-${how}`);
        await setState(world, "tenant:acme", "active");
        const isScim = /^person:scim:[a-z2-7]{26}$/.test(seen);
        const isOther = what.includes("another one has");
        const wanted = expected === "new" && provision === "match" ? "nobody" : expected;
        const became =
          seen === "unknown_person"
            ? "nobody"
            : isScim && (isOther ? seen !== `person:scim:${id}` : seen === `person:scim:${id}`)
              ? "same"
              : isScim
                ? "wrong"
                : "new";
        assert.deepEqual([what, how, became], [what, how, wanted], seen);
      }
    }
  });

test("a group's or an agent's address is no person's", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), {
    signIns: { provision: "match", system: "scim", subjectPrefix: "", groups: new Map() },
  });
  const scim = await directoryOf(world);
  await made(scim, "/Groups", { displayName: "staff@acme.example", externalId: "staff-1", emails: [{ value: "staff@acme.example" }] });
  for (const [subject, email] of [
    ["staff-1", "staff@acme.example"],
    ["group/staff-1", "staff@acme.example"],
  ] as const) {
    const body = { issuer: "https://login.example", subject, tenant: "tenant:acme", email };
    const reply = await world.call("service:gateway", "POST", "/api/v1/sign-ins", { body, scopes: ["membership.sign_in"] });
    assert.equal(reply.body.code, "unknown_person", subject);
  }
});
