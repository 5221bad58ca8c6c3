import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { problemCodes, type ProblemCode } from "#contract/problem.ts";
import type { Database } from "#store/database.ts";
import { testAudiences } from "./identity.ts";
import {
  decidingPeer,
  rawExchange,
  recordingPeer,
  testGateway,
  type RawExchange,
  type Recorder,
  type SignedInBrowser,
  type TestGateway,
  type TestGatewayOptions,
} from "./gateway.ts";

const mapping = "{ resource: pages, action: view_all }";

/** One row of every kind: `/public/*` none, `/admin/*` session and decision, `/api/t/*` session, `/api/b/*` bearer, and streams. */
export const attackRoutes = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
  pdp: { base_urls: ["\${PDP_SERVICE_URL}"], audience: "\${PDP_AUDIENCE}" }
routes:
  - { id: public, path: /public/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST, PUT, DELETE], auth: none, authz: none }
  - { id: admin, path: /admin/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST, DELETE], auth: session, authz: pdp, authz_map: { GET: ${mapping}, POST: ${mapping}, DELETE: ${mapping} } }
  - { id: tenant, path: /api/t/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST, DELETE], auth: session, authz: none }
  - { id: token, path: /api/b/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST, DELETE], auth: bearer, authz: none }
  - { id: events, path: /events/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: session, authz: pdp, streaming: true, authz_map: { GET: { resource: streams, action: config } } }
  - { id: access.evaluation, path: /access/v1/evaluation, target_service: internal, methods: [POST], auth: session, authz: none }
  - { id: access.evaluations, path: /access/v1/evaluations, target_service: internal, methods: [POST], auth: session, authz: none }
  - { id: encoded, path: /encoded/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: none, authz: none, allow_encoded: ["%2F"] }
  - { id: semicolon, path: /semicolon/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: none, authz: none, allow_encoded: [";"] }
