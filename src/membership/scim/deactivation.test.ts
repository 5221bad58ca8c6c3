import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { directoryOf, made, patch, user, USER } from "#testing/scim-directory.ts";

const scopes = ["membership.read", "membership.write"];
const openWorld = async (t: TestContext) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const problems = async (): Promise<readonly string[]> => {
    const [token] = (await world.call("ada", "GET", "/api/v1/scim-tokens", { scopes })).body.items;
    return token.problems.map(({ detail }: { detail: string }) => detail);
  };
  return { world, scim: await directoryOf(world), problems };
};

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const off = { op: "replace", path: "active", value: false };
/** One operation as text, with more of it. */
const operation = (more: string): string => `{"Operations":[{"op":"replace","path":"active",${more}}]}`;
const deep = `${"[".repeat(40)}${"]".repeat(40)}`;

interface Row {
  readonly what: string;
  readonly method?: "PATCH" | "PUT";
  readonly sent: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly status: number;
  /** Afterwards; false unless given. */
  readonly active?: boolean;
}

const rows: readonly Row[] = [
  // Versions.
  { what: "a version of before", sent: patch(off), headers: { "if-match": 'W/"0"' }, status: 412 },
  { what: "a version of before", method: "PUT", sent: user("x", { active: false }), headers: { "if-match": 'W/"0"' }, status: 412 },
  // Members of one name.
  { what: "active twice, false first", method: "PUT", sent: '{"userName":"x","active":false,"active":true}', status: 400 },
  { what: "active twice, false last", method: "PUT", sent: '{"userName":"x","active":true,"active":"False"}', status: 400 },
  { what: "active twice, once escaped", method: "PUT", sent: '{"active":false,"act\\u0069ve":true,"userName":"x"}', status: 400 },
  { what: "something else twice", method: "PUT", sent: '{"userName":"x","userName":"y","active":false}', status: 400 },
  { what: "two lists, false in the first", sent: `${operation('"value":false').slice(0, -1)},"Operations":[]}`, status: 400 },
  {
    what: "two lists, true in the second",
    sent: `${operation('"value":"false"').slice(0, -1)},"Operations":[{"op":"add","path":"active","value":true}]}`,
    status: 400,
  },
  { what: "two values", sent: operation('"value":false,"value":true'), status: 400 },
  { what: "two paths", sent: operation('"value":false,"path":"title"'), status: 400 },
  { what: "two ops", sent: operation('"value":false,"op":"remove"'), status: 400 },
  { what: "two in a value", sent: '{"Operations":[{"op":"add","value":{"active":false,"active":true}}]}', status: 400 },
  { what: "three of one name", method: "PUT", sent: '{"active":true,"active":false,"active":true}', status: 400 },
  // Bodies.
  { what: "nesting", sent: operation(`"value":false,"x":${deep}`), status: 400 },
  { what: "a number that no double holds", sent: operation('"value":false,"x":1e400'), status: 200 },
  { what: "another media type", sent: patch(off), headers: { "content-type": "text/plain" }, status: 415 },
  { what: "application/json", sent: patch(off), headers: { "content-type": "application/json; charset=utf-8" }, status: 200 },
  { what: "text/json", sent: patch(off), headers: { "content-type": "text/json" }, status: 200 },
  { what: "no media type", sent: patch(off), headers: { "content-type": "" }, status: 200 },
  { what: "a byte order mark", sent: `\ufeff${JSON.stringify(patch(off))}`, status: 200 },
  { what: "a byte order mark and nesting", sent: `\ufeff${operation(`"value":false,"x":${deep}`)}`, status: 400 },
  // Characters that no text of a database has, written as escapes in a filter, or as they are.
  ...["\\u0000", "\\ud800", "\\udc00x"].flatMap((odd): readonly Row[] => [
    { what: `${odd} in a path`, sent: patch(off, { op: "add", path: `emails[type eq "a${odd}"].value`, value: "x" }), status: 400 },
    { what: `${odd} as a name`, sent: patch(off, { op: "add", value: { [`emails[type eq "a${odd}"].value`]: "x" } }), status: 400 },
  ]),
  { what: "NUL in a path", sent: patch(off, { op: "add", path: "ti\u0000tle", value: "x" }), status: 400 },
  { what: "NUL in a value", sent: patch(off, { op: "add", path: "emails", value: [{ value: "a\u0000" }] }), status: 200 },
  { what: "NUL in a name", sent: patch(off, { op: "replace", path: "userName", value: "a\u0000" }), status: 400 },
  { what: "NUL in an external id", method: "PUT", sent: user("x", { active: false, externalId: "a\u0000" }), status: 400 },
  { what: "half a character in a name", sent: patch(off, { op: "add", value: { "a\ud800": 1 } }), status: 400 },
  { what: "half a character in a path", sent: patch(off, { op: "add", path: "title\ud800", value: 1 }), status: 400 },
  { what: "schemas of something else", sent: { ...patch(off), schemas: ["urn:x"] }, status: 200 },
  { what: "schemas that are none", sent: { ...patch(off), schemas: 7 }, status: 200 },
  { what: "attributes of the answer that are none", sent: patch(off), query: "?attributes=__proto__", status: 400 },
  // By other names.
  { what: "User.active", sent: patch({ op: "replace", path: "User.active", value: false }), status: 200 },
  { what: "user:active", sent: patch({ op: "replace", path: "user:active", value: "False" }), status: 200 },
  { what: "the enterprise URN", sent: patch({ op: "replace", path: `${ENTERPRISE}:active`, value: false }), status: 200 },
  { what: "within the enterprise URN", sent: patch({ op: "add", value: { [ENTERPRISE]: { active: "False" } } }), status: 200 },
  { what: "within the enterprise URN", method: "PUT", sent: user("u#", { [ENTERPRISE]: { active: false } }), status: 200 },
  { what: "values", sent: patch({ op: "replace", path: "active", values: [false] }), status: 200 },
  { what: "value and values", sent: patch({ op: "replace", path: "active", value: false, values: true }), status: 400 },
  { what: "a long path", sent: patch({ op: "replace", path: `active${" ".repeat(300)}`, value: false }), status: 200 },
  { what: "0.0", sent: operation('"value":0.0'), status: 200 },
  { what: "-0", sent: operation('"value":-0'), status: 200 },
  { what: "true by another name behind it", sent: patch(off, { op: "add", path: "User.active", value: true }), status: 200 },
  { what: "an unknown name behind it", sent: patch(off, { op: "add", path: "urn:x:active", value: false }), status: 200 },
  // Operations.
  { what: "an op that is none", sent: patch({ op: "set", path: "active", value: false }), status: 400 },
  { what: "no op", sent: patch({ path: "active", value: false }), status: 400 },
  { what: "one operation without its list", sent: { Operations: off }, status: 400 },
  { what: "operations alone", sent: [off], status: 400 },
  { what: "a resource in PATCH", sent: { schemas: [USER], active: "False" }, status: 400 },
  { what: "a capital path", sent: patch({ op: "Replace", path: "ACTIVE", value: "FALSE" }), status: 200 },
  { what: "the path with its URN", sent: patch({ op: "replace", path: `${USER}:active`, value: false }), status: 200 },
  { what: "a URN of SCIM 1.1", sent: patch({ op: "replace", path: "urn:scim:schemas:core:1.0:active", value: false }), status: 200 },
  { what: "the path with its URN and a dot", sent: patch({ op: "replace", path: `${USER}.active`, value: false }), status: 200 },
  { what: "the URN and a dot as a name", sent: patch({ op: "replace", value: { [`${USER}.ACTIVE`]: "False" } }), status: 200 },
  { what: "Value", sent: patch({ op: "replace", path: "active", value: { Value: "False" } }), status: 200 },
  { what: "a list of Value", sent: patch({ op: "replace", path: "active", value: [{ VALUE: false }] }), status: 200 },
  { what: "0", sent: patch({ op: "replace", path: "active", value: 0 }), status: 200 },
  { what: "0 as text", sent: patch({ op: "replace", value: { active: " 0 " } }), status: 200 },
  { what: "an op that sets", sent: patch({ op: "update", path: "active", value: 0 }), status: 400 },
  { what: "a value that names it twice", sent: patch({ op: "add", value: { active: true, Active: "False" } }), status: 400 },
  { what: "active twice, in other letters", method: "PUT", sent: user("x", { Active: false, ACTIVE: true }), status: 400 },
  { what: "a pointer", sent: patch({ op: "replace", path: "/active", value: false }), status: 400 },
  { what: "a path with a filter", sent: patch({ op: "replace", path: 'active[value eq "True"]', value: false }), status: 400 },
  { what: "a value in a value", sent: patch({ op: "replace", path: "active", value: { value: { active: "False" } } }), status: 400 },
  { what: "a list of values", sent: patch({ op: "replace", value: [{ active: false }] }), status: 400 },
  { what: "a name that somebody has", sent: patch({ op: "replace", path: "userName", value: "taken" }, off), status: 409 },
  { what: "a name that somebody has", method: "PUT", sent: user("taken", { active: false }), status: 409 },
  { what: "e-mail addresses that are none", sent: patch({ op: "add", path: "emails", value: 7 }, off), status: 200 },
  // What does not say it.
  { what: "active taken away", sent: patch({ op: "Remove", path: "active" }), status: 200, active: true },
  { what: "active of another schema", sent: patch({ op: "add", path: "urn:x:User:active", value: false }), status: 400, active: true },
  {
    what: "active of another schema, beside the user's own",
    method: "PUT",
    sent: user("u#", { active: true, "urn:x:User": { active: false } }),
    status: 200,
    active: true,
  },
  { what: "a test of a JSON patch", sent: [{ op: "test", path: "/active", value: false }], status: 400, active: true },
  { what: "true behind false", sent: patch(off, { op: "replace", path: "active", value: true }), status: 200, active: true },
  { what: "a body that is no JSON", sent: operation('"value":false').slice(0, -1), status: 400, active: true },
];

