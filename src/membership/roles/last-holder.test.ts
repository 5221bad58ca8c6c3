import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import fc from "fast-check";
import { Problem } from "#contract/problem.ts";
import { dropEdges, lockEdge } from "#membership/graph/drop-edge.ts";
import { putEdge } from "#membership/graph/put-edge.ts";
import { scopeOfTenant, wholeGraph } from "#membership/graph/tenant-scope.ts";
import { createWriteGraph, type WriteGraph } from "#membership/graph/write.ts";
import { undone } from "#membership/model/dry-run.ts";
import type { SignInRules } from "#membership/sign-ins/settle-person.ts";
import { applyImport } from "#membership/transfer/apply-import.ts";
import { readImport } from "#membership/transfer/read-import.ts";
import type { Log } from "#telemetry/log.ts";
import { silentLog } from "#telemetry/log.ts";
import { statement } from "#store/database.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphModules, graphWorld, servedWorld, type ServedWorld } from "#testing/membership.ts";
import { readHolders, type SignInWays } from "#membership/graph/remaining-holders.ts";
import { reportLockedOut } from "./report-locked-out.ts";

const scopes = ["membership.read", "membership.write"];
const issuer = "https://login.example";
const ACME = "tenant:acme";
const key = () => ({ "idempotency-key": crypto.randomUUID() });
const later = "2100-01-01T00:00:00Z";

interface Edit {
  readonly op: "put_node" | "drop_node" | "put_edge" | "drop_edge";
  readonly node?: object;
  readonly edge?: { readonly kind: string; readonly src: string; readonly dst: string; readonly expires_at?: string };
  readonly id?: string;
  readonly cascade?: boolean;
}
const put = (src: string, dst: string, expires_at?: string, kind = "MEMBER_OF"): Edit => ({
  op: "put_edge",
  edge: { kind, src, dst, ...(expires_at === undefined ? {} : { expires_at }) },
});
const drop = (src: string, dst: string, kind = "MEMBER_OF"): Edit => ({ op: "drop_edge", edge: { kind, src, dst } });
const node = (id: string, kind: string, state: string, props: object = {}): Edit => ({
  op: "put_node",
  node: { id, kind, name: id, state, props },
});
const account = { login: "ada", system: "directory" };
const [ADA, ACCOUNT, ADMINS] = ["person:ada", "account:ada@acme", "group:platform-admins"];

/** Every way to take the last one away: Ada, who holds both roles by her account and a group, by which she is in the tenant too. */
const losses: readonly (readonly [what: string, edits: readonly Edit[]])[] = [
  ["the group loses the role", [drop(ADMINS, "role:administrator")]],
  ["the group loses the platform", [drop(ADMINS, "role:platform")]],
  ["the role gets an end", [put(ADMINS, "role:administrator", later)]],
  ["the account leaves the group", [drop(ACCOUNT, ADMINS)]],
  ["the account's membership gets an end", [put(ACCOUNT, ADMINS, later)]],
  ["the person loses the account", [drop(ADA, ACCOUNT, "BELONGS_TO")]],
  ["the account gets an end", [put(ADA, ACCOUNT, later, "BELONGS_TO")]],
  ["the person is suspended", [node(ADA, "Person", "suspended")]],
  ["the person is disabled", [node(ADA, "Person", "disabled")]],
  ["the account is disabled", [node(ACCOUNT, "Account", "disabled", account)]],
  ["the group is suspended", [node(ADMINS, "Group", "suspended")]],
  ["the person is dropped", [{ op: "drop_node", id: ADA, cascade: true }]],
  ["the account is dropped", [{ op: "drop_node", id: ACCOUNT, cascade: true }]],
  ["the group is dropped", [{ op: "drop_node", id: ADMINS, cascade: true }]],
  ["the group leaves the tenant", [drop(ADMINS, ACME)]],
  ["the group's tenant gets an end", [put(ADMINS, ACME, later)]],
  ["the tenant is suspended", [node(ACME, "Tenant", "suspended")]],
  ["the tenant is disabled", [node(ACME, "Tenant", "disabled")]],
  ["the tenant is dropped", [{ op: "drop_node", id: ACME, cascade: true }]],
  [
    "somebody else is put in, who is no person",
    [drop(ACCOUNT, ADMINS), put("agent:reporter", "role:administrator"), put("agent:reporter", "role:platform")],
  ],
  ["somebody else is put in, for a while", [drop(ACCOUNT, ADMINS), put("account:ben@acme", ADMINS, later)]],
  [
    "somebody else is put in, outside the tenant",
    [
      node("person:out", "Person", "active"),
      put("person:out", "role:administrator"),
      put("person:out", "role:platform"),
      drop(ACCOUNT, ADMINS),
    ],
  ],
  [
    "what the way goes by is replaced, without the tenant",
    [put(ADA, "role:administrator"), put(ADA, "role:platform"), drop(ACCOUNT, ADMINS)],
  ],
];

