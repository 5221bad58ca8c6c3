import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { directoryOf, group, GROUP, made, patch, user, USER } from "#testing/scim-directory.ts";

const scopes = ["membership.read", "membership.write"];
const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const openWorld = async (t: TestContext) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  return { world, scim: await directoryOf(world) };
};

interface Row {
  readonly what: string;
  readonly held?: object;
  readonly sent: readonly object[];
  /** Members of the answer. */
  readonly after: Readonly<Record<string, unknown>>;
}
const work = { type: "work", value: "a@acme.example" };

const entra: readonly Row[] = [
  {
    what: "a value filter that fits nothing, with a capital op, beside active as a word",
    held: { displayName: "Old" },
    sent: [
      { op: "Add", path: 'emails[type eq "work"].value', value: "desk@acme.example" },
      { op: "Replace", path: "active", value: "False" },
    ],
    after: { emails: [{ type: "work", value: "desk@acme.example" }], active: false },
  },
  {
    what: "an address and a telephone number that are not there",
    sent: [
      { op: "Add", path: 'addresses[type eq "work"].streetAddress', value: "Gate 1" },
      { op: "Add", path: 'addresses[type eq "work"].locality', value: "Berlin" },
      { op: "Replace", path: 'phoneNumbers[type eq "mobile"].value', value: "+49 30 1" },
    ],
    after: {
      addresses: [{ type: "work", streetAddress: "Gate 1", locality: "Berlin" }],
      phoneNumbers: [{ type: "mobile", value: "+49 30 1" }],
    },
  },
  {
    what: "several comparisons make one value",
    sent: [{ op: "Add", path: 'emails[type eq "work" and primary eq true].value', value: "p@acme.example" }],
    after: { emails: [{ type: "work", primary: true, value: "p@acme.example" }] },
  },
  {
    what: "roles, which are not stored, beside active",
    sent: [
      { op: "Replace", path: "roles", value: [{ value: "clerk" }] },
      { op: "Add", path: 'roles[primary eq "True"].value', value: "clerk" },
      { op: "Replace", path: "active", value: false },
    ],
    after: { active: false, roles: undefined },
  },
  {
    what: "the manager as text",
    sent: [{ op: "Add", path: `${ENTERPRISE}:manager`, value: "boss-7" }],
    after: { [ENTERPRISE]: { manager: { value: "boss-7" } } },
  },
  {
    what: "the manager by its value, of who has none",
    sent: [{ op: "Add", path: `${ENTERPRISE}:manager.value`, value: "boss-7" }],
    after: { [ENTERPRISE]: { manager: { value: "boss-7" } } },
  },
  {
    what: "the manager taken away",
    held: { [ENTERPRISE]: { department: "Post", manager: { value: "boss-7" } } },
    sent: [{ op: "Remove", path: `${ENTERPRISE}:manager` }],
    after: { [ENTERPRISE]: { department: "Post" } },
  },
  {
    what: "dotted names as keys, where there is no path",
    held: { name: { givenName: "Old", middleName: "M" } },
    sent: [
      {
        op: "Add",
        value: {
          "name.givenName": "Gate",
          "name.familyName": "Keeper",
          [`${ENTERPRISE}:department`]: "Post",
          'emails[type eq "work"].value': "k@acme.example",
          externalId: "x-1",
        },
      },
    ],
    after: {
      name: { givenName: "Gate", middleName: "M", familyName: "Keeper" },
      [ENTERPRISE]: { department: "Post" },
      emails: [{ type: "work", value: "k@acme.example" }],
      externalId: "x-1",
    },
  },
  ...["urn:ietf:params:scim:schemas:core:2.0:User:active", "URN:IETF:params:scim:schemas:Core:2.0:user:Active", "Active"].map((path) => ({
    what: `the path ${path}`,
    sent: [{ op: "Replace", path, value: "False" }],
    after: { active: false },
  })),
  {
    what: "names in any case, in paths and their filters",
    held: { emails: [work] },
    sent: [
      { op: "Replace", path: "DisplayName", value: "Door" },
      { op: "Replace", path: 'emails[Type Eq "WORK"].Value', value: "b@acme.example" },
      { op: "Add", path: `${ENTERPRISE.toUpperCase()}:Department`, value: "Post" },
    ],
    after: { displayName: "Door", emails: [{ type: "work", value: "b@acme.example" }], [ENTERPRISE]: { department: "Post" } },
  },
  {
    what: "primary as a word",
    held: { emails: [work] },
    sent: [{ op: "Replace", path: 'emails[type eq "work"].primary', value: "True" }],
    after: { emails: [{ ...work, primary: true }] },
  },
  {
    what: "what the validator sends: types that no list has, and a number where a Boolean stands",
    sent: [
      { op: "replace", path: 'phoneNumbers[type eq "untyped"].value', value: "1-991-663-8763" },
      { op: "replace", path: 'phoneNumbers[type eq "untyped"].primary', value: "1-648-081-5815 x2534" },
      { op: "replace", path: 'ims[type eq "untyped"].value', value: "x" },
      { op: "replace", path: 'emails[type eq "untyped"].primary', value: true },
    ],
    after: { phoneNumbers: [{ type: "untyped", value: "1-991-663-8763" }], emails: [{ type: "untyped", primary: true }], ims: undefined },
  },
  {
    what: "null takes away",
    held: { title: "Clerk", nickName: "Cat", emails: [work] },
    sent: [
      { op: "Replace", path: "title", value: null },
      { op: "Replace", path: 'emails[type eq "work"].value', value: null },
      { op: "Add", value: { nickName: null } },
    ],
    after: { title: undefined, nickName: undefined, emails: [{ type: "work" }] },
  },
  {
    what: "another type keeps the primary of before company, a new primary takes its place",
    held: { emails: [{ ...work, primary: true }] },
    sent: [
      { op: "Add", path: "emails", value: [{ type: "home", value: "h@acme.example", primary: true }] },
      { op: "Add", path: "emails", value: [{ type: "other", value: "o@acme.example" }] },
    ],
    after: {
      emails: [
        { ...work, primary: false },
        { type: "home", value: "h@acme.example", primary: true },
        { type: "other", value: "o@acme.example" },
      ],
    },
  },
  {
    what: "a primary without a value takes it from nobody",
    held: { emails: [{ ...work, primary: true }] },
    sent: [{ op: "Add", path: 'emails[type eq "home"].primary', value: true }],
    after: {
      emails: [
        { ...work, primary: true },
        { type: "home", primary: false },
      ],
    },
  },
  {
    what: "a primary whose value comes behind it",
    held: { emails: [{ ...work, primary: true }] },
    sent: [
      { op: "Add", path: 'emails[type eq "home"].primary', value: true },
      { op: "Add", path: 'emails[type eq "home"].value', value: "h@acme.example" },
    ],
    after: {
      emails: [
        { ...work, primary: false },
        { type: "home", primary: true, value: "h@acme.example" },
      ],
    },
  },
  {
    what: "what is the server's to say, beside active",
    sent: [
      { op: "replace", path: "id", value: "x" },
      { op: "add", path: "groups", value: [{ value: "x" }] },
      { op: "remove", path: 'groups[value eq "x"]' },
      { op: "replace", path: "meta.version", value: "x" },
      { op: "add", path: "schemas", value: ["urn:x"] },
      { op: "Replace", path: "active", value: "False" },
    ],
    after: { active: false, groups: undefined, schemas: [USER] },
  },
  {
    what: "a value taken away by what it is, and by a filter",
    held: { emails: [work, { type: "home", value: "h@acme.example" }, { type: "other", value: 'o"x' }] },
    sent: [
      { op: "Remove", path: 'emails[type eq "home"]' },
      { op: "Remove", path: "emails", value: [{ value: 'o"x' }] },
      { op: "Remove", path: 'phoneNumbers[type eq "fax"]' },
    ],
    after: { emails: [work] },
  },
];