`;

export interface AttackWorld {
  readonly made: TestGateway;
  readonly port: number;
  /** U: writes down what reaches it. */
  readonly upstream: Recorder;
  readonly pdp: Recorder;
  readonly ben: SignedInBrowser;
  /** A bearer token of Ben's. */
  readonly token: string;
}

export interface AttackOptions extends TestGatewayOptions {
  /** Address of a real server that stands for U. */
  readonly upstreamUrl?: string;
  /** The table that ships, in place of the rows above. */
  readonly shippedRoutes?: boolean;
}

/** The gateway over the rows above on a free port, with U behind it, and Ben signed in. */
export const attackWorld = async (t: TestContext, database: Database, options: AttackOptions = {}): Promise<AttackWorld> => {
  const upstream = recordingPeer();
  const pdp = decidingPeer(() => true);
  const { upstreamUrl, shippedRoutes, ...given } = options;
  const elsewhere = upstreamUrl === undefined ? {} : { serviceUrls: { ...testAudiences, crud: upstreamUrl } };
  const made = await testGateway(t, {
    database,
    ...(shippedRoutes === true ? {} : { routes: attackRoutes }),
    ...given,
    peers: { ...(upstreamUrl === undefined ? { crud: upstream.peer } : {}), pdp: pdp.peer, ...options.peers },
    parts: { ...elsewhere, ...options.parts },
  });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const ben = await made.signIn("person:ben");
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [], clientId: "sallyport-web" });
  return { made, port, upstream, pdp, ben, token };
};

export const HOST = "Host: localhost:8080\r\n";
export const JSON_TYPE = "Content-Type: application/json\r\n";

/** A request by hand; `more` are whole header lines. In all of them `<S>` becomes Ben's cookie, `<C>` his cookie and CSRF headers, `<T>` his token. */
export const rawRequest = (method: string, target: string, more = "", body = ""): string =>
  `${method} ${target} HTTP/1.1\r\n${HOST}${more}\r\n${body}`;
export const rawGet = (target: string, more = ""): string => rawRequest("GET", target, more);
export const rawPost = (target: string, more: string, body: string): string => rawRequest("POST", target, more, body);
/** With its length. */
export const rawJson = (target: string, more: string, body: string): string =>
  rawPost(target, `${more}${JSON_TYPE}Content-Length: ${Buffer.byteLength(body)}\r\n`, body);

/** The kinds of rows, and the credential that each takes. */
export const rowKinds = [
  { row: "/public/", credential: "" },
  { row: "/admin/", credential: "<S>" },
  { row: "/api/t/", credential: "<S>" },
  { row: "/api/b/", credential: "<T>" },
] as const;

export interface Attack {
  readonly name: string;
  readonly bytes: string | readonly string[];
  /** A refusal's code (U stays silent), the path that U must have seen, or a status. */
  readonly expected: ProblemCode | { readonly sees: string } | { readonly status: number };
  /** The connection ends, and nothing behind the request was read. */
  readonly closes?: boolean;
}

/** The same attack on a row of every kind. */
export const onEveryRow = (make: (row: string, credential: string) => Attack): readonly Attack[] =>
  rowKinds.map(({ row, credential }) => {
    const attack = make(row, credential);
    return { ...attack, name: `${attack.name} on ${row}*` };
  });

const fill = (world: AttackWorld, bytes: string): string => {
  const { "content-type": _type, ...headers } = world.ben.headers;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return bytes
    .replaceAll("<S>", `Cookie: ${world.ben.cookie.cookie}\r\n`)
    .replaceAll("<C>", lines.join(""))
    .replaceAll("<T>", `Authorization: Bearer ${world.token}\r\n`);
};

/** Sends bytes as they are; see `rawExchange`. */
export const send = (world: AttackWorld, bytes: string | readonly string[], answers = 1): Promise<RawExchange> =>
  rawExchange(world.port, typeof bytes === "string" ? fill(world, bytes) : bytes.map((part) => fill(world, part)), answers);

/** Status, code and body of the one answer. */
export const answerTo = async (world: AttackWorld, bytes: string | readonly string[]) => {
  const exchange = await send(world, bytes);
  const answer = exchange.answers.find((one) => one.status !== 100);
  assert.ok(answer, `an answer: ${exchange.text}`);
  const isProblem = answer.headers.get("content-type") === "application/problem+json";
  const body = isProblem ? (JSON.parse(answer.body) as Record<string, unknown> & { code: string }) : undefined;
  return { ...answer, code: body?.code, problem: body, closed: exchange.closed };
};

/** A problem answers as its code says: the table says the status and the body repeats it. */
const assertRefusal = (status: number, body: string, code: ProblemCode): void => {
  const problem = JSON.parse(body) as { code: string; status: number };
  assert.deepEqual([problem.code, status, problem.status], [code, problemCodes[code].status, status]);
};

/** Runs each attack as a test of its own. */
export const runAttacks = async (t: TestContext, world: AttackWorld, attacks: readonly Attack[]): Promise<void> => {
  for (const attack of attacks)
    await t.test(attack.name, async () => {
      world.upstream.seen.length = 0;
      const exchange = await send(world, attack.bytes);
      const [answer, ...others] = exchange.answers.filter((one) => one.status !== 100);
      assert.ok(answer, `an answer: ${exchange.text}`);
      assert.ok(answer.headers.get("x-correlation-id"));
      if (typeof attack.expected === "string") {
        assertRefusal(answer.status, answer.body, attack.expected);
        assert.deepEqual(world.upstream.seen, [], "the upstream is silent on a refusal");
      } else if ("sees" in attack.expected) {
        assert.equal(answer.status, 200, answer.body);
        assert.deepEqual(
          world.upstream.seen.map((seen) => seen.path),
          [attack.expected.sees],
        );
      } else assert.equal(answer.status, attack.expected.status);
      if (attack.closes !== true) return;
      assert.ok(exchange.closed, "the connection is closed");
      assert.equal(answer.headers.get("connection"), "close");
      assert.deepEqual(others, [], "no second request is read");
    });
};
