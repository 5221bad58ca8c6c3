import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld, type Reply } from "#testing/membership.ts";
import { foldText } from "#contract/fold-text.ts";

const names = [
  'O\'Neil "q" \\',
  "'; drop table membership.node; --",
  "\u202egnal \u2066x",
  "🦀🦀 👩‍👩‍👧",
  "İSTANBUL ıspanak",
  "Zoe\u0308 ﬁ",
  "100%_",
  "100xx",
  "a,b\tc=SUM(1)".replace("\t", " "),
  "<script>alert(1)</script>",
  '{"node":{}}',
] as const;
const scopes = ["membership.read", "membership.write", "membership.registry", "membership.export", "membership.sign_in"];
const ndjson = { "content-type": "application/x-ndjson" };
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

test("whatever somebody is called goes in by every writer as it is, and every search finds it literally, in its own tenant", async (t) => {
  const signIns = { provision: "create", system: "oidc", subjectPrefix: "", groups: new Map() } as const;
  const world = await servedWorld(t, await testDatabase(t, graphModules), { signIns });
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}, as = "ada"): Promise<Reply> =>
    world.call(as, method, `/api/v1${path}`, {
      ...(body === undefined ? {} : { body }),
      scopes,
      headers: { "idempotency-key": crypto.randomUUID(), ...headers },
    });
  const { token } = (await call("POST", "/scim-tokens", { name: "directory" })).body;
  const scim = (body: object) =>
    world.service.fetch(
      new Request("http://localhost:8084/scim/v2/Users", {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/scim+json" },
        body: JSON.stringify({ schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], ...body }),
      }),
    );
  const writers: readonly (readonly [what: string, write: (name: string, n: number) => Promise<{ readonly status: number }>])[] = [
    ["a node by hand", (name, n) => call("PUT", `/nodes/group:hand${n}`, { kind: "Group", name }, { "if-none-match": "*" })],
    [
      "several changes",
      (name, n) =>
        call("POST", "/graph/changes", {
          changes: [{ op: "put_node", node: { id: `group:many${n}`, kind: "Group", name } }],
          reason: name,
        }),
    ],
    [
      "a file of JSON",
      (name, n) =>
        call("POST", "/imports?reason=a%20file", `${JSON.stringify({ node: { id: `group:json${n}`, kind: "Group", name } })}\n`, ndjson),
    ],
    [
      "a file of CSV",
      (name, n) =>
        call("POST", "/imports?reason=a%20file&format=csv&csv=nodes", `id,kind,name\ngroup:csv${n},Group,${quoted(name)}\n`, {
          "content-type": "text/csv",
        }),
    ],
    ["a directory", (name, n) => scim({ userName: `user${n}`, displayName: name })],
    [
      "a sign-in",
      (name, n) =>
        call(
          "POST",
          "/sign-ins",
          { issuer: "https://login.example", subject: `s-${n}`, tenant: "tenant:acme", name },
          {},
          "service:gateway",
        ),
    ],
    [
      "the registry",
      (name, n) => call("POST", "/mcp/services", { name: `svc${n}`, service_type: "mcp", display_name: name, description: name }),
    ],
  ];
  for (const [what, write] of writers)
    for (const [n, name] of names.entries()) {
      const { status } = await write(name, n);
      assert.ok(status === 200 || status === 201, `${what}: ${name} was ${status}`);
    }

  const rows = await world.sql<{ id: string; name: string; display_name: string | null; fold: string }>(
    "select id, name, display_name, fold from membership.node where tenant_id = 'tenant:acme' and kind <> 'Tool' order by id",
  );
  for (const name of names) {
    const own = rows.filter((row) => row.name === name || row.display_name === name);
    // A sign-in makes an account of that name too.
    assert.equal(own.length, writers.length + 1, `${name} is there as it was sent: ${own.map(({ id }) => id).join()}`);
    const term = encodeURIComponent(name);
    const kinds = /^(?:group|person|account|mcp):/;
    const expected = rows.filter(({ id, fold }) => kinds.test(id) && fold.includes(foldText(name))).map(({ id }) => id);
    const found = await call("GET", `/identity_nodes/search?limit=500&search=${term}`);
    const ids = (reply: Reply): string[] => (reply.body.nodes ?? reply.body).map(({ id }: { id: string }) => id);
    assert.deepEqual(ids(found), expected, `search for ${name}`);
    const withMetadata = await call("GET", `/identity_nodes/search/with-metadata?limit=500&search=${term}`);
    assert.deepEqual([ids(withMetadata), withMetadata.body.total], [expected, expected.length]);
    assert.equal((await call("GET", `/identity_nodes/count?search=${term}`)).body.count, expected.length);
    const services = await call("GET", `/mcp/services?search=${term}`);
    assert.ok(
      services.body.services.some((service: { display_name?: string }) => service.display_name === name),
      `services for ${name}`,
    );
    const fulltext = await call("GET", `/identity_nodes/fulltext-search?limit=500&q=${term}`);
    assert.ok(fulltext.status === 200 || fulltext.status === 422, `full text of ${name}: ${fulltext.status}`);
    if (fulltext.status === 200 && /^[\p{L}]/u.test(name))
      assert.ok(ids(fulltext).includes("group:hand0") || fulltext.body.total > 0, name);
    for (const path of ["/identity_nodes/search", "/identity_nodes/search/with-metadata"])
      assert.deepEqual(ids(await call("GET", `${path}?search=${term}`, undefined, {}, "eve")), [], "another tenant's");
  }
  const out = await world.call("ada", "GET", "/api/v1/export?kinds=Group", { scopes, asText: true });
  const exported = (out.body as string)
    .trimEnd()
    .split("\n")
    .flatMap((line) => (JSON.parse(line) as { node?: { name: string } }).node?.name ?? []);
  for (const name of names) assert.equal(exported.filter((one) => one === name).length, 4, `${name} comes out as it went in`);
});