const okta: readonly Row[] = [
  { what: "a deactivation without a path", sent: [{ op: "replace", value: { active: false } }], after: { active: false } },
  {
    what: "a whole user as the value of an operation, with what is the server's",
    sent: [
      {
        op: "replace",
        value: {
          schemas: [USER],
          id: "not-ours",
          meta: { resourceType: "User", created: "2020-01-01T00:00:00Z" },
          groups: [{ value: "g" }],
          name: { givenName: "New", familyName: "Name" },
          emails: [{ primary: true, value: "n@acme.example", type: "work" }],
          locale: "en-US",
          active: true,
        },
      },
    ],
    after: {
      name: { givenName: "New", familyName: "Name" },
      emails: [{ primary: true, value: "n@acme.example", type: "work" }],
      active: true,
    },
  },
  {
    what: "an extension as a whole, by its path",
    sent: [{ op: "replace", path: ENTERPRISE, value: { schemas: [ENTERPRISE], department: "Post", employeeNumber: 701984 } }],
    after: { [ENTERPRISE]: { department: "Post", employeeNumber: "701984" } },
  },
  {
    what: "an empty list",
    held: { emails: [work] },
    sent: [{ op: "replace", path: "emails", value: [] }],
    after: { emails: undefined },
  },
];

for (const [provider, rows] of Object.entries({ "Microsoft Entra ID": entra, Okta: okta }))
  test(`PATCH of users as ${provider} sends it`, async (t) => {
    const { scim } = await openWorld(t);
    for (const [at, { what, held, sent, after }] of rows.entries()) {
      const id = await made(scim, "/Users", user(`u${at}@acme.example`, held));
      const reply = await scim("PATCH", `/Users/${id}`, patch(...sent));
      assert.equal(reply.status, 200, `${what}: ${JSON.stringify(reply.body)}`);
      const read = (await scim("GET", `/Users/${id}`)).body;
      for (const [name, value] of Object.entries(after)) assert.deepEqual([what, name, read[name]], [what, name, value]);
      assert.deepEqual(reply.body, read, what);
    }
  });

