import assert from "node:assert/strict";
import { test } from "node:test";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { discoveryIssues } from "./discovery.ts";
import { runCase } from "./run-case.ts";
import type { Target } from "./target.ts";

const url = "http://localhost:8082";

/** A decision point that answers the way the row says, to a case that wants `{"decision":true}`. */
const answers: readonly (readonly [name: string, answer: (request: Request) => Response, says: RegExp])[] = [
  ["the other decision", () => Response.json({ decision: false }), /instead of \{"decision":true\}/],
  ["a decision that is text", () => Response.json({ decision: "true" }), /instead of/],
  ["a member more", () => Response.json({ decision: true, context: {} }), /instead of/],
  ["another status", () => Response.json({ decision: true }, { status: 201 }), /status 201/],
  ["another type", () => new Response('{"decision":true}', { headers: { "content-type": "text/html" } }), /Content-Type/],
  ["no JSON", () => new Response("yes", { headers: { "content-type": "application/json" } }), /not JSON/],
  ["an error", () => Response.json({ title: "no" }, { status: 500 }), /status 500/],
];
const echoing =
  (answer: (request: Request) => Response): Target["send"] =>
  async (request) => {
    const response = answer(request);
    response.headers.set("x-request-id", request.headers.get("x-request-id") ?? "");
    return response;
  };
const single = {
  set: "x",
  name: "x",
  method: "POST",
  path: "/access/v1/evaluation",
  headers: {},
  body: "{}",
  expect: { status: 200, body: { decision: true } },
} as const;
const subjectSearch = { ...single, path: "/access/v1/search/subject", body: JSON.stringify({ subject: { type: "user" } }) } as const;

test("a wrong answer fails, whatever is wrong with it", async () => {
  const right = echoing(() => Response.json({ decision: true }));
  assert.deepEqual(await runCase(single, { url, token: undefined, send: right }), []);
  for (const [name, answer, says] of answers) {
    const issues = await runCase(single, { url, token: undefined, send: echoing(answer) });
    assert.match(issues.join("; "), says, name);
  }
  const silent = await runCase(single, { url, token: undefined, send: async () => Response.json({ decision: true }) });
  assert.match(silent.join("; "), /X-Request-ID/);
  const away = await runCase(single, { url, token: undefined, send: () => Promise.reject(new Error("refused")) });
  assert.match(away.join("; "), /no answer: refused/);
});

test("results that lack one, repeat one, hold one more or another shape fail; their order is free", async () => {
  const [a, b, c] = ["a", "b", "c"].map((id) => ({ type: "user", id }));
  const one = { ...subjectSearch, expect: { status: 200, results: [a, b] } };
  const cases: readonly (readonly [body: unknown, passes: boolean])[] = [
    [{ results: [a, b] }, true],
    [{ results: [b, a] }, true],
    [{ results: [a] }, false],
    [{ results: [a, b, c] }, false],
    [{ results: [a, a, b] }, false],
    [{ results: [a, { ...b, name: "B" }] }, false],
    [{ results: [a, b], page: {} }, false],
    [[a, b], false],
  ];
  for (const [body, passes] of cases) {
    const issues = await runCase(one, { url, token: undefined, send: echoing(() => Response.json(body)) });
    assert.equal(issues.length === 0, passes, JSON.stringify(body));
  }
});

test("pages that repeat, skip or never end fail", async () => {
  const [a, b] = ["a", "b"].map((id) => ({ type: "user", id }));
  const one = { ...subjectSearch, expect: { status: 200, results: [a, b], pagesOf: 1 } };
  const paged = (pages: Readonly<Record<string, readonly [results: unknown[], next: string]>>): Target["send"] => {
    const send = async (request: Request): Promise<Response> => {
      const { page } = (await request.clone().json()) as { page: { token?: string } };
      const [results, next] = pages[page.token ?? ""] ?? [[], ""];
      return echoing(() => Response.json({ page: { next_token: next }, results }))(request);
    };
    return send;
  };
  const run = (pages: Parameters<typeof paged>[0]) => runCase(one, { url, token: undefined, send: paged(pages) });
  assert.deepEqual(await run({ "": [[a], "t"], t: [[b], ""] }), []);
  assert.notDeepEqual(await run({ "": [[a], "t"], t: [[a], ""] }), [], "repeats");
  assert.notDeepEqual(await run({ "": [[a], ""] }), [], "skips");
  assert.notDeepEqual(await run({ "": [[a], "t"], t: [[b], "t"] }), [], "never ends");
  assert.notDeepEqual(await run({ "": [[a, b], ""] }), [], "too long a page");
});

