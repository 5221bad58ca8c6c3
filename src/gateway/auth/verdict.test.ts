import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem, type ProblemCode } from "#contract/problem.ts";
import { rawExchange, sharedDatabase, testGateway, wideRates } from "#testing/gateway.ts";
import { verifyVerdictOf } from "./verdict.ts";

const database = sharedDatabase();
const routes = `version: 1
routes:
  - { id: wiki.public, path: /public/*, hosts: ["localhost:8080"], methods: [GET], auth: none, authz: none }
  - { id: wiki.read, path: /wiki/*, hosts: ["localhost:8080"], methods: [GET], auth: session, authz: none }
`;

interface Reported {
  readonly status: number;
  readonly code?: string;
  readonly reason?: string;
}

const about = (uri: string, method = "GET") =>
  `X-Forwarded-Method: ${method}\r\nX-Forwarded-Uri: ${uri}\r\nX-Forwarded-Host: localhost:8080\r\n`;
const HOST = "Host: localhost:8080\r\n";

for (const [what, head, wanted] of [
  [
    "a method that nobody knows",
    `${HOST}<S>${about("/wiki/x", "FOO")}`,
    { status: 403, code: "access_denied", reason: "method_not_allowed" },
  ],
  ["a method in lower case", `${HOST}<S>${about("/wiki/x", "get")}`, { status: 403, code: "access_denied", reason: "method_not_allowed" }],
  ["no method", `${HOST}<S>${about("/wiki/x", "")}`, { status: 403, code: "access_denied", reason: "method_not_allowed" }],
  [
    "a target too long",
    `${HOST}<S>${about(`/wiki/${"x".repeat(8200)}`)}`,
    { status: 403, code: "access_denied", reason: "target_too_long" },
  ],
  ["a target with two readings", `${HOST}<S>${about("/wiki/../x")}`, { status: 400, code: "ambiguous_target" }],
  ["two cookies of our name", `${HOST}Cookie: <C>; <C>\r\n${about("/wiki/x")}`, { status: 401, code: "unauthenticated" }],
  ["a cookie of nobody", `${HOST}Cookie: sallyport_dev_sid_8080=x\r\n${about("/wiki/x")}`, { status: 401, code: "unauthenticated" }],
  ["the proxy's own question", `${HOST}<S>`, { status: 400, code: "ambiguous_headers" }],
  [
    "a visitor's hundred headers",
    `${HOST}<S>${"X-A: 1\r\n".repeat(100)}`,
    { status: 403, code: "access_denied", reason: "headers_too_large" },
  ],
  ["a visitor's expectation", `${HOST}<S>Expect: the unexpected\r\n`, { status: 403, code: "access_denied", reason: "expectation_failed" }],
  ["a visitor's two origins", `${HOST}<S>Origin: a\r\nOrigin: b\r\n`, { status: 400, code: "ambiguous_headers" }],
  ["a visitor's body", `${HOST}<S>Content-Length: 1\r\n`, { status: 400, code: "body_not_allowed" }],
  ["nothing wrong", `${HOST}<S>${about("/wiki/x")}`, { status: 200 }],
] as const satisfies readonly (readonly [string, string, Reported])[])
  test(`asked to verify ${what}: ${wanted.status}`, async (t) => {
    const made = await testGateway(t, { database: await database(), routes, settings: { TRUSTED_PROXIES: "127.0.0.0/8" } });
    const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
    const { cookie } = (await made.signIn("person:ben")).cookie;
    for (const path of ["/auth/verify", "/auth/forward?redirect=true"]) {
      const lines = head.replaceAll("<S>", `Cookie: ${cookie}\r\n`).replaceAll("<C>", cookie);
      const { answers } = await rawExchange(port, `GET ${path} HTTP/1.1\r\n${lines}\r\n`);
      const { status, body = "", headers } = answers[0] ?? { status: 0 };
      const { code, reason } = JSON.parse(status < 400 ? "{}" : body) as { code?: string; reason?: string };
      assert.deepEqual({ status, ...(code === undefined ? {} : { code }), ...(reason === undefined ? {} : { reason }) }, wanted, path);
      assert.equal(headers?.get("allow"), undefined);
    }
  });

