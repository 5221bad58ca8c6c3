import assert from "node:assert/strict";
import { test } from "node:test";
import { metricTable, type MetricRow } from "#telemetry/metrics.ts";
import { sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();
type Body = Record<string, unknown> & { code?: string; errors?: { path: string; message: string }[] };
const read = async (response: Response) => ({ status: response.status, body: (await response.json()) as Body, headers: response.headers });

test("every metric of the contract is there from the start, on both paths", async (t) => {
  const made = await testGateway(t, { database: await database() });
  for (const path of ["/metrics", "/api/v1/metrics"]) {
    const response = await made.fetch(path);
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^text\/plain|^application\/openmetrics-text/);
    const text = await response.text();
    const shown = Object.entries<MetricRow>(metricTable).flatMap(([name, row]) => (row.otlp === "only" ? [] : [name]));
    for (const name of shown.filter((each) => /^(?:http_|bff_|circuit_)/.test(each)))
      assert.match(text, new RegExp(`^# TYPE ${name.replace(/_total$/, "(?:_total)?")} `, "m"), name);
  }
});

test("metrics are for this machine, for listed networks, or for a token with the scope", async (t) => {
  const made = await testGateway(t, { database: await database(), settings: { METRICS_ALLOW: "127.0.0.0/8" } });
  const closed = await testGateway(t, { database: await database() });
  const token = (scopes: readonly string[]) =>
    closed.identity.tokenFor({ sub: "service:monitor", tenant: "tenant:acme", scopes, clientId: "service:monitor" });
  const status = async (at: typeof made, headers: Readonly<Record<string, string>>) => (await at.fetch("/metrics", { headers })).status;
  assert.equal(await status(closed, {}), 200);
  const foreign: readonly Readonly<Record<string, string>>[] = [
    { host: "app.example" },
    { "x-forwarded-for": "10.0.0.1" },
    { forwarded: "for=10.0.0.1" },
    { via: "1.1 x" },
  ];
  for (const headers of foreign) assert.equal(await status(closed, headers), 403, JSON.stringify(headers));
  assert.equal(await status(made, { host: "app.example" }), 200);
  assert.equal(await status(made, { host: "app.example", "x-forwarded-for": "10.0.0.1" }), 403);
  assert.equal(await status(closed, { host: "app.example", authorization: `Bearer ${await token(["metrics.read"])}` }), 200);
  assert.equal(await status(closed, { host: "app.example", authorization: `Bearer ${await token(["mcp.tools.invoke"])}` }), 403);
  assert.equal(await status(closed, { host: "app.example", authorization: "Bearer x" }), 401);
});

const post = { method: "POST", headers: { "content-type": "application/json" } };

test("client metrics are counted, all of a call or nothing", async (t) => {
  const made = await testGateway(t, { database: await database() });
  const send = async (body: unknown, headers: Readonly<Record<string, string>> = post.headers) =>
    read(await made.fetch("/api/v1/metrics", { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) }));
  assert.deepEqual(
    await send({ event: "web_vital_lcp", value: 1200, attributes: { route: "/tools", rating: "good" } }).then(({ status, body }) => [
      status,
      body,
    ]),
    [202, { accepted: 1 }],
  );
  assert.equal(
    (
      await send({
        events: [{ event: "stream_reconnect" }, { event: "csp_violation", attributes: { directive: "script-src", path: "/tools" } }],
      })
    ).body["accepted"],
    2,
  );
  assert.equal(await made.counted("bff_public_metrics_total", { event: "web_vital_lcp" }), 1);
  const refused: readonly (readonly [what: string, body: unknown, status: number, code: string])[] = [
    ["no event", {}, 422, "invalid_body"],
    ["an unknown member", { event: "a", user: 1 }, 422, "invalid_body"],
    ["a bad name", { event: "A b" }, 422, "invalid_body"],
    ["10 KB of name", { event: "a".repeat(10_000) }, 422, "invalid_body"],
    ["51 events", { events: Array.from({ length: 51 }, () => ({ event: "a" })) }, 422, "invalid_body"],
    ["no events", { events: [] }, 422, "invalid_body"],
    [
      "21 attributes",
      { event: "a", attributes: Object.fromEntries(Array.from({ length: 21 }, (_one, index) => [`a${index}`, 1])) },
      422,
      "invalid_body",
    ],
    ["attributes nested 5 deep", { event: "a", attributes: { a: { b: { c: { d: { e: 1 } } } } } }, 422, "invalid_body"],
    ["a long text", { event: "a", attributes: { a: "x".repeat(257) } }, 422, "invalid_body"],
    ["16 KiB and more", { event: "a", attributes: { a: "x".repeat(17_000) } }, 413, "body_too_large"],
    ["no JSON", "event=a", 400, "body_unreadable"],
    ["a repeated member", '{"event":"a","event":"b"}', 400, "duplicate_member"],
  ];
  for (const [what, body, status, code] of refused) {
    const answer = await send(body);
    assert.deepEqual([answer.status, answer.body.code], [status, code], what);
  }
  assert.equal((await send({ event: "a" }, { "content-type": "text/plain" })).status, 415);
  assert.equal((await send({ event: "a" }, { ...post.headers, "sec-fetch-site": "cross-site" })).status, 403);
  assert.equal(await made.counted("bff_public_metrics_total", { event: "a" }), 0, "nothing of a refused call is counted");
});