const found = { type: "user", id: "a" };
const malformed: readonly (readonly [name: string, kind: "subject" | "action", answer: unknown, says: RegExp])[] = [
  ["results without an id", "subject", { results: [{ type: "user" }] }, /no subject of what is searched/],
  ["results of another type", "subject", { results: [{ type: "group", id: "a" }] }, /no subject of what is searched/],
  ["an action without a name", "action", { results: [{ name: "" }] }, /no action of what is searched/],
  ["no results", "subject", { page: { next_token: "" } }, /has no results/],
  ["a context that is text", "subject", { results: [], context: "x" }, /context is no object/],
  ["a page behind the results", "subject", { results: [found], page: { next_token: "" } }, /page is not the first/],
  ["a page that is text", "subject", { page: "x", results: [] }, /page is no object/],
  ["a page without a token", "subject", { page: {}, results: [] }, /no next_token/],
  ["a count below nothing", "subject", { page: { next_token: "", count: -1 }, results: [] }, /page\.count/],
  ["a total that is text", "subject", { page: { next_token: "", total: "1" }, results: [] }, /page\.total/],
  ["properties that are a list", "subject", { page: { next_token: "", properties: [] }, results: [] }, /page\.properties/],
];

test("a search is answered in the standard's form, whatever it finds", async () => {
  const run = (kind: string, answer: unknown) =>
    runCase(
      { ...subjectSearch, path: `/access/v1/search/${kind}`, expect: { status: 200 } },
      { url, token: undefined, send: echoing(() => Response.json(answer)) },
    );
  assert.deepEqual(await run("subject", { page: { next_token: "", count: 1, total: 1, properties: {} }, results: [found] }), []);
  assert.deepEqual(await run("action", { results: [{ name: "read" }] }), []);
  for (const [name, kind, answer, says] of malformed) assert.match((await run(kind, answer)).join("; "), says, name);
});

test("a decision beside evaluations, and evaluations where one decision was asked for, fail", async () => {
  const run = (expect: Parameters<typeof runCase>[0]["expect"], answer: unknown) =>
    runCase({ ...single, path: "/access/v1/evaluations", expect }, { url, token: undefined, send: echoing(() => Response.json(answer)) });
  const both = { decision: true, evaluations: [{ decision: true }] };
  assert.match((await run({ status: 200, decisions: [true] }, both)).join("; "), /beside evaluations/);
  assert.match((await run({ status: 200, decision: true }, both)).join("; "), /beside evaluations/);
  assert.notDeepEqual(await run({ status: 200, decision: true }, { evaluations: [{ decision: true }] }), []);
});

test("a header that is missing or another one fails, and a case without credentials sends none", async () => {
  const one = { ...single, anonymous: true, expect: { status: 401, headers: { "www-authenticate": "^Bearer" } } } as const;
  const run = (headers: Record<string, string>) => {
    const send = echoing((request) => {
      assert.equal(request.headers.get("authorization"), null);
      return Response.json({}, { status: 401, headers });
    });
    return runCase(one, { url, token: "t", send });
  };
  assert.deepEqual(await run({ "www-authenticate": "Bearer" }), []);
  assert.match((await run({})).join("; "), /www-authenticate is null/);
  assert.match((await run({ "www-authenticate": "Basic" })).join("; "), /www-authenticate is "Basic"/);
});

test("one status of several passes, and only what is refused unread may keep its X-Request-ID", async () => {
  const run = (status: number, expect: Parameters<typeof runCase>[0]["expect"]) =>
    runCase({ ...single, expect }, { url, token: undefined, send: async () => Response.json({}, { status }) });
  const either = { status: [400, 405], unread: true } as const;
  assert.deepEqual([await run(400, either), await run(405, either)], [[], []]);
  assert.match((await run(404, either)).join("; "), /status 404 instead of 400 or 405/);
  assert.match((await run(400, { status: [400, 405] })).join("; "), /X-Request-ID/);
});