test("a look at one's own session, under a name that is none of ours or too often, is told so in the same few answers", async (t) => {
  const made = await testGateway(t, {
    database: await database(),
    routes,
    settings: { RATE_LIMITS: wideRates.replace("session=1000000/s", "session=1/min:1") },
  });
  const { cookie } = await made.signIn("person:ben");
  for (const [host, wanted] of [
    ["inner", [403, "access_denied", "misdirected_host"]],
    ["localhost:8080", [200]],
    ["localhost:8080", [503, "overloaded", "rate_limited"]],
  ] as const) {
    const answer = await made.fetch("/auth/verify", { headers: { ...cookie, host } });
    const { code, reason } = answer.status === 200 ? {} : ((await answer.json()) as Partial<Reported>);
    assert.deepEqual([answer.status, code, reason].slice(0, wanted.length), wanted);
  }
});

for (const [target, status] of [
  ["/auth/verify", 403],
  ["/auth/verify?redirect=true", 403],
  ["/auth/forward#x", 403],
  ["/auth/verifyx", 405],
  ["/auth/verify/", 405],
  ["/x?/auth/verify", 405],
  ["*", 405],
] as const)
  test(`asked at ${target} by a method that nobody knows: ${status}`, async (t) => {
    const made = await testGateway(t, { database: await database(), routes });
    const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
    const { answers } = await rawExchange(port, `PROPFIND ${target} HTTP/1.1\r\n${HOST}\r\n`);
    assert.deepEqual([answers[0]?.status, answers[0]?.headers.has("allow")], [status, status === 405]);
  });

test("whoever asks to verify too often is told when to come again, by an answer that proxies know", async (t) => {
  const made = await testGateway(t, {
    database: await database(),
    routes,
    settings: { TRUSTED_PROXIES: "127.0.0.0/8", RATE_LIMITS: wideRates.replace("session=1000000/s", "session=1/min:1") },
  });
  const { cookie } = await made.signIn("person:ben");
  const forwarded = { ...cookie, "x-forwarded-method": "GET", "x-forwarded-uri": "/wiki/x", "x-forwarded-host": "localhost:8080" };
  assert.equal((await made.fetch("/auth/verify", { headers: forwarded })).status, 200);
  const late = await made.fetch("/auth/verify", { headers: forwarded });
  const { code, reason } = (await late.json()) as Reported;
  assert.deepEqual([late.status, code, reason], [503, "overloaded", "rate_limited"]);
  assert.ok(Number(late.headers.get("retry-after")) >= 1);
  assert.equal(await made.counted("bff_verify_duration_seconds_count", { status: "error" }), 1);
});

for (const [code, status, wanted] of [
  ["ambiguous_target", 400, "ambiguous_target"],
  ["step_up_required", 401, "step_up_required"],
  ["csrf_failed", 403, "csrf_failed"],
  ["session_store_unavailable", 503, "session_store_unavailable"],
  ["not_found", 403, "access_denied"],
  ["request_timeout", 403, "access_denied"],
  ["body_too_large", 403, "access_denied"],
  ["invalid_body", 403, "access_denied"],
  ["headers_too_large", 403, "access_denied"],
  ["too_many_streams", 503, "overloaded"],
  ["pdp_bad_answer", 503, "decision_unavailable"],
  ["upstream_timeout", 503, "decision_unavailable"],
  ["not_supported", 503, "decision_unavailable"],
] as const satisfies readonly (readonly [ProblemCode, number, ProblemCode])[])
  test(`${code} is ${status} ${wanted} as a verdict`, () => {
    const verdict = verifyVerdictOf(new Problem(code, { headers: { allow: "GET", "retry-after": "7" }, members: { decision_id: "d_1" } }));
    assert.deepEqual([verdict.status, verdict.code], [status, wanted]);
    assert.deepEqual([verdict.options.headers?.["retry-after"], verdict.options.members?.["decision_id"]], ["7", "d_1"]);
    if (code !== wanted) assert.deepEqual([verdict.options.members?.["reason"], verdict.options.headers?.["allow"]], [code, undefined]);
  });

test("what was not foreseen is 503 as a verdict, its text in the log alone", () => {
  const issue = new TypeError("canary");
  const verdict = verifyVerdictOf(issue);
  assert.deepEqual([verdict.status, verdict.code, verdict.options.cause], [503, "decision_unavailable", issue]);
  assert.ok(!JSON.stringify([verdict.options.detail, verdict.options.members]).includes("canary"));
});
