import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedDatabase, testGateway } from "#testing/gateway.ts";
import { pdpWorld } from "#testing/pdp.ts";

const database = sharedDatabase();
type Answer = { code?: string; decision?: boolean; evaluations?: { decision: boolean; context?: { error?: { status: number } } }[] };

/** JSON that parses and has no canonical form: nobody can digest, record or send it on as it was. */
const unfit = [
  ["half a surrogate pair", '{"x":"\\ud800"}'],
  ["the other half", '{"x":["a","\\udfff"]}'],
  ["half a pair in a name", '{"x":{"\\ud800":1}}'],
  ["a number beyond a double", '{"x":{"y":1e999}}'],
  ["a negative one", '{"x":[-1e999]}'],
  ["an integer that no double holds", '{"x":9007199254740993}'],
  ["a decimal that no double holds", '{"x":[{"y":0.1234567890123456789}]}'],
] as const;

const pages = (more = "") => `"action":{"name":"view_all"${more}},"resource":{"type":"pages","id":"*"}`;
const ben = '"subject":{"type":"identity","id":"person:ben","properties":{"tenant":"tenant:acme"}}';
const own = '"action":{"name":"view_all"},"resource":{"type":"pages"}';

test("what cannot be digested is refused where it is read, and the next caller is answered", async (t) => {
  const point = await pdpWorld(t);
  const made = await testGateway(t, {
    database: await database(),
    identity: point.identity,
    peers: { pdp: (request) => point.service.fetch(request) },
  });
  const session = (await made.signIn("person:ben")).headers;
  const tokenOf = async (more: Parameters<typeof made.identity.tokenFor>[0]) => ({
    "content-type": "application/json",
    authorization: `Bearer ${await made.identity.tokenFor(more)}`,
  });
  const bearer = await tokenOf({ sub: "person:ben", tenant: "tenant:acme", scopes: ["openid"] });
  const pep = await tokenOf({
    sub: "service:pep",
    tenant: "*",
    scopes: ["authzen.pep", "authzen.search"],
    clientId: "service:pep",
  });
  const post = async (path: string, headers: Readonly<Record<string, string>>, body: string) => {
    const response = await made.fetch(path, { method: "POST", headers, body });
    return { status: response.status, body: (await response.json()) as Answer };
  };
  const nextCaller = async (what: string) => {
    for (const headers of [session, bearer])
      assert.deepEqual((await post("/access/v1/evaluation", headers, `{${own}}`)).body.decision, true, `the next caller after ${what}`);
  };

  for (const [what, members] of unfit) {
    const requests = { ...session, "idempotency-key": "k1" };
    const denial = '"denial":{"evaluation_id":"d_1","expires_at":"2026-01-01T00:00:00.000Z","binding_token":"t"}';
    const singles: readonly (readonly [where: string, path: string, headers: Readonly<Record<string, string>>, body: string])[] = [
      ["context", "/access/v1/evaluation", session, `{${own},"context":{"ui":${members}}}`],
      ["an unknown member of context", "/access/v1/evaluation", session, `{${own},"context":${members}}`],
      [
        "resource.properties",
        "/access/v1/evaluation",
        bearer,
        `{"action":{"name":"view_all"},"resource":{"type":"pages","properties":${members}}}`,
      ],
      [
        "action.properties",
        "/access/v1/evaluations",
        bearer,
        `{"action":{"name":"view_all","properties":${members}},"resource":{"type":"pages"}}`,
      ],
      ["context of a service", "/access/v1/evaluation", pep, `{${ben},${pages()},"context":{"ui":${members}}}`],
      [
        "properties of a subject",
        "/access/v1/evaluation",
        pep,
        `{"subject":{"type":"identity","id":"person:ben","properties":${members}},${pages()}}`,
      ],
      ["action.properties of a service", "/access/v1/evaluation", pep, `{${ben},${pages(`,"properties":${members}`)}}`],
      ["a search", "/access/v1/search/resource", session, `{"action":{"name":"view"},"resource":{"type":"pages"},"context":${members}}`],
      ["a search's properties", "/access/v1/search/action", bearer, `{"resource":{"type":"pages","id":"people","properties":${members}}}`],
      ["a service's search", "/access/v1/search/action", pep, `{${ben},"resource":{"type":"pages","id":"people"},"context":${members}}`],
      ["an access request", "/access/v1/requests", requests, `{${ben},${pages()},"context":${members},${denial}}`],
      [
        "an access request's resource",
        "/access/v1/requests",
        requests,
        `{${ben},"action":{"name":"view"},"resource":{"type":"pages","id":"p","properties":${members}},${denial}}`,
      ],
    ];
    for (const [where, path, headers, body] of singles) {
      const answer = await post(path, headers, body);
      assert.deepEqual([answer.status, answer.body.code], [400, "invalid_request"], `${what} in ${where}`);
    }
    await nextCaller(what);
    for (const [headers, item] of [
      [session, own],
      [bearer, own],
      [pep, `${ben},${pages()}`],
    ] as const) {
      const answer = await post("/access/v1/evaluations", headers, `{"evaluations":[{${item}},{${item},"context":${members}},{${item}}]}`);
      assert.equal(answer.status, 200, what);
      assert.deepEqual(
        answer.body.evaluations?.map(({ decision, context }) => [decision, context?.error?.status]),
        [
          [true, undefined],
          [false, 400],
          [true, undefined],
        ],
        what,
      );
    }
    await nextCaller(what);
  }

  for (const justification of ["\\ud800", "a\\udc00"]) {
    const denial = '"denial":{"evaluation_id":"d_1","expires_at":"2026-01-01T00:00:00.000Z","binding_token":"\\ud800"}';
    const body = `{${ben},${pages()},"justification":"${justification}",${denial}}`;
    const answer = await post("/access/v1/requests", { ...session, "idempotency-key": "k2" }, body);
    assert.deepEqual([answer.status, answer.body.code], [400, "invalid_request"]);
  }
  for (const tenant of ["a\\u0000b", "\\ud800", "x".repeat(257)]) {
    const subject = `"subject":{"type":"identity","id":"person:nobody","properties":{"tenant":"${tenant}"}}`;
    const answer = await post("/access/v1/evaluation", pep, `{${subject},${pages()}}`);
    assert.deepEqual([answer.status, answer.body.code], [400, "invalid_request"], "a tenant that no record can hold");
  }
  await nextCaller("all of them");
});
