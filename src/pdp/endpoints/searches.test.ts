import assert from "node:assert/strict";
import { test } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { ProblemBody } from "#contract/problem.ts";
import { testAudiences } from "#testing/identity.ts";
import { pdpWorld, sharedPdpWorld, type PdpWorld } from "#testing/pdp.ts";

const shared = sharedPdpWorld();
const SUBJECT = "/access/v1/search/subject";
const RESOURCE = "/access/v1/search/resource";
const ACTION = "/access/v1/search/action";

/** Who may see the page `people`: an account has the rights of what it is granted, as its person has. */
const staff = ["account:ada@acme", "account:ben@acme", "account:cleo@acme", "person:ada", "person:ben", "person:cleo"];

type Found = { readonly results: { id?: string; name?: string; type?: string }[]; readonly page?: { next_token: string; count: number } };
const read = async <T>(response: Response): Promise<T> => (await response.json()) as T;
const ids = ({ results }: Found): (string | undefined)[] => results.map((result) => result.id ?? result.name);

const person = (login: string, tenant = "tenant:acme") => ({ type: "identity", id: `person:${login}`, properties: { tenant } });
const view = { name: "view" };
const pageRows = { type: "pages" };
const pepToken = (world: PdpWorld, tenant = "*", scopes: readonly string[] = ["authzen.pep", "authzen.search"], sub = "service:pep") =>
  world.identity.tokenFor({ sub, tenant, scopes, clientId: sub }, testAudiences.pdp);
const serviceToken = (world: PdpWorld) => world.identity.identityOf("gateway").asService(testAudiences.pdp, ["authzen.search"]);
const search = async (world: PdpWorld, path: string, token: string, body: unknown): Promise<Found> => {
  const response = await world.ask(path, token, body);
  assert.equal(response.status, 200, await response.clone().text());
  return read<Found>(response);
};

test("searches find exactly what evaluations permit, in byte order, by subject, resource and action", async () => {
  const world = await shared();
  const token = await pepToken(world);
  const subjects = await search(world, SUBJECT, token, {
    subject: { type: "identity" },
    action: view,
    resource: { type: "pages", id: "people" },
  });
  assert.deepEqual(ids(subjects), staff);
  assert.deepEqual(Object.keys(subjects), ["results"], "no page unless one is asked for or there is more");
  const resources = await search(world, RESOURCE, token, { subject: person("ada"), action: view, resource: pageRows });
  assert.deepEqual(ids(resources), ["my-work", "operations", "people"]);
  assert.deepEqual(ids(await search(world, RESOURCE, token, { subject: person("cleo"), action: view, resource: pageRows })), [
    "my-work",
    "people",
  ]);
  const actions = await search(world, ACTION, token, { subject: person("ben"), resource: { type: "pages", id: "people" } });
  assert.deepEqual(actions.results, [{ name: "view" }, { name: "view_all" }]);

  for (const id of ["my-work", "operations", "people"]) {
    for (const login of ["ada", "ben", "cleo", "dan"]) {
      const asked = { subject: person(login), action: view, resource: { type: "pages", id } };
      const { decision } = await read<EvaluationReply>(await world.ask("/access/v1/evaluation", token, asked));
      const found = await search(world, RESOURCE, token, { ...asked, resource: pageRows });
      assert.equal(ids(found).includes(id), decision, `${login} ${id}`);
    }
  }
});

test("every kind of resource is found by the name that an evaluation takes", async () => {
  const world = await shared();
  const token = await serviceToken(world);
  const what = async (login: string, action: string, type: string) =>
    ids(await search(world, RESOURCE, token, { subject: person(login), action: { name: action }, resource: { type } }));
  assert.deepEqual(await what("ada", "view_all", "pages"), ["*"], "a right to the whole collection has one object");
  assert.deepEqual(await what("dan", "view_all", "pages"), []);
  assert.deepEqual(await what("ben", "revoke", "delegations"), ["delegation:ben-hr", "delegation:ben-old"]);
  assert.deepEqual(await what("ben", "create", "delegations"), ["agent:hr-assistant"]);
  assert.deepEqual(await what("dan", "view", "identities"), ["person:dan"]);
  assert.ok((await what("ben", "tools/call", "tool")).includes("people.demo.list_employees"));
  assert.deepEqual(await what("dan", "tools/call", "tool"), ["system.health"]);
});