test("POST and PUT of users as both providers send them", async (t) => {
  const { world, scim } = await openWorld(t);
  const rows: readonly (readonly [what: string, body: object, after: object])[] = [
    ["words", { active: "True", emails: [{ ...work, primary: "True" }] }, { active: true, emails: [{ ...work, primary: true }] }],
    ["active as a word", { active: "False" }, { active: false }],
    ["the manager as text", { [ENTERPRISE]: { manager: "26118915" } }, { [ENTERPRISE]: { manager: { value: "26118915" } } }],
    [
      "names in any case",
      { DISPLAYNAME: "Door", Emails: [{ Type: "work", VALUE: "a@acme.example" }] },
      { displayName: "Door", emails: [work] },
    ],
    ["null and empty", { title: null, emails: [], nickName: "" }, { title: undefined, emails: undefined, nickName: "" }],
    ["one value without its list", { emails: work, phoneNumbers: "+49" }, { emails: [work], phoneNumbers: [{ value: "+49" }] }],
    [
      "two primaries",
      {
        emails: [
          { ...work, primary: true },
          { value: "b", primary: true },
        ],
      },
      {
        emails: [
          { ...work, primary: false },
          { value: "b", primary: true },
        ],
      },
    ],
    [
      "what is not stored",
      { roles: [{ value: "clerk" }], password: "x", "urn:example:2.0:User": { a: 1 }, groups: [] },
      { roles: undefined },
    ],
    ["a type of its own", { addresses: [{ type: "depot", formatted: "x" }] }, { addresses: [{ type: "depot", formatted: "x" }] }],
  ];
  for (const [at, [what, body, after]] of rows.entries()) {
    const reply = await scim("POST", "/Users", user(`post${at}@acme.example`, body));
    assert.equal(reply.status, 201, `${what}: ${JSON.stringify(reply.body)}`);
    const id = await made(scim, "/Users", user(`put${at}@acme.example`));
    const put = await scim("PUT", `/Users/${id}`, user(`put${at}@acme.example`, body));
    assert.equal(put.status, 200, `${what}: ${JSON.stringify(put.body)}`);
    for (const { body: answered } of [reply, put])
      for (const [name, value] of Object.entries(after)) assert.deepEqual([what, name, answered[name]], [what, name, value]);
  }
  const odd = user("odd", { "a\u0000b": 1, title: "a\u0000b", nickName: "kept" });
  const reply = await scim("POST", "/Users", odd);
  assert.deepEqual([reply.status, reply.body.title, reply.body.nickName], [201, undefined, "kept"], JSON.stringify(reply.body));
  const [{ problems }] = (await world.call("ada", "GET", "/api/v1/scim-tokens", { scopes })).body.items;
  assert.deepEqual(
    problems.map(({ detail }: { detail: string }) => detail),
    ["Not stored: a b, title.", "Not stored: roles, password, urn:example:2.0:User."],
    "once, at the token that said it",
  );
});