const change = (world: ServedWorld, edits: readonly Edit[], more: object = {}, as = "ada") =>
  world.call(as, "POST", "/api/v1/graph/changes", { body: { changes: edits, reason: "a change", ...more }, headers: key(), scopes });
const lineOf = ({ op, ...rest }: Edit): object =>
  op === "put_node"
    ? { node: rest.node }
    : op === "put_edge"
      ? { edge: rest.edge }
      : { drop: rest.edge ? { edge: rest.edge } : { node: rest.id, cascade: true } };
const ndjson = (edits: readonly Edit[]): string => edits.map((edit) => `${JSON.stringify(lineOf(edit))}\n`).join("");
const send = (world: ServedWorld, edits: readonly Edit[]) =>
  world.call("ada", "POST", "/api/v1/imports?reason=a%20file", {
    body: ndjson(edits),
    headers: { ...key(), "content-type": "application/x-ndjson" },
    scopes,
  });
const bytes = async function* (text: string) {
  yield Buffer.from(text);
};
const operatorsFile = async (write: WriteGraph, edits: readonly Edit[]): Promise<readonly string[]> => {
  const scope = scopeOfTenant(ACME);
  const plan = await readImport(bytes(ndjson(edits)), { scope, csv: undefined });
  const by = { actor: "operator:root", source: "import", correlationId: "test", tenantId: ACME, roles: "platform" } as const;
  return write(by, async (tx) => ({ value: await applyImport(tx, scope, plan, { mode: "upsert" }) })).then(
    () => ["written"],
    (error: unknown) => (error instanceof Problem ? (error.options.errors ?? []).map(({ code }) => String(code)) : [String(error)]),
  );
};

test("a business role by which the account is in its tenant is no way around the question", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const way = "role-of:acme";
  const made = [node(way, "BusinessRole", "active"), put(ACCOUNT, way), put(way, ACME), drop(ADMINS, ACME)];
  assert.equal((await change(world, made)).status, 200);
  for (const state of ["suspended", "disabled"]) {
    const reply = await change(world, [node(way, "BusinessRole", state)]);
    assert.deepEqual([state, reply.status, reply.body.code], [state, 409, "last_administrator"]);
  }
});