test("active: false is carried out whatever else is wrong, and the answer and the token say what was not", async (t) => {
  const { scim, problems } = await openWorld(t);
  await made(scim, "/Users", user("taken"));
  for (const [at, { what, method = "PATCH", sent, headers = {}, query = "", status, active = false }] of rows.entries()) {
    const id = await made(scim, "/Users", user(`u${at}`, { title: "Clerk" }));
    const body: unknown = typeof sent === "string" ? sent : JSON.parse(JSON.stringify(sent).replace("u#", `u${at}`));
    const reply = await scim(method, `/Users/${id}${query}`, body, headers);
    assert.deepEqual([what, reply.status], [what, status], JSON.stringify(reply.body));
    const read = (await scim("GET", `/Users/${id}`)).body;
    assert.deepEqual([what, read.active, read.userName], [what, active, `u${at}`]);
    if (method === "PATCH" || status !== 200) assert.equal(read.title, "Clerk", what);
    if (status === 200 || active) continue;
    assert.match(reply.body.detail, /Of this message active: false is done and nothing else\.$/, what);
    assert.ok((await problems()).includes(reply.body.detail.replaceAll("\0", " ")), what);
  }
});

/** All pairs, so that each form meets each value and each setting once. */
const forms: readonly (readonly [name: string, of: (value: unknown) => object])[] = [
  ...[
    "active",
    " Active ",
    "/active",
    "$.active",
    "active.",
    "active:",
    "active.value",
    "active[0]",
    'active[value eq "True"].value',
    "User.active",
    "Users/active",
    "user.active",
    "resource.active",
    "attributes.active",
    `${USER}:active`,
    `${USER}.Active`,
    `${USER}/active`,
    `${USER}:User.active`,
    `${USER}#active`,
    `${ENTERPRISE}:active`,
    `${ENTERPRISE}.active`,
    "urn:ietf:params:scim:schemas:core:2.0:active",
    "urn:scim:schemas:core:1.0:user:active",
    "urn:okta:acme:1.0:user:custom:active",
    "name.active",
    'emails[type eq "work"].active',
  ].flatMap((path): readonly (readonly [string, (value: unknown) => object])[] => [
    [`path ${path}`, (value) => ({ op: "Replace", path, value })],
    [`name ${path}`, (value) => ({ op: "add", value: { title: "x", [path]: value } })],
  ]),
  ["values", (values) => ({ op: "replace", path: "active", values })],
  ["Values by no path", (active) => ({ op: "replace", Values: { active } })],
  ["val", (val) => ({ op: "replace", path: "active", val })],
  ["an operation's own", (active) => ({ op: "replace", path: "title", value: "x", active })],
  ["no path, a list", (active) => ({ op: "replace", value: [{ active }] })],
  ["removed by value", (value) => ({ op: "remove", path: "active", value })],
  ["within an unknown one", (active) => ({ op: "add", value: { "urn:x:User": { active } } })],
  ["within the schema, twice", (active) => ({ op: "add", value: { [USER]: { [USER]: { [USER]: { [USER]: { active } } } } } })],
  ["within a member", (active) => ({ op: "add", path: "emails", value: [{ value: "a@acme.example", active }] })],
  ["a path as a list", (value) => ({ op: "replace", path: ["active"], value })],
];
const falses: readonly unknown[] = [
  false,
  "False",
  " FALSE ",
  0,
  "no",
  "inactive",
  [false],
  [{ value: "False" }],
  { value: { active: false } },
  { active: false },
  [[[[false]]]],
  [{}, false],
];
const settings: readonly (readonly [name: string, of: (operation: object) => object])[] = [
  ["alone", (one) => patch(one)],
  ["behind another", (one) => patch({ op: "add", path: "nickName", value: "x" }, one)],
  ["before another", (one) => patch(one, { op: "remove", path: "nickName" })],
  ["behind true", (one) => patch({ op: "add", path: "active", value: true }, one)],
  ["as the whole body", (one) => ("value" in one && !("path" in one) ? { userName: "one", ...(one.value as object) } : patch(one))],
];