test("groups as both providers send them", async (t) => {
  const { world, scim } = await openWorld(t);
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) ids.push(await made(scim, "/Users", user(`m${n}`)));
  const [a = "", b = "", c = "", d = ""] = ids;
  const id = await made(scim, "/Groups", group("Staff", [a]));
  const rows: readonly (readonly [what: string, operation: object, name: string, members: readonly string[]])[] = [
    ["Entra: members added", { op: "Add", path: "members", value: [{ value: b }, { value: c, $ref: null }] }, "Staff", [a, b, c]],
    ["Entra: removed by a list of values", { op: "Remove", path: "members", value: [{ value: a }] }, "Staff", [b, c]],
    ["Entra: removed by a filter", { op: "Remove", path: `Members[Value eq "${b}"]` }, "Staff", [c]],
    [
      "Entra: a name, and what is not stored",
      { op: "Add", value: { displayName: "Team", externalId: "g-1", mailNickname: "x" } },
      "Team",
      [c],
    ],
    ["Okta: id and name in the value", { op: "replace", value: { id, displayName: "Crew" } }, "Crew", [c]],
    ["Okta: members with their display", { op: "add", path: "members", value: [{ value: d, display: "d" }] }, "Crew", [c, d]],
    ["members as text", { op: "add", path: "members", value: a }, "Crew", [a, c, d]],
    ["several by one filter", { op: "remove", path: `members[value eq "${a}" or value eq "${d}"]` }, "Crew", [c]],
    ["somebody who is not in it", { op: "remove", path: "members", value: [{ value: a }, { value: "dan@acme" }] }, "Crew", [c]],
    ["by URN", { op: "replace", path: `${GROUP}:members`, value: [{ value: a }] }, "Crew", [a]],
    ["Value in capitals", { op: "add", path: "members", value: [{ VALUE: b, Display: "b" }] }, "Crew", [a, b]],
    ["removed by Value", { op: "Remove", path: "members", value: { Value: b } }, "Crew", [a]],
    ["an empty list of those who go", { op: "remove", path: "members", value: [] }, "Crew", [a]],
    // Of a member only who it is is stored: what is said of its parts leaves the group as it is.
    ...["display", "value", "$ref", "type", "nickname"].flatMap((part) =>
      [`members.${part}`, `members[value eq "${a}"].${part}`, `${GROUP}:members.${part}`].flatMap((path) => [
        [path, { op: "remove", path }, "Crew", [a]] as const,
        [path, { op: "replace", path, value: b }, "Crew", [a]] as const,
        [path, { op: "add", value: { [path]: b } }, "Crew", [a]] as const,
      ]),
    ),
    ["a URN and a dot", { op: "replace", path: `${GROUP}.displayName`, value: "Band" }, "Band", [a]],
    ["null", { op: "replace", path: "members", value: null }, "Band", []],
  ];
  for (const [what, operation, name, members] of rows) {
    const { status, body } = await scim("PATCH", `/Groups/${id}`, patch(operation));
    assert.equal(status, 200, `${what}: ${JSON.stringify(body)}`);
    const read = (body.members ?? []).map(({ value }: { value: string }) => value).toSorted();
    assert.deepEqual([what, body.displayName, read], [what, name, members.toSorted()]);
  }
  const [{ problems }] = (await world.call("ada", "GET", "/api/v1/scim-tokens", { scopes })).body.items;
  const details = problems.map(({ detail }: { detail: string }) => detail);
  for (const [what, detail] of [
    ["a part of members", "Not stored: members.display."],
    ["a part of one", `Not stored: members[value eq "${a}"].display.`],
    ["who could be nobody here", "Not stored: members dan@acme."],
  ])
    assert.ok(details.includes(detail), `${what}: ${details.join(" ")}`);
});