test("what names or looks like a secret, a contact or a person is refused, with its place and never its value", async (t) => {
  const made = await testGateway(t, { database: await database() });
  const bodies: readonly (readonly [what: string, body: string, path: string])[] = [
    ["an escaped key", '{"event":"a","attributes":{"pass\\u0077ord":"x"}}', "/attributes/password"],
    ["a nested key", '{"event":"a","attributes":{"a":{"b":{"userToken":1}}}}', "/attributes/a/b/userToken"],
    ["a key in an array", '{"event":"a","attributes":{"a":[{"e-mail":"x"}]}}', "/attributes/a/0/e-mail"],
    [
      "fullwidth letters",
      '{"event":"a","attributes":{"\uff33\uff25\uff23\uff32\uff25\uff34":"x"}}',
      "/attributes/\uff33\uff25\uff23\uff32\uff25\uff34",
    ],
    ["a key in capitals and signs", '{"event":"a","attributes":{"API_KEY":"x"}}', "/attributes/API_KEY"],
    ["a short key", '{"event":"a","attributes":{"Name":"x"}}', "/attributes/Name"],
    ["an e-mail address", '{"event":"a","attributes":{"note":"write to ben@acme.example"}}', "/attributes/note"],
    ["a JWT", '{"event":"a","attributes":{"note":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x"}}', "/attributes/note"],
    ["a bearer credential", '{"event":"a","attributes":{"note":"Bearer abcdefgh12345"}}', "/attributes/note"],
    ["a key file", '{"event":"a","attributes":{"note":"-----BEGIN PRIVATE KEY-----"}}', "/attributes/note"],
    ["a card number", '{"event":"a","attributes":{"note":"paid with 4111 1111 1111 1111"}}', "/attributes/note"],
    ["one of many", '{"events":[{"event":"a"},{"event":"b","attributes":{"phone":"1"}}]}', "/events/1/attributes/phone"],
  ];
  for (const [what, body, path] of bodies) {
    const answer = await read(await made.fetch("/api/v1/metrics", { ...post, body }));
    assert.deepEqual(
      [answer.status, answer.body.code, answer.body.errors?.map((issue) => issue.path)],
      [422, "sensitive_key", [path]],
      what,
    );
    assert.ok(!JSON.stringify(answer.body).includes("acme.example"));
  }
  const harmless = await read(
    await made.fetch("/api/v1/metrics", {
      ...post,
      body: '{"event":"a","attributes":{"duration_ms":1234567890123,"page":"/tools","filename":"a.js","passed":true,"count":"1234567890"}}',
    }),
  );
  assert.equal(harmless.status, 202, JSON.stringify(harmless.body));
});

test("client metrics add at most a hundred series", async (t) => {
  const made = await testGateway(t, { database: await database() });
  for (let batch = 0; batch < 5; batch++)
    await made.fetch("/api/v1/metrics", {
      ...post,
      body: JSON.stringify({ events: Array.from({ length: 50 }, (_one, index) => ({ event: `e${batch}_${index}` })) }),
    });
  const series = (await made.metrics.text()).split("\n").filter((line) => line.startsWith("bff_public_metrics_total{"));
  assert.equal(series.length, 101);
  assert.equal(await made.counted("bff_public_metrics_total", { event: "other" }), 150);
});

test("well-known documents name this deployment under the origin addressed", async (t) => {
  const made = await testGateway(t, { database: await database() });
  const jwks = await read(await made.fetch("/.well-known/sallyport-jwks.json"));
  assert.ok(Array.isArray(jwks.body["keys"]));
  assert.ok(!JSON.stringify(jwks.body).includes('"d"'), "public parts alone");
  const view = await read(await made.gateway.fetch(new Request("http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp/people")));
  assert.equal(view.body["resource"], "http://127.0.0.1:8080/mcp/people");
});

test("the token endpoint gets the client's form and proof, and nothing of a session", async (t) => {
  const seen: { authorization: string | null; cookie: string | null; body: string }[] = [];
  const made = await testGateway(t, {
    database: await database(),
    parts: {
      tokenExchange: async (request) => {
        seen.push({
          authorization: request.headers.get("authorization"),
          cookie: request.headers.get("cookie"),
          body: await request.text(),
        });
        return Response.json({ access_token: "t" }, { headers: { "cache-control": "no-store" } });
      },
    },
  });
  const ben = await made.signIn("person:ben");
  const response = await made.fetch("/oauth/token", {
    method: "POST",
    headers: { ...ben.cookie, authorization: "Basic YTpi", "content-type": "application/x-www-form-urlencoded" },
    body: "grant_type=x",
  });
  assert.equal(response.status, 200);
  assert.deepEqual(seen, [{ authorization: "Basic YTpi", cookie: null, body: "grant_type=x" }]);
});

test("the schema of an event is read by anybody, and of what is none there is none", async (t) => {
  const made = await testGateway(t, { database: await database() });
  const { status, body } = await read(await made.fetch("/api/v1/events/schemas/secrets.read.v1"));
  assert.deepEqual([status, body["title"]], [200, "secrets.read.v1"]);
  // The data itself, or what stands for data that is too large.
  const forms = body["anyOf"] as { readonly type: string; readonly required: readonly string[] }[];
  assert.deepEqual(
    forms.map(({ type, required }) => [type, required.includes("truncated")]),
    [
      ["object", false],
      ["object", true],
    ],
  );
  for (const type of ["secrets.read", "secrets.steal.v1", "toString.v1"])
    assert.equal((await made.fetch(`/api/v1/events/schemas/${type}`)).status, 404);
});