test("an id of what is searched is not looked at; what nobody knows finds nothing", async () => {
  const world = await shared();
  const token = await pepToken(world);
  const people = { type: "pages", id: "people" };
  const cases: readonly (readonly [path: string, body: unknown, found: readonly string[]])[] = [
    [SUBJECT, { subject: { type: "identity", id: 7 }, action: view, resource: people }, staff],
    [RESOURCE, { subject: person("cleo"), action: view, resource: { type: "pages", id: "operations" } }, ["my-work", "people"]],
    [SUBJECT, { subject: { type: "spaceship" }, action: view, resource: people }, []],
    [SUBJECT, { subject: { type: "identity" }, action: { name: "fly" }, resource: people }, []],
    [SUBJECT, { subject: { type: "identity" }, action: view, resource: { type: "pages", id: "no-such-page" } }, []],
    [RESOURCE, { subject: { type: "identity", id: "person:nobody" }, action: view, resource: pageRows }, []],
    [RESOURCE, { subject: { type: "spaceship", id: "person:ada" }, action: view, resource: pageRows }, []],
    [RESOURCE, { subject: person("ada"), action: view, resource: { type: "spaceship" } }, []],
    [ACTION, { subject: { type: "identity", id: "person:nobody" }, resource: people }, []],
    [ACTION, { subject: person("ada"), resource: { type: "spaceship", id: "1" } }, []],
  ];
  for (const [path, body, found] of cases) assert.deepEqual(ids(await search(world, path, token, body)), found, JSON.stringify(body));
});

test("what is missing or wrong is 400 problem+json with the request's id, and a scope too few 403", async () => {
  const world = await shared();
  const token = await pepToken(world);
  const people = { type: "pages", id: "people" };
  const whole = { subject: { type: "identity" }, action: view, resource: people };
  const cases: readonly (readonly [path: string, body: unknown, code: string])[] = [
    [SUBJECT, { subject: { type: "identity" }, resource: people }, "invalid_request"],
    [SUBJECT, { action: view, resource: people }, "invalid_request"],
    [SUBJECT, { ...whole, resource: pageRows }, "invalid_request"],
    [SUBJECT, { ...whole, subject: "identity" }, "invalid_request"],
    [RESOURCE, { action: view, resource: pageRows }, "invalid_request"],
    [RESOURCE, { subject: { type: "identity" }, action: view, resource: pageRows }, "invalid_request"],
    [RESOURCE, { subject: person("ada"), resource: pageRows }, "invalid_request"],
    [ACTION, { subject: person("ada") }, "invalid_request"],
    [ACTION, { resource: people }, "invalid_request"],
    [SUBJECT, '{"subject":{"type":"identity","type":"x"}}', "duplicate_member"],
    [SUBJECT, "{", "body_unreadable"],
    [SUBJECT, "", "invalid_request"],
    [SUBJECT, { ...whole, context: { agent: "agent:x" } }, "reserved_context_member"],
    [SUBJECT, { ...whole, context: { could: true } }, "reserved_context_member"],
    ...[0, -1, 1001, 1.5, "7"].map((limit) => [SUBJECT, { ...whole, page: { limit } }, "invalid_request"] as const),
    [SUBJECT, { ...whole, page: { token: "nonsense" } }, "invalid_page_token"],
    [SUBJECT, { ...whole, page: { token: 7 } }, "invalid_request"],
  ];
  for (const [path, body, code] of cases) {
    const response = await world.ask(path, token, body, { "x-request-id": "r-1" });
    assert.equal(response.status, 400, JSON.stringify(body));
    assert.equal(response.headers.get("content-type"), "application/problem+json");
    assert.equal(response.headers.get("x-request-id"), "r-1");
    assert.equal((await read<ProblemBody>(response)).code, code, JSON.stringify(body));
  }
  const pepAlone = await pepToken(world, "*", ["authzen.pep"]);
  assert.equal((await world.ask(SUBJECT, pepAlone, whole)).status, 403, "who may is asked with authzen.search alone");
  assert.equal((await world.ask(RESOURCE, pepAlone, { subject: person("ada"), action: view, resource: pageRows })).status, 200);
  assert.equal((await world.ask(SUBJECT, await world.personToken("ada"), whole)).status, 403);
  const without = await world.ask(SUBJECT, undefined, whole);
  assert.deepEqual([without.status, without.headers.get("www-authenticate")?.startsWith("Bearer")], [401, true]);
});