test("the last administrator stays, whoever writes and by whatever way they would go", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const { version } = await world.reader.version();
  for (const [what, edits] of losses) {
    for (const dry_run of [true, false]) {
      const reply = await change(world, edits, { dry_run });
      assert.deepEqual([what, reply.status, reply.body.code], [what, 409, "last_administrator"]);
      assert.match(
        reply.body.detail,
        /^Without .+ nobody who can sign in would hold role:(?:administrator|platform) in tenant:acme for good/,
      );
    }
    const file = await send(world, edits);
    assert.equal(file.status, 422, what);
    for (const { code } of file.body.errors) assert.match(code, /^(?:last_administrator|access_denied)$/, what);
    assert.deepEqual([what, ...new Set(await operatorsFile(world.write, edits))], [what, "last_administrator"]);
  }
  const alone: readonly (readonly [method: string, path: string, body?: object])[] = [
    ["DELETE", `/edges/MEMBER_OF/${ADMINS}/${ACME}`],
    ["DELETE", `/edges/BELONGS_TO/${ADA}/${ACCOUNT}`],
    ["PUT", `/edges/MEMBER_OF/${ADMINS}/${ACME}`, { expires_at: later }],
    ["DELETE", `/nodes/${ACCOUNT}?cascade=true`],
    ["PATCH", `/nodes/${ACME}`, { state: "suspended" }],
    ["PATCH", `/nodes/${ADA}`, { state: "disabled" }],
  ];
  for (const [method, path, body] of alone) {
    const tagged = path.startsWith("/nodes")
      ? await world.call("ada", "GET", `/api/v1/identity_nodes/${path.split(/[/?]/)[2]}`, { scopes })
      : undefined;
    const tag = tagged?.headers.get("etag") ?? (await world.call("ada", "GET", `/api/v1${path}`, { scopes })).headers.get("etag") ?? "";
    const reply = await world.call("ada", method, `/api/v1${path}`, {
      ...(body === undefined ? {} : { body }),
      headers: { "if-match": tag },
      scopes,
    });
    assert.deepEqual([method, path, reply.status, reply.body.code], [method, path, 409, "last_administrator"]);
  }
  assert.equal((await world.reader.version()).version, version, "nothing was written");
});

test("what takes no last one away is done", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const staff = node("group:staff", "Group", "active");
  const done: readonly (readonly [what: string, as: string, edits: readonly Edit[]])[] = [
    [
      "others go",
      "ada",
      [
        drop("account:cleo@acme", "group:analysts"),
        node("group:contractors", "Group", "suspended"),
        node("person:dan", "Person", "disabled"),
      ],
    ],
    ["a tenant that has none", "eve", [node("group:globex-staff", "Group", "suspended"), drop("account:eve@globex", "group:globex-staff")]],
    ["and its own node", "eve", [node("tenant:globex", "Tenant", "suspended")]],
    ["a second one comes", "ada", [put("account:ben@acme", ADMINS)]],
    ["and the first goes", "ada", [drop(ACCOUNT, ADMINS)]],
    ["one comes and the other goes in one step", "ben", [drop("account:ben@acme", ADMINS), put(ACCOUNT, ADMINS)]],
    [
      "by another group, which is in the tenant",
      "ada",
      [
        staff,
        put("group:staff", ACME),
        put("group:staff", "role:administrator"),
        put("group:staff", "role:platform"),
        put(ACCOUNT, "group:staff"),
        drop(ACCOUNT, ADMINS),
      ],
    ],
    [
      "of her own, and the account is in the tenant",
      "ada",
      [
        put(ACCOUNT, ACME),
        put(ADA, "role:administrator"),
        put(ADA, "role:platform"),
        { op: "drop_node", id: "group:staff", cascade: true },
      ],
    ],
  ];
  for (const [what, as, edits] of done) {
    const reply = await change(world, edits, {}, as);
    assert.deepEqual([what, reply.status], [what, 200], JSON.stringify(reply.body));
  }
  const now = await change(world, [node(ACCOUNT, "Account", "suspended", account)]);
  assert.equal(now.body.code, "last_administrator", "the tenant of a role of her own is the account's");
});

test("whoever has a role for a while keeps it as long: what makes nothing worse is done", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  await world.sql("update membership.edge set expires_at = '2090-01-01' where src = 'account:ada@acme'");
  assert.equal((await change(world, [node("group:contractors", "Group", "suspended")])).status, 200);
  assert.equal((await change(world, [put(ACCOUNT, ADMINS, later)])).status, 200);
  assert.equal((await change(world, [drop(ACCOUNT, ADMINS)])).body.code, "last_administrator");
});