test("a message that does not say who goes and who stays in a group changes nobody, and is refused", async (t) => {
  const { scim } = await openWorld(t);
  const a = await made(scim, "/Users", user("a"));
  const b = await made(scim, "/Users", user("b"));
  const id = await made(scim, "/Groups", group("Staff", [a, b]));
  const both = { members: [{ value: a }], Members: [] };
  const byUrn = { members: [{ value: a }], [`${GROUP}:members`]: [] };
  const rows: readonly (readonly [what: string, method: "PATCH" | "PUT", body: object])[] = [
    ...["", {}, 7, true, [{}], [{ display: "a" }], [null], [[{ value: a }]], { value: { value: a } }, { value: a, Value: b }].flatMap(
      (value) =>
        ["remove", "add", "replace"].map(
          (op) => [`${op} ${JSON.stringify(value)}`, "PATCH", patch({ op, path: "members", value })] as const,
        ),
    ),
    ["a name that is none", "PATCH", patch({ op: "replace", path: "displayName", value: "a\u0000" })],
    ["a name that is an object", "PATCH", patch({ op: "replace", value: { displayName: {} } })],
    ["members twice", "PUT", { schemas: [GROUP], displayName: "Staff", ...both }],
    ["members twice, by URN", "PUT", { schemas: [GROUP], displayName: "Staff", ...byUrn }],
    ["members twice in a value", "PATCH", patch({ op: "replace", value: both })],
    ["members twice in a value, by URN", "PATCH", patch({ op: "replace", value: byUrn })],
    ["value twice", "PATCH", patch({ op: "replace", path: "members", value: [{ value: a }], Value: [] })],
    ["path twice", "PATCH", patch({ op: "remove", path: "members", Path: "externalId" })],
    ["op twice", "PATCH", patch({ op: "add", Op: "replace", path: "members", value: [{ value: a }] })],
    ["Operations twice", "PATCH", { Operations: [{ op: "remove", path: "members" }], operations: [] }],
    ["a name twice", "PUT", { ...group("Staff", [a]), DisplayName: "Other" }],
  ];
  for (const [what, method, body] of rows) {
    const reply = await scim(method, `/Groups/${id}`, body);
    assert.deepEqual([what, reply.status, reply.body?.status], [what, 400, "400"], JSON.stringify(reply.body));
    assert.deepEqual([what, (await scim("GET", `/Groups/${id}`)).body.members?.length], [what, 2]);
  }
});