test("rows that were folded before there was a bound are cut to it, and no others", async (t) => {
  const database = await testDatabase(t, graphModules);
  const world = await servedWorld(t, database);
  const one = "\ufdfa";
  const rows = [
    { id: "person:long", kind: "Person", name: one.repeat(250), props: { email: one.repeat(200) }, external_id: one.repeat(900) },
    { id: "group:plain", kind: "Group", name: "Straße ".repeat(30).trim(), display_name: "x".repeat(256), external_id: "y".repeat(1000) },
  ] as const;
  for (const row of rows) await world.put({ ...row, tenant_id: "tenant:acme" });
  const folds = () => world.sql<{ id: string; fold: string }>("select id, fold from membership.node order by id");
  const bounded = await folds();
  const whole = foldText([rows[0].id, rows[0].name, rows[0].props.email, rows[0].external_id].join("\u001f"));
  await world.sql(`update membership.node set fold = '${whole}' where id = '${rows[0].id}'`);
  await database.script(await readFile(new URL("migrations/017-bounded-folds.sql", import.meta.url), "utf8"));
  assert.deepEqual(await folds(), bounded);
});

test("a character that folds to many makes neither a name nor a search longer than others are", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const one = "\ufdfa";
  await world.put({ id: "group:long", kind: "Group", name: one.repeat(250), display_name: one.repeat(250), tenant_id: "tenant:acme" });
  await world.put({ id: "group:pairs", kind: "Group", name: `\ufb01${"🦀".repeat(127)}x`, tenant_id: "tenant:acme" });
  const [row] = await world.sql<{ most: number }>("select max(length(fold))::int as most from membership.node where kind = 'Group'");
  assert.ok((row?.most ?? 0) <= 550, `${row?.most}`);
  const paths = [
    "identity_nodes/fulltext-search?q=",
    "identity_nodes/search?search=",
    "identity_nodes/count?search=",
    "mcp/services?search=",
  ];
  for (const path of paths) {
    const { status } = await world.call("ada", "GET", `/api/v1/${path}${encodeURIComponent(one.repeat(20))}`, { scopes });
    assert.equal(status, 422, path);
    assert.equal((await world.call("ada", "GET", `/api/v1/${path}${encodeURIComponent(one.repeat(5))}`, { scopes })).status, 200, path);
  }
});