const rulesOf = (provision: SignInRules["provision"], more: Partial<SignInRules> = {}): SignInRules => ({
  provision,
  system: "directory",
  subjectPrefix: "person:",
  issuer,
  groups: new Map([["admins", ["group:claimed"]]]),
  ...more,
});
const link = (world: ServedWorld, subject: string, person_id: string, at = issuer) =>
  world.call("ada", "POST", "/api/v1/identity-links", { body: { issuer: at, subject, person_id, reason: "a link" }, scopes });
const unlink = (world: ServedWorld, id: string) => world.call("ada", "DELETE", `/api/v1/identity-links/${id}?reason=gone`, { scopes });

test("who cannot sign in is no administrator; the last sign-in of the last one stays", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { signIns: rulesOf("match") });
  const first = await link(world, "ada-1", ADA);
  assert.equal((await change(world, [put("account:ben@acme", ADMINS)])).status, 200);
  const leave = () => change(world, [drop(ACCOUNT, ADMINS)]);
  assert.equal((await leave()).body.code, "last_administrator", "a second one without a link");
  await link(world, "ben-1", "person:ben", "https://other.example");
  assert.equal((await leave()).body.code, "last_administrator", "or with one of another provider");
  const refused = await unlink(world, first.body.link_id);
  assert.deepEqual([refused.status, refused.body.code], [409, "last_administrator"]);
  assert.match(refused.body.detail, /the sign-in of person:ada/);
  const second = await link(world, "ada-2", ADA);
  assert.equal((await unlink(world, first.body.link_id)).status, 204, "one of two");
  await link(world, "dan-1", "person:dan");
  assert.equal((await link(world, "ben-2", "person:ben")).status, 201);
  assert.equal((await unlink(world, second.body.link_id)).status, 204);
  assert.equal((await change(world, [drop("account:ben@acme", ADMINS)], {}, "ben")).body.code, "last_administrator");
});

test("where subjects are ids, a link takes the sign-in of the person whose id it is; whom the embedded provider does not know is nobody", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { signIns: rulesOf("off") });
  const taken = await link(world, "ada", "person:dan");
  assert.deepEqual([taken.status, taken.body.code], [409, "last_administrator"]);
  assert.equal((await link(world, "ben", "person:dan")).status, 201);
  const embedded = await servedWorld(t, await testDatabase(t, graphModules), {
    signIns: rulesOf("off", { issuer: undefined, persons: [ADA] }),
  });
  await embedded.put({ kind: "MEMBER_OF", src: "account:ben@acme", dst: ADMINS });
  assert.equal((await change(embedded, [drop(ACCOUNT, ADMINS)])).body.code, "last_administrator");
});

test("a setting that leaves an administrator no sign-in is told of", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const published: unknown[] = [];
  const log: Log = { ...silentLog, warn: (event, data) => void published.push([event, data]) };
  await reportLockedOut(world.database, rulesOf("off"), log);
  assert.deepEqual(published, []);
  await reportLockedOut(world.database, rulesOf("match"), log);
  assert.deepEqual(
    published,
    ["role:administrator", "role:platform"].map((role) => ["no_holder_can_sign_in", { tenant: ACME, role }]),
  );
});

/** A directory's user who is the last of both roles, by a marked group and of their own. */
const scimWorld = async (t: TestContext) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const { body } = await world.call("ada", "POST", "/api/v1/scim-tokens", { body: { name: "directory" }, scopes });
  const scim = async (method: string, path: string, sent?: object) => {
    const response = await world.service.fetch(
      new Request(`http://localhost:8084/scim/v2${path}`, {
        method,
        headers: { authorization: `Bearer ${body.token}`, "content-type": "application/scim+json" },
        ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
      }),
    );
    const text = await response.text();
    return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as Record<string, string> };
  };
  const user = (userName: string) => ({ schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], userName });
  const made = async (path: string, sent: object): Promise<string> => (await scim("POST", path, sent)).body["id"] ?? "";
  const [fay, gus] = [await made("/Users", user("fay")), await made("/Users", user("gus"))];
  const group = { schemas: ["urn:ietf:params:scim:schemas:core:2.0:Group"], displayName: "Admins" };
  const admins = await made("/Groups", { ...group, members: [fay, gus].map((value) => ({ value })) });
  await world.put(
    { id: `group:scim:${admins}`, kind: "Group", name: "Admins", system: "scim", tenant_id: ACME, props: { provisions_roles: true } },
    { kind: "MEMBER_OF", src: `group:scim:${admins}`, dst: "role:administrator" },
    { kind: "MEMBER_OF", src: `person:scim:${fay}`, dst: "role:platform" },
  );
  return { world, scim, user, group, fay, gus, admins };
};