test("no message that names active with a false is answered with success and leaves its user active", async (t) => {
  const { scim } = await openWorld(t);
  const id = await made(scim, "/Users", user("one"));
  const isOn = async (): Promise<boolean> => (await scim("GET", `/Users/${id}?attributes=active`)).body.active;
  let [on, done, refused] = [true, 0, 0];
  for (const [n, [form, of]] of forms.entries())
    for (const [at, value] of falses.entries())
      for (const [setting, within] of settings.slice((n + at) % settings.length).slice(0, 1)) {
        if (!on) assert.equal((await scim("PATCH", `/Users/${id}`, patch({ op: "add", path: "active", value: true }))).body.active, true);
        const sent = within(of(value));
        const { status } = await scim("userName" in sent ? "PUT" : "PATCH", `/Users/${id}`, sent);
        on = await isOn();
        assert.ok(status < 500 && (status >= 300 || !on), `${form}, ${JSON.stringify(value)}, ${setting}: ${status}`);
        if (status < 300) done += 1;
        else refused += 1;
      }
  assert.ok(done > 100 && refused > 100, `${done} done, ${refused} refused`);
  for (const [at, [form, of]] of forms.entries()) {
    const { value } = of(falses[at % falses.length]) as { readonly value?: object };
    if (typeof value !== "object" || Array.isArray(value) || !form.startsWith("name")) continue;
    const reply = await scim("POST", "/Users", user(`made${at}`, value));
    assert.ok(reply.status === 400 || (reply.status === 201 && reply.body.active === false), `POST ${form}: ${reply.status}`);
  }
});