test("a token's tenant bounds what is found: nobody and nothing of another tenant", async () => {
  const world = await shared();
  const globex = await pepToken(world, "tenant:globex");
  const whoIs = { subject: { type: "identity" }, action: { name: "view_all" }, resource: { type: "pages", id: "*" } };
  assert.deepEqual(ids(await search(world, SUBJECT, globex, whoIs)), ["account:eve@globex", "person:eve"]);
  assert.ok(!ids(await search(world, SUBJECT, await pepToken(world, "tenant:acme"), whoIs)).includes("person:eve"));
  assert.deepEqual(ids(await search(world, RESOURCE, globex, { subject: person("ben"), action: view, resource: pageRows })), []);
  const bounded = await search(world, SUBJECT, await serviceToken(world), {
    ...whoIs,
    subject: { type: "identity", properties: { tenant: "tenant:globex" } },
  });
  assert.deepEqual(ids(bounded), ["account:eve@globex", "person:eve"], "a service of Sallyport names the tenant that it searches in");
});

test("pages follow one another without a gap or a repeat, and say where they end", async () => {
  const world = await shared();
  const token = await pepToken(world);
  const question = { subject: person("ada"), action: view, resource: { type: "identities" } };
  const all = ids(await search(world, RESOURCE, token, question));
  assert.ok(all.length > 8);
  for (const limit of [1, 7, all.length - 1, all.length, 1000]) {
    const seen: (string | undefined)[] = [];
    let page: object = { limit };
    for (let round = 0; round <= all.length; round += 1) {
      const found = await search(world, RESOURCE, token, { ...question, page });
      seen.push(...ids(found));
      assert.equal(found.page?.count, found.results.length);
      if (found.page?.next_token === "") break;
      assert.equal(found.results.length, limit);
      page = { token: found.page?.next_token };
    }
    assert.deepEqual(seen, all, `${limit} a page`);
  }
});

test("7 a page over 60 published pages among 450: no gap, no repeat, byte order, across every chunk of candidates", async (t) => {
  const world = await pdpWorld(t);
  const token = await pepToken(world);
  const starts = ["A", "Z", "_", "a", "z", "\u00e9", "\u8a9e", "\uffee", "\u{1f600}"];
  const drafts = Array.from({ length: 450 }, (_none, index) => ({
    id: `resource:acme.pages.many-${index}`,
    kind: "Resource" as const,
    name: `Page ${index}`,
    system: "sallyport",
    tenant_id: "tenant:acme",
    external_id: `${starts[index % starts.length]}-${(index * 7919) % 450}`,
    props: { type: "pages" },
  }));
  // A stretch without any in the middle, longer than a chunk; both its ends are published.
  const inOrder = drafts.toSorted((one, other) => Buffer.compare(Buffer.from(one.external_id), Buffer.from(other.external_id)));
  const published = inOrder.filter((_draft, at) => (at < 90 && at % 3 === 0) || (at > 330 && at % 4 === 3));
  assert.equal(published.length, 60);
  await world.world.put(...drafts);
  const edge = (dst: string) => ({ kind: "GRANTS_ACCESS" as const, src: "person:dan", dst });
  await world.world.put(...published.map(({ id }) => edge(id)));
  const wanted = published.map((draft) => draft.external_id);
  const question = { subject: person("dan"), action: view, resource: pageRows };
  for (const limit of [7, 59, 60, 61]) {
    const seen: (string | undefined)[] = [];
    let page: object = { limit };
    for (let round = 0; round <= wanted.length; round += 1) {
      const found = await search(world, RESOURCE, token, { ...question, page });
      seen.push(...ids(found));
      assert.equal(found.page?.count, found.results.length);
      if (found.page?.next_token === "") break;
      assert.equal(found.results.length, limit, "only the last page is shorter");
      page = { token: found.page?.next_token };
    }
    assert.deepEqual(seen, wanted, `${limit} a page`);
  }
});