test("a directory cannot take the last one away, and is told so in its own words; everybody else it can", async (t) => {
  const { world, scim, user, group, fay, gus, admins } = await scimWorld(t);
  assert.equal((await change(world, [drop(ACCOUNT, ADMINS)])).status, 200);
  const patch = (...Operations: readonly object[]) => ({ schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations });
  const off = patch({ op: "replace", path: "active", value: false });
  assert.equal((await scim("PATCH", `/Users/${gus}`, off)).status, 200, "one of two");
  const refused: readonly (readonly [method: string, path: string, sent?: object])[] = [
    ["PATCH", `/Users/${fay}`, off],
    ["PUT", `/Users/${fay}`, { ...user("fay"), active: false }],
    ["DELETE", `/Users/${fay}`],
    ["PATCH", `/Groups/${admins}`, patch({ op: "remove", path: `members[value eq "${fay}"]` })],
    ["PUT", `/Groups/${admins}`, { ...group, members: [{ value: gus }] }],
  ];
  for (const [method, path, sent] of refused) {
    const { status, body } = await scim(method, path, sent);
    assert.deepEqual(
      [method, path, status, body["status"], body["schemas"]],
      [method, path, 409, "409", ["urn:ietf:params:scim:api:messages:2.0:Error"]],
    );
    assert.match(String(body["detail"]), /^last_administrator: Without .* tenant:acme/);
  }
  assert.equal((await scim("DELETE", `/Users/${gus}`)).status, 204);
});

test("claims of a sign-in take the last one no group", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { signIns: rulesOf("off") });
  await world.put(
    { id: "group:claimed", kind: "Group", name: "Claimed", tenant_id: ACME, props: { provisions_roles: true } },
    { kind: "MEMBER_OF", src: "group:claimed", dst: "role:administrator" },
    { kind: "MEMBER_OF", src: "person:ben", dst: "role:platform" },
  );
  const come = async (...groups: readonly string[]): Promise<boolean> => {
    const body = { issuer, subject: "ben", tenant: ACME, groups };
    assert.equal((await world.call("service:gateway", "POST", "/api/v1/sign-ins", { body, scopes: ["membership.sign_in"] })).status, 200);
    return (await world.sql("select 1 from membership.edge where src = 'person:ben' and dst = 'group:claimed'")).length > 0;
  };
  assert.equal(await come("admins"), true);
  assert.equal(await come(), false, "Ada is there");
  await come("admins");
  assert.equal((await change(world, [drop(ACCOUNT, ADMINS)])).status, 200);
  assert.equal(await come(), true);
});

/** What two transactions at once may not both do. */
const races: readonly (readonly [what: string, one: readonly Edit[], other: readonly Edit[]])[] = [
  ["two who each take the other away", [drop(ACCOUNT, ADMINS)], [drop("account:ben@acme", ADMINS)]],
  [
    "one gives the role to somebody and goes, another takes that one out of the tenant",
    [
      put("person:cleo", "role:administrator"),
      put("person:cleo", "role:platform"),
      drop(ACCOUNT, ADMINS),
      drop("account:ben@acme", ADMINS),
    ],
    [drop("account:cleo@acme", "group:analysts")],
  ],
];

