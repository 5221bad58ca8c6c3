import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test, type TestContext } from "node:test";
import { sharedDatabase, testGateway, type TestGatewayOptions } from "#testing/gateway.ts";
import { sharedPdpWorld } from "#testing/pdp.ts";

const database = sharedDatabase();
const shared = sharedPdpWorld();
const routes = await readFile(new URL("../../../config/routes.yaml", import.meta.url), "utf8");

const SINGLE = "/access/v1/evaluation";
const BATCH = "/access/v1/evaluations";
const SEARCH = "/access/v1/search/action";

type Answer = {
  readonly code?: string;
  readonly decision?: boolean;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
  readonly evaluations?: readonly { readonly decision: boolean; readonly context?: { readonly error?: { readonly message: string } } }[];
};

/** One enforcement point with its token for the gateway and for the decision point behind it. */
const open = async (t: TestContext, options: TestGatewayOptions = {}) => {
  const point = await shared();
  const made = await testGateway(t, {
    database: await database(),
    identity: point.identity,
    peers: { pdp: (request) => point.service.fetch(request) },
    ...options,
  });
  const token = await made.identity.tokenFor({
    sub: "service:pep",
    tenant: "*",
    scopes: ["authzen.pep", "authzen.search"],
    clientId: "service:pep",
  });
  const pep = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const session = (await made.signIn("person:ben")).headers;
  const read = async (response: Response) => ({
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer,
  });
  const post = async (
    path: string,
    headers: Readonly<Record<string, string>>,
    body: unknown,
    more: Readonly<Record<string, string>> = {},
  ) =>
    read(
      await made.fetch(path, {
        method: "POST",
        headers: { ...headers, ...more },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    );
  const direct = async (path: string, body: unknown) => read(await point.ask(path, token, body));
  return { made, pep, session, post, direct };
};

const ben = { type: "identity", id: "person:ben", properties: { tenant: "tenant:acme" } };
const pages = { type: "pages", id: "*" };
const item = { subject: ben, action: { name: "view_all" }, resource: pages };
const own = { action: { name: "view_all" }, resource: { type: "pages" } };

test("an enforcement point hears the same from the gateway as from the decision point itself", async (t) => {
  const { post, pep, direct } = await open(t);
  const cases: readonly (readonly [what: string, path: string, body: unknown, status: number])[] = [
    ["a key that is a number", SINGLE, { ...item, key: 5 }, 200],
    ["an empty key", SINGLE, { ...item, key: "" }, 200],
    ["a key of 300 characters", SINGLE, { ...item, key: "k".repeat(300) }, 200],
    ["a key that is an object", SINGLE, { ...item, key: { a: [null] } }, 200],
    [
      "an odd key in an item",
      BATCH,
      {
        evaluations: [
          { ...item, key: 5 },
          { ...item, key: "" },
        ],
      },
      200,
    ],
    [
      "equal keys",
      BATCH,
      {
        evaluations: [
          { ...item, key: "a" },
          { ...item, key: "a" },
        ],
      },
      200,
    ],
    ["a batch without items", BATCH, item, 200],
    ["one with none", BATCH, { ...item, evaluations: [] }, 200],
    ["one with an odd key", BATCH, { ...item, key: 5 }, 200],
    ["evaluations of null", BATCH, { ...item, evaluations: null }, 400],
    ["evaluations by key", BATCH, { ...item, evaluations: { a: item } }, 400],
    ["evaluations of text", BATCH, { ...item, evaluations: "all" }, 400],
    ["options of -1", BATCH, { ...item, options: -1 }, 400],
    ["options of -1 beside items", BATCH, { evaluations: [item], options: -1 }, 400],
    ["options of null", BATCH, { ...item, options: null }, 400],
    ["an unknown semantic without items", BATCH, { ...item, options: { evaluations_semantic: "any" } }, 400],
    ["evaluations and options at the single call", SINGLE, { ...item, evaluations: null, options: -1 }, 200],
    ["no subject", BATCH, { action: item.action, resource: pages }, 400],
  ];
  for (const [what, path, body, status] of cases) {
    const here = await post(path, pep, body);
    const there = await direct(path, body);
    assert.deepEqual([here.status, there.status], [status, status], what);
    assert.equal(here.body.code, there.body.code, what);
    assert.deepEqual(here.body.errors, there.body.errors, what);
    assert.equal(here.body.decision, there.body.decision, what);
    assert.deepEqual(
      here.body.evaluations?.map((one) => one.decision),
      there.body.evaluations?.map((one) => one.decision),
      what,
    );
  }
});

const kib = (n: number): string => "x".repeat(n * 1024);
const tooLarge = "holds more than 16384 bytes of properties and context";

test("17 KiB of properties and context are too large for one item, whoever asks, and are said to be", async (t) => {
  const { post, pep, session } = await open(t);
  const large: readonly (readonly [what: string, more: object])[] = [
    ["context", { context: { ui: kib(17) } }],
    ["properties of the resource", { resource: { type: "pages", properties: { x: kib(17) } } }],
    ["properties of the action", { action: { name: "view_all", properties: { x: kib(17) } } }],
    ["both together", { action: { name: "view_all", properties: { x: kib(9) } }, context: { ui: kib(9) } }],
  ];
  for (const [what, more] of large) {
    for (const [headers, body] of [
      [session, { ...own, ...more }],
      [pep, { ...item, ...more }],
    ] as const) {
      const single = await post(SINGLE, headers, body);
      assert.deepEqual(
        [single.status, single.body.code, single.body.errors],
        [400, "invalid_request", [{ path: "", message: tooLarge }]],
        what,
      );
    }
    const batch = await post(BATCH, pep, { evaluations: [item, { ...item, ...more }] });
    assert.deepEqual([batch.status, batch.body.errors], [400, [{ path: "/evaluations/1", message: tooLarge }]], what);
    const placed = await post(BATCH, session, { evaluations: [own, { ...own, ...more }] });
    assert.deepEqual(
      placed.body.evaluations?.map(({ decision, context }) => [decision, context?.error?.message]),
      [
        [true, undefined],
        [false, tooLarge],
      ],
      what,
    );
  }
  const claimed = { ...item, subject: { ...ben, properties: { ...ben.properties, x: kib(17) } } };
  assert.equal((await post(SINGLE, pep, claimed)).status, 400);
  const byDefault = await post(BATCH, pep, { context: { ui: kib(17) }, evaluations: [{ ...item, context: {} }, item] });
  assert.deepEqual(byDefault.body.errors, [{ path: "/evaluations/1", message: tooLarge }], "a default counts where it holds");
  for (const [headers, body] of [
    [session, { resource: { type: "pages", id: "people", properties: { x: kib(17) } } }],
    [pep, { subject: ben, resource: { type: "pages", id: "people" }, context: { ui: kib(17) } }],
  ] as const) {
    const search = await post(SEARCH, headers, body);
    assert.deepEqual([search.status, search.body.errors], [400, [{ path: "", message: tooLarge }]]);
  }
  assert.equal((await post(SINGLE, pep, { ...item, context: { ui: kib(15) } })).status, 200);
  assert.equal((await post(SINGLE, session, { ...own, context: { ui: kib(15) } })).status, 200);
});

test("the limits of an evaluation call are those of the settings, for everybody", async (t) => {
  const deep = (depth: number): unknown => (depth === 0 ? 1 : { a: deep(depth - 1) });
  const { post, pep, session } = await open(t, {
    settings: { AUTHZ_BATCH_MAX_ITEMS: "3", AUTHZ_MAX_BODY_BYTES: "2048", AUTHZ_MAX_DEPTH: "8", AUTHZ_MAX_ITEM_BYTES: "512" },
  });
  for (const [headers, one] of [
    [session, own],
    [pep, item],
  ] as const) {
    const many = (count: number) => post(BATCH, headers, { evaluations: Array.from({ length: count }, () => one) });
    assert.equal((await many(3)).status, 200);
    const over = await many(4);
    assert.deepEqual([over.status, over.body.code], [413, "too_many_evaluations"]);
    const padded = (bytes: number) => post(SINGLE, headers, JSON.stringify(one).padEnd(bytes));
    assert.equal((await padded(2048)).status, 200);
    const long = await padded(2049);
    assert.deepEqual([long.status, long.body.code], [413, "body_too_large"]);
    assert.equal((await post(SINGLE, headers, { ...one, context: deep(7) })).status, 200);
    const nested = await post(SINGLE, headers, { ...one, context: deep(8) });
    assert.deepEqual([nested.status, nested.body.code], [400, "body_unreadable"]);
    const large = await post(SINGLE, headers, { ...one, context: { ui: "x".repeat(600) } });
    assert.deepEqual([large.status, large.body.code], [400, "invalid_request"]);
  }
});

test("a row's own body limit holds for what the gateway answers itself, where it is the smaller one", async (t) => {
  const table = routes.replaceAll("body_limit: 262144", "body_limit: 1024");
  assert.notEqual(table, routes);
  const { post, pep, session, made } = await open(t, { routes: table });
  for (const [headers, one] of [
    [session, own],
    [pep, item],
  ] as const)
    for (const path of [SINGLE, BATCH, "/api/pdp/evaluation", SEARCH]) {
      const body = JSON.stringify(
        path === SEARCH ? { ...("subject" in one ? { subject: ben } : {}), resource: { type: "pages", id: "people" } } : one,
      );
      assert.equal((await post(path, headers, body.padEnd(1024))).status, 200, path);
      const long = await post(path, headers, body.padEnd(1025));
      assert.deepEqual([long.status, long.body.code], [413, "body_too_large"], path);
      const chunked = await made.fetch(path, {
        method: "POST",
        headers,
        body: new Blob([body.padEnd(1025)]).stream(),
        duplex: "half",
      } as RequestInit);
      assert.equal(chunked.status, 413, `${path} in pieces`);
    }
});

test("a body that is encoded is refused for that at the gateway and at the decision point, and only JSON is taken for JSON", async (t) => {
  const { post, pep, session, made } = await open(t);
  const point = await shared();
  const token = pep.authorization.slice("Bearer ".length);
  const ada = await point.personToken("ada", { acr: "strong" });
  for (const encoding of ["gzip", "deflate", "br", "identity, gzip", "x"]) {
    const answers = [
      await post(SINGLE, session, own, { "content-encoding": encoding }),
      await post(BATCH, pep, { evaluations: [item] }, { "content-encoding": encoding }),
      await post(SEARCH, pep, { subject: ben, resource: { type: "pages", id: "people" } }, { "content-encoding": encoding }),
    ];
    for (const [path, bearer, body] of [
      [SINGLE, token, item],
      [BATCH, token, { evaluations: [item] }],
      ["/access/v1/policies/validate", ada, {}],
    ] as const) {
      const response = await point.ask(path, bearer, body, { "content-encoding": encoding });
      answers.push({ status: response.status, headers: response.headers, body: (await response.json()) as Answer });
    }
    for (const { status, headers, body } of answers)
      assert.deepEqual([status, body.code, headers.get("accept-encoding")], [415, "unsupported_media_type", "identity"], encoding);
    const token_ = await made.fetch("/oauth/token", {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", "content-encoding": encoding },
      body: "grant_type=client_credentials",
    });
    assert.equal(token_.status, 415, encoding);
  }
  assert.equal((await post(SINGLE, session, own, { "content-encoding": "Identity" })).status, 200);
  assert.equal((await point.ask(SINGLE, token, item, { "content-encoding": "identity" })).status, 200);
  for (const type of ["application/problem+json", "application/authzen+json", "application/json; charset=latin1", "text/json"])
    assert.equal((await point.ask(SINGLE, token, JSON.stringify(item), { "content-type": type })).status, 400, type);
  assert.equal((await point.ask(SINGLE, token, JSON.stringify(item), { "content-type": "application/json; charset=utf-8" })).status, 200);
});

test("what is not sent as JSON is 400 to an enforcement point, at the gateway as at the decision point; to everybody else it is 415", async (t) => {
  const { post, pep, session, made } = await open(t);
  const point = await shared();
  const self = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] });
  for (const type of ["text/plain", "application/json; charset=latin1", "application/authzen+json", "text/json", ""])
    for (const [path, body, own_] of [
      [SINGLE, item, own],
      [BATCH, { evaluations: [item] }, { evaluations: [own] }],
      ["/api/pdp/evaluation", item, own],
      [SEARCH, { subject: ben, resource: { type: "pages", id: "people" } }, { resource: { type: "pages", id: "people" } }],
    ] as const) {
      const sent = { "content-type": type };
      const what = `${path} ${type}`;
      const here = await post(path, pep, body, sent);
      assert.deepEqual([here.status, here.body.code], [400, "invalid_request"], what);
      if (path.startsWith("/access")) {
        const there = await point.ask(path, pep.authorization.slice("Bearer ".length), JSON.stringify(body), sent);
        assert.equal(there.status, 400, what);
      }
      for (const headers of [session, { authorization: `Bearer ${self}` }]) {
        const other = await post(path, headers, own_, sent);
        assert.deepEqual([other.status, other.body.code], [415, "unsupported_media_type"], what);
      }
    }
});