test("active: false is carried out where the rest of its message fails, and the answer is that failure", async (t) => {
  const { world, scim } = await openWorld(t);
  const id = await made(scim, "/Users", user("one"));
  await world.sql("alter table membership.scim_resource add constraint no_title check (not document ? 'title')");
  const reply = await scim("PATCH", `/Users/${id}`, patch(off, { op: "add", path: "title", value: "Clerk" }));
  assert.deepEqual([reply.status, reply.body.status], [500, "500"]);
  assert.equal((await scim("GET", `/Users/${id}`)).body.active, false);
});

test("of a message that is too large nothing is done, and the answer and the token say so", async (t) => {
  const { scim, problems } = await openWorld(t);
  const id = await made(scim, "/Users", user("one"));
  for (const value of ["x".repeat(1_100_000), Array.from({ length: 50_001 }, () => 0)]) {
    const reply = await scim("PATCH", `/Users/${id}`, patch(off, { op: "add", path: "title", value }));
    assert.deepEqual([reply.status, reply.body.status], [413, "413"]);
    assert.match(reply.body.detail, /Nothing of this message is done\.$/);
    assert.ok((await problems()).includes(reply.body.detail));
    assert.equal((await scim("GET", `/Users/${id}`)).body.active, true);
  }
});

test("problems that are reported at the same time are all there", async (t) => {
  const { scim, problems } = await openWorld(t);
  const names = Array.from({ length: 8 }, (_none, n) => `word${n}`);
  const replies = await Promise.all(names.map((name) => scim("POST", "/Users", user(name, { [name]: 1 }))));
  assert.deepEqual(
    replies.map(({ status }) => status),
    names.map(() => 201),
  );
  assert.deepEqual(
    (await problems()).toSorted(),
    names.map((name) => `Not stored: ${name}.`),
  );
  for (let n = 0; n < 20; n++) await scim("POST", "/Users", user(`more${n}`, { [`more${n}`]: 1 }));
  const all = await problems();
  assert.deepEqual([all.length, all[0], all.at(-1)], [20, "Not stored: more19.", "Not stored: more0."]);
});

test("the primary e-mail address is one that has a value", async (t) => {
  const { world, scim } = await openWorld(t);
  const emails = [{ type: "work", value: "w@acme.example", primary: true }];
  const id = await made(scim, "/Users", user("one", { emails }));
  for (const primary of [true, "True"]) {
    await scim("PATCH", `/Users/${id}`, patch({ op: "replace", path: 'emails[type eq "home"].primary', value: primary }));
    const [node] = await world.sql<{ email: string }>(
      `select props ->> 'email' as email from membership.node where id = 'person:scim:${id}'`,
    );
    assert.equal(node?.email, "w@acme.example");
  }
  assert.equal(
    (await scim("PUT", `/Users/${id}`, user("one", { emails: [{ type: "home", primary: true }, { value: "x@acme.example" }] }))).status,
    200,
  );
  const [node] = await world.sql<{ email: string }>(
    `select props ->> 'email' as email from membership.node where id = 'person:scim:${id}'`,
  );
  assert.equal(node?.email, "x@acme.example");
});