forEachDatabase(
  "what takes the last one away together does not both succeed, in transactions at once",
  graphModules,
  async (_t, database, { second }) => {
    const world = await graphWorld(database);
    const other = second === undefined ? world : await graphWorld(await second());
    const writes = [world.write, createWriteGraph({ change: other.change, metrics: other.metrics })] as const;
    for (const [what, ...both] of races) {
      await world.put(...[ACCOUNT, "account:ben@acme"].map((src) => ({ kind: "MEMBER_OF", src, dst: ADMINS }) as const));
      // Both have written before either asks; the embedded database has one transaction at a time.
      let waiting = 0;
      const met = Promise.withResolvers<void>();
      const ends = both.map((edits, index) =>
        (writes[index] ?? world.write)(
          { actor: "service:any", source: "api", correlationId: "test", tenantId: ACME, roles: "platform" },
          async (tx) => {
            for (const { op, edge } of edits) {
              const at = { kind: "MEMBER_OF", src: edge?.src ?? "", dst: edge?.dst ?? "", discr: "" } as const;
              if (op === "put_edge") await putEdge(tx, { kind: at.kind, src: at.src, dst: at.dst });
              const held = op === "put_edge" ? undefined : await lockEdge(tx.sql, wholeGraph, at);
              if (held !== undefined) await dropEdges(tx, wholeGraph, [held]);
            }
            if (++waiting === 2 || second === undefined) met.resolve();
            await met.promise;
            return { value: undefined };
          },
        ).then(
          () => "written",
          (error: unknown) => (error instanceof Problem ? error.code : String(error)),
        ),
      );
      assert.deepEqual([what, ...(await Promise.all(ends)).toSorted()], [what, "last_administrator", "written"]);
    }
  },
);

/** One random world, and what a plain reading of it says. */
interface Small {
  readonly states: Readonly<Record<string, boolean>>;
  /** 0 none, 1 without an end, 2 ends later, 3 has ended. */
  readonly edges: Readonly<Record<string, 0 | 1 | 2 | 3>>;
  readonly links: Readonly<Record<string, string | null>>;
}
const T = "tenant:t";
const persons = ["person:p", "person:q"];
const accounts = ["account:a", "account:b"];
const groups = ["group:g", "group:h", "group:i"];
const roles = ["role:administrator", "role:platform"];
const pairs: readonly (readonly [kind: string, src: string, dst: string])[] = [
  ["BELONGS_TO", "person:p", "account:a"],
  ["BELONGS_TO", "person:q", "account:b"],
  ...[...persons, ...accounts].flatMap((src) => [...groups, ...roles].map((dst) => ["MEMBER_OF", src, dst] as const)),
  ...[...accounts, ...groups].map((src) => ["MEMBER_OF", src, T] as const),
  ...groups.flatMap((src) => roles.map((dst) => ["MEMBER_OF", src, dst] as const)),
  ["MEMBER_OF", "group:g", "group:h"],
  ["MEMBER_OF", "group:h", "group:i"],
];
const small: fc.Arbitrary<Small> = fc.record({
  states: fc.record(Object.fromEntries([T, ...persons, ...accounts, ...groups].map((id) => [id, fc.nat(5).map((n) => n > 0)]))),
  edges: fc.record(
    Object.fromEntries(
      pairs.map(([kind, src, dst]) => [
        `${src} ${dst}`,
        kind === "BELONGS_TO" ? fc.constantFrom(1, 1, 1, 2, 3, 0) : fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 3),
      ]),
    ),
  ),
  links: fc.record(Object.fromEntries(persons.map((id) => [id, fc.constantFrom(null, issuer, "https://other.example")]))),
});
const model = ({ states, edges, links }: Small, ways: SignInWays): readonly string[] => {
  const isOn = (id: string): boolean => states[id] ?? true;
  const next = (at: string, isEndless: boolean): readonly string[] =>
    pairs.flatMap(([, src, dst]) => {
      const state = edges[`${src} ${dst}`];
      return src === at && isOn(dst) && (state === 1 || (state === 2 && !isEndless)) ? [dst] : [];
    });
  const reached = (from: string, isEndless: boolean): ReadonlySet<string> => {
    const all = new Set([from]);
    for (const one of all) for (const dst of next(one, isEndless)) all.add(dst);
    return all;
  };
  const signsIn = (id: string): boolean =>
    ways.persons !== undefined
      ? ways.persons.includes(id)
      : links[id] === ways.issuer || (links[id] !== null && ways.issuer === undefined) || ways.provision === "off";
  const holds = (role: string, isEndless: boolean): boolean =>
    isOn(T) &&
    persons.some((id) => {
      const own = accounts.filter((one) => next(id, isEndless).includes(one));
      const first = own.flatMap((one) => next(one, isEndless));
      const isIn = [...first, ...first.flatMap((one) => next(one, isEndless))].includes(T);
      return isOn(id) && signsIn(id) && isIn && reached(id, isEndless).has(role);
    });
  return roles.flatMap((role) => (holds(role, false) ? [`${role} ${holds(role, true)}`] : []));
};
const WRITE = statement<{ role: string }>(
  "testing.small_world",
  `with nodes as (
     insert into membership.node (id, kind, tenant_id, name, state, fold)
     select n.id, n.kind, 'tenant:t', n.id, n.state, n.id from jsonb_to_recordset($1::jsonb) n(id text, kind text, state text))
   select 'x' as role`,
);
const EDGES = statement(
  "testing.small_edges",
  `insert into membership.edge (id, kind, src, dst, tenant_id, expires_at)
   select 'edge:' || md5(e.src || e.dst), e.kind, e.src, e.dst, 'tenant:t', e.ends from jsonb_to_recordset($1::jsonb) e(kind text, src text, dst text, ends timestamptz)`,
);
const LINKS = statement(
  "testing.small_links",
  `insert into membership.identity_link (id, issuer, subject, person_id, how, made_by, tenant_id)
   select gen_random_uuid(), l.issuer, 's' || l.person, l.person, 'administrator', 'test', 'tenant:t' from jsonb_to_recordset($1::jsonb) l(person text, issuer text)`,
);
const OPERATORS = statement("testing.small_operator", "insert into membership.operator_tenant (tenant_id) values ('tenant:t')");
const kindOf: Readonly<Record<string, string>> = { tenant: "Tenant", person: "Person", account: "Account", group: "Group" };
const ends = { 1: null, 2: later, 3: "2000-01-01T00:00:00Z" } as const;