test("filters by URN, in any case, of members and of groups are right or refused", async (t) => {
  const { scim } = await openWorld(t);
  const one = await made(
    scim,
    "/Users",
    user("One@acme.example", { emails: [work], [ENTERPRISE]: { department: "Post", manager: "boss" } }),
  );
  const two = await made(scim, "/Users", user("two", { active: "False" }));
  const staff = await made(scim, "/Groups", group("Staff", [one]));
  const crew = await made(scim, "/Groups", group("Crew", [two, staff]));
  const odd = await made(scim, "/Users", user("Ärger%_\\", { title: "odd", [ENTERPRISE]: { department: "None" } }));
  const lead = await made(scim, "/Groups", group("Führung ΟΔΟς"));
  const names: Readonly<Record<string, string>> = {
    [one]: "one",
    [two]: "two",
    [odd]: "odd",
    [staff]: "staff",
    [crew]: "crew",
    [lead]: "lead",
  };
  const rows: readonly (readonly [path: string, filter: string, found: readonly string[] | "invalidFilter"])[] = [
    ["/Users", `${USER}:userName eq "one@ACME.example"`, ["one"]],
    ["/Users", 'userName eq "ÄRGER%_\\\\"', ["odd"]],
    ["/Users", 'userName eq "ärger%_\\\\" and active eq true', ["odd"]],
    ["/Users", 'userName[value eq "ärger"]', "invalidFilter"],
    ["/Users", 'userName eq "ärger%__"', []],
    ["/Groups", 'displayName eq "FÜHRUNG ΟΔΟΣ"', ["lead"]],
    ["/Groups", 'displayName eq "führung οδος"', ["lead"]],
    ["/Groups", 'displayName eq "Führung Οδος" and id pr', ["lead"]],
    ["/Groups", 'displayName eq "führung"', []],
    ["/Groups", 'displayName co "ÜHRUNG"', ["lead"]],
    ["/Users", `${USER.toUpperCase()}:USERNAME sw "ONE"`, ["one"]],
    ["/Users", `${ENTERPRISE}:department eq "post"`, ["one"]],
    ["/Users", `${ENTERPRISE}:manager.value eq "boss"`, ["one"]],
    ["/Users", `${ENTERPRISE}:manager eq "boss"`, ["one"]],
    ["/Users", `not (${ENTERPRISE}:department pr)`, ["two"]],
    ["/Users", 'Emails[Type EQ "work" AND value ew "acme.example"]', ["one"]],
    ["/Users", 'emails eq "A@acme.example"', ["one"]],
    ["/Users", 'active eq "False"', ["two"]],
    ["/Users", "active eq false", ["two"]],
    ["/Users", `groups.value eq "${staff}"`, ["one"]],
    ["/Users", `groups[value eq "${crew}"]`, ["two"]],
    ["/Users", `not (groups.value eq "${staff}")`, ["two", "odd"]],
    ["/Groups", `members eq "${one}"`, ["staff"]],
    ["/Groups", `members[value eq "${two}"]`, ["crew"]],
    ["/Groups", `${GROUP}:members.value eq "${staff}"`, ["crew"]],
    ["/Groups", `id eq "${crew}" and members eq "${two}"`, ["crew"]],
    ["/Groups", `id eq "${crew}" and members eq "${one}"`, []],
    ["/Groups", `not (members.value eq "${one}")`, ["crew", "lead"]],
    ["/Groups", `displayName eq "nobody" or members eq "${one}"`, ["staff"]],
    ["/Groups", 'meta.resourceType eq "group"', []],
    ["/Groups", 'meta.lastModified gt "2020-01-01T00:00:00Z"', ["staff", "crew", "lead"]],
    ["/Groups", 'members.display eq "one"', "invalidFilter"],
    ["/Groups", "members pr", "invalidFilter"],
    ["/Groups", 'members co "x"', "invalidFilter"],
    ["/Groups", 'meta.version eq "x"', "invalidFilter"],
    ["/Users", 'roles eq "clerk"', "invalidFilter"],
    ["/Users", 'urn:example:2.0:User:x eq "clerk"', "invalidFilter"],
    ["/Users", "active gt false", "invalidFilter"],
    ["/Users", 'name eq "x"', "invalidFilter"],
    ["/Users", 'emails[type eq "work"].value eq "x"', "invalidFilter"],
    ...["\\u0000", "a\\ud800", "\\udfff"].flatMap((odd) =>
      [
        ...["userName", "displayName", "externalId", "id", "groups", "emails.value"].map((name) => ["/Users", name] as const),
        ...["displayName", "externalId", "id", "members"].map((name) => ["/Groups", name] as const),
      ].map(([path, name]) => [path, `${name} eq "${odd}"`, "invalidFilter"] as const),
    ),
    ["/Users", 'emails[value sw "\\u0000"]', "invalidFilter"],
    ["/Users", 'userName eq "\u0000"', "invalidFilter"],
    ["/Users", `${USER}.userName eq "one@ACME.example"`, ["one"]],
    ["/Groups", `${GROUP}.displayName eq "staff"`, ["staff"]],
    ["/Users", `${"(".repeat(20)}userName pr${")".repeat(20)}`, "invalidFilter"],
  ];
  for (const [path, filter, found] of rows) {
    const { status, body } = await scim("GET", `${path}?filter=${encodeURIComponent(filter)}`);
    const sought = await scim("POST", `${path}/.search`, { filter });
    assert.deepEqual([filter, sought.status, sought.body], [filter, status, body]);
    const seen = status === 200 ? body.Resources.map(({ id }: { id: string }) => names[id]) : body.scimType;
    assert.deepEqual([filter, Array.isArray(seen) ? seen.toSorted() : seen], [filter, Array.isArray(found) ? found.toSorted() : found]);
    if (status === 200) assert.equal(body.totalResults, found.length, filter);
  }
});