test("a page looks at so many candidates and no more; the next goes on behind them", async (t) => {
  const world = await pepWorldOf(t, { PDP_SEARCH_MAX_CANDIDATES: "2" });
  const token = await pepToken(world);
  const question = { subject: { type: "identity" }, action: { name: "view_all" }, resource: { type: "policies", id: "*" } };
  let found = await search(world, SUBJECT, token, { ...question, action: view });
  const seen = [...ids(found)];
  let pages = 1;
  for (; (found.page?.next_token ?? "") !== ""; pages += 1) {
    assert.ok(found.results.length <= 2);
    found = await search(world, SUBJECT, token, { ...question, action: view, page: { token: found.page?.next_token } });
    seen.push(...ids(found));
  }
  assert.deepEqual(seen, ["account:ada@acme", "person:ada"]);
  assert.ok(pages > 3, "empty pages lead on");
});

const pepWorldOf = (t: Parameters<typeof pdpWorld>[0], settings: Readonly<Record<string, string>>) => pdpWorld(t, { settings });

test("a page token is good for one question of one caller, for ten minutes, unaltered", async (t) => {
  const world = await pdpWorld(t);
  const token = await pepToken(world);
  const question = { subject: person("ada"), action: view, resource: { type: "identities" } };
  const first = await search(world, RESOURCE, token, { ...question, page: { limit: 2 } });
  const next = first.page?.next_token ?? "";
  assert.ok(next.length > 20 && !Buffer.from(next, "base64url").toString("latin1").includes("person"), "sealed");
  const flipped = next.at(-2) === "A" ? "B" : "A";
  const other = await pepToken(world, "*", ["authzen.pep", "authzen.search"], "service:other");
  const otherTenant = await pepToken(world, "tenant:acme");
  const cases: readonly (readonly [name: string, path: string, token: string, body: object])[] = [
    ["altered", RESOURCE, token, { ...question, page: { token: `${next.slice(0, -2)}${flipped}${next.slice(-1)}` } }],
    ["cut", RESOURCE, token, { ...question, page: { token: next.slice(0, -4) } }],
    ["another limit", RESOURCE, token, { ...question, page: { token: next, limit: 3 } }],
    ["another caller", RESOURCE, other, { ...question, page: { token: next } }],
    ["another tenant", RESOURCE, otherTenant, { ...question, page: { token: next } }],
    ["another subject", RESOURCE, token, { ...question, subject: person("ben"), page: { token: next } }],
    ["another action", RESOURCE, token, { ...question, action: { name: "view_all" }, page: { token: next } }],
    ["another context", RESOURCE, token, { ...question, context: { a: 1 }, page: { token: next } }],
    ["another search", ACTION, token, { subject: question.subject, resource: { type: "identities", id: "x" }, page: { token: next } }],
  ];
  for (const [name, path, who, body] of cases) {
    const response = await world.ask(path, who, body);
    assert.deepEqual([response.status, (await read<ProblemBody>(response)).code], [400, "invalid_page_token"], name);
  }
  for (const page of [{ token: next }, { token: next, limit: 2 }])
    assert.equal((await search(world, RESOURCE, token, { ...question, page })).results.length, 2);
  world.clock.now = new Date(world.clock.now.getTime() + 601_000);
  const later = await pepToken(world);
  const expired = await world.ask(RESOURCE, later, { ...question, page: { token: next } });
  assert.equal((await read<ProblemBody>(expired)).code, "invalid_page_token");
});

test("a right that ends between two pages is gone from the later ones, without an error", async (t) => {
  const world = await pdpWorld(t);
  const token = await pepToken(world);
  const question = { subject: person("ada"), action: view, resource: pageRows, page: { limit: 1 } };
  const first = await search(world, RESOURCE, token, question);
  assert.deepEqual(ids(first), ["my-work"]);
  await world.world.sql("delete from membership.edge where kind = 'GRANTS_ACCESS' and dst = 'resource:acme.pages.operations'");
  const second = await search(world, RESOURCE, token, { ...question, page: { token: first.page?.next_token } });
  assert.deepEqual([ids(second), second.page?.next_token], [["people"], ""]);
});