forEachDatabase("the question reads small worlds like a plain reading of them", graphModules, async (_t, database) => {
  await graphWorld(database, { demo: false });
  let held = 0;
  await fc.assert(
    fc.asyncProperty(
      small,
      fc.constantFrom<SignInWays>(
        rulesOf("off"),
        rulesOf("match"),
        rulesOf("match", { issuer: undefined }),
        rulesOf("off", { persons: ["person:q"] }),
      ),
      async (world, ways) => {
        const found = await undone(database, async (sql) => {
          const nodes = Object.entries(world.states).map(([id, isOn]) => ({
            id,
            kind: kindOf[id.slice(0, id.indexOf(":"))],
            state: isOn ? "active" : "suspended",
          }));
          await sql.run(WRITE, [JSON.stringify(nodes)]);
          const rows = pairs.flatMap(([kind, src, dst]) => {
            const state = world.edges[`${src} ${dst}`] ?? 0;
            return state === 0 ? [] : [{ kind, src, dst, ends: ends[state] }];
          });
          await sql.run(EDGES, [JSON.stringify(rows)]);
          await sql.run(LINKS, [
            JSON.stringify(Object.entries(world.links).flatMap(([person, at]) => (at === null ? [] : [{ person, issuer: at }]))),
          ]);
          await sql.run(OPERATORS);
          return readHolders(sql, ways, T);
        });
        held += found.length;
        assert.deepEqual(
          found.map(({ role, endless }) => `${role} ${endless}`),
          model(world, ways),
        );
      },
    ),
    { numRuns: 120, seed: 7 },
  );
  assert.ok(held > 30, `${held} were held`);
});