test("an answer that changes from one time to the next fails; another order or another token is the same", async () => {
  const [a, b] = ["a", "b"].map((id) => ({ type: "user", id }));
  const run = (...answers: readonly unknown[]) => {
    let times = 0;
    const send = echoing(() => Response.json(answers[times++ % answers.length]));
    return runCase({ ...subjectSearch, expect: { status: 200, again: 3 } }, { url, token: undefined, send });
  };
  const page = (token: string, ...results: readonly unknown[]) => ({ page: { next_token: token, count: results.length }, results });
  assert.deepEqual(await run(page("x", a, b), page("y", b, a)), []);
  assert.match((await run(page("", a), page("", b))).join("; "), /the 2\. time/);
  assert.match((await run(page("", a), page("", a), page("", a, b))).join("; "), /the 3\. time/);
  assert.match((await run(page("", a), page("x", a))).join("; "), /the 2\. time/, "there is suddenly more");
  assert.match((await run({ results: [a] }, page("", a))).join("; "), /the 2\. time/, "there is suddenly a page");
});

const at = new Date("2026-03-01T12:00:00Z");
const seconds = at.getTime() / 1000;
const plain = {
  policy_decision_point: url,
  access_evaluation_endpoint: `${url}/access/v1/evaluation`,
  search_subject_endpoint: `${url}/access/v1/search/subject`,
  jwks_uri: `${url}/keys`,
};
type Changes = Readonly<Record<string, unknown>>;
/** What is changed in the document, and in what is signed; the document of the first row has no issue. */
const documents: readonly (readonly [name: string, document: Changes, claims: Changes, says: RegExp | undefined])[] = [
  ["as it should be", {}, {}, undefined],
  ["another decision point", { policy_decision_point: "http://localhost:1" }, {}, /policy_decision_point is/],
  [
    "no evaluation",
    { access_evaluation_endpoint: undefined },
    { access_evaluation_endpoint: undefined },
    /access_evaluation_endpoint is missing/,
  ],
  ["a member that is null", { search_action_endpoint: null }, {}, /search_action_endpoint is empty/],
  ["a member without text", { more: "" }, {}, /more is empty/],
  ["a list of nothing", { capabilities: [] }, {}, /capabilities is empty/],
  ["capabilities that are numbers", { capabilities: [1] }, {}, /no array of strings/],
  ["an open endpoint", { search_subject_endpoint: "http://pdp.example/access/v1/search/subject" }, {}, /no https URL/],
  ["an endpoint of no version", { search_subject_endpoint: `${url}/search` }, { search_subject_endpoint: `${url}/search` }, /version v1/],
  ["another word under the signature", {}, { search_subject_endpoint: `${url}/v1/other` }, /something else of search_subject_endpoint/],
  ["a member that is only signed", {}, { search_action_endpoint: `${url}/v1/a` }, /something else of search_action_endpoint/],
  ["another issuer", {}, { iss: "https://elsewhere.example" }, /not this decision point's own word/],
  ["no issuer", {}, { iss: undefined }, /not this decision point's own word/],
  ["a signature in itself", {}, { signed_metadata: "x" }, /holds itself/],
  ["a signature of tomorrow", {}, { iat: seconds + 86_400 }, /at no time that can be/],
  ["a time in milliseconds", {}, { iat: at.getTime() }, /at no time that can be/],
  ["a signature that has ended", {}, { exp: seconds - 3600 }, /does not verify/],
  ["a signature that is not yet good", {}, { nbf: seconds + 3600 }, /does not verify/],
  ["a signature that is no JWT", { signed_metadata: "x" }, {}, /does not verify/],
  ["a signature that is no text", { signed_metadata: 7 }, {}, /no JWT/],
];

test("a discovery document that is wrong, or says something else than its signature, is told", async () => {
  const pair = await generateKeyPair("ES256");
  const jwks = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: "k", alg: "ES256" }] };
  const target: Target = { url, token: undefined, send: async () => Response.json(jwks) };
  for (const [name, document, claims, says] of documents) {
    const signed = new SignJWT({ ...plain, iss: url, iat: seconds, ...claims }).setProtectedHeader({ alg: "ES256", kid: "k" });
    const body = JSON.stringify({ ...plain, signed_metadata: await signed.sign(pair.privateKey), ...document });
    const issues = await discoveryIssues(JSON.parse(body), target, at);
    if (says === undefined) assert.deepEqual(issues, [], name);
    else assert.match(issues.join("; "), says, name);
  }
});