test("whatever else is wrong in a message, active: false in it is done, and the answer says what was wrong", async (t) => {
  const { world, scim } = await openWorld(t);
  const off = { op: "Replace", path: "active", value: "False" };
  const emails = Array.from({ length: 240 }, (_none, n) => ({ value: `${n}@acme.example` }));
  const rows: readonly (readonly [what: string, method: string, body: object, status: number])[] = [
    ["an operation that is none", "PATCH", patch({ op: "move", path: "title" }, off), 400],
    ["a path that is none", "PATCH", patch(off, { op: "add", path: "emails[", value: "x" }), 400],
    ["a target that is not there", "PATCH", patch({ op: "replace", path: 'emails[value co "x"].value', value: "x" }, off), 400],
    ["no name left", "PATCH", patch({ op: "remove", path: "userName" }, off), 400],
    ["too many operations", "PATCH", patch(...Array.from({ length: 1001 }, () => ({ op: "add", path: "title", value: "x" })), off), 413],
    ["too many values", "PATCH", patch({ op: "add", path: "emails", value: emails }, off), 400],
    ["a name of all objects", "PATCH", patch({ op: "add", value: { ["__proto__"]: 1, x: { constructor: 1 } } }, off), 400],
    ["an operation that is no object", "PATCH", { Operations: [1, off] }, 400],
    ["a name that somebody has", "PATCH", patch({ op: "replace", path: "userName", value: "taken" }, off), 409],
    ["no userName", "PUT", { schemas: [USER], active: "False" }, 400],
    ["a name that somebody has", "PUT", user("taken", { "urn:ietf:params:scim:schemas:core:2.0:User:active": false }), 409],
    ["an id that is none", "PUT", user("x", { externalId: {}, active: [false] }), 400],
  ];
  await made(scim, "/Users", user("taken"));
  for (const [at, [what, method, body, status]] of rows.entries()) {
    const id = await made(scim, "/Users", user(`u${at}`, { title: "Clerk" }));
    const reply = await scim(method, `/Users/${id}`, body);
    assert.deepEqual([what, reply.status, reply.body.status], [what, status, String(status)], JSON.stringify(reply.body));
    assert.match(reply.body.detail, /active: false is done and nothing else/, what);
    const read = (await scim("GET", `/Users/${id}`)).body;
    assert.deepEqual([what, read.active, read.title, read.userName], [what, false, "Clerk", `u${at}`]);
    const [node] = await world.sql<{ state: string }>(`select state from membership.node where id = 'person:scim:${id}'`);
    assert.deepEqual([what, node?.state], [what, "suspended"]);
  }
  const id = await made(scim, "/Users", user("kept"));
  for (const [what, body, headers, status] of [
    ["a message that ends with true", patch(off, { op: "replace", path: "active", value: true }, { op: "move" }), {}, 400],
    ["a word that is neither", patch({ op: "replace", path: "active", value: "no" }), {}, 400],
  ] as const) {
    assert.deepEqual([what, (await scim("PATCH", `/Users/${id}`, body, headers)).status], [what, status]);
    assert.deepEqual([what, (await scim("GET", `/Users/${id}`)).body.active], [what, true]);
  }
  const again = await scim("POST", "/Users", user("kept", { active: false }));
  assert.deepEqual([again.status, again.body.scimType], [409, "uniqueness"]);
  const [{ problems }] = (await world.call("ada", "GET", "/api/v1/scim-tokens", { scopes })).body.items;
  assert.equal(problems.length, new Set(problems.map(({ detail }: { detail: string }) => detail)).size);
  assert.match(problems[0].detail, /active: false is done/);
  const raw = (text: string): string => JSON.stringify(patch(off, { op: "add", path: "title", value: "@" })).replace('"@"', text);
  const half = await made(scim, "/Users", user("half a character", { title: "Clerk" }));
  assert.equal((await scim("PATCH", `/Users/${half}`, raw('"x\\ud83d"'))).status, 400);
  assert.equal((await scim("GET", `/Users/${half}`)).body.active, false);
  for (const [what, body] of [
    ["in a list of an object", patch({ op: "replace", path: "active", value: [{ $ref: null, value: "False" }] })],
    ["in an object", patch({ op: "replace", path: "active", value: { value: false } })],
    ["with blanks", patch({ op: "Replace ", path: " active ", value: " False " })],
    ["names of an operation in capitals", { Operations: [{ Op: "replace", Path: "active", Value: false }] }],
    ["at a path of its value", patch({ op: "replace", path: "active.value", value: false })],
    ["below the schema's name", patch({ op: "replace", value: { [USER]: { active: false } } })],
    ["at the schema's name and a colon", patch({ op: "replace", path: `${USER}:`, value: { active: false } })],
  ] as const) {
    const id = await made(scim, "/Users", user(`odd ${what}`));
    const reply = await scim("PATCH", `/Users/${id}`, body);
    assert.ok(reply.status < 500, `${what} ${JSON.stringify(reply.body)}`);
    assert.equal((await scim("GET", `/Users/${id}`)).body.active, false, `${what} ${reply.status} ${JSON.stringify(reply.body)}`);
  }
});

test("the last administrator is not deactivated, whatever else is in the message: 409 in SCIM's form", async (t) => {
  const { world, scim } = await openWorld(t);
  const id = await made(scim, "/Users", user("last"));
  await world.put({ kind: "MEMBER_OF", src: `account:scim:${id}`, dst: "role:administrator" });
  await world.sql(`delete from membership.edge where dst = 'role:administrator' and src <> 'account:scim:${id}'`);
  const off = { op: "Replace", path: "active", value: "False" };
  for (const [method, body] of [
    ["PATCH", patch(off)],
    ["PATCH", patch(off, { op: "move" })],
    ["PUT", user("last", { active: false })],
    ["PUT", { schemas: [USER], active: false }],
    ["DELETE", undefined],
  ] as const) {
    const reply = await scim(method, `/Users/${id}`, body);
    assert.deepEqual([method, reply.status, reply.body?.status], [method, 409, "409"], JSON.stringify(reply.body));
    assert.match(reply.body.detail, /administrator/);
    assert.equal((await scim("GET", `/Users/${id}`)).body.active, true);
  }
});
