import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { sharedDatabase, testGateway } from "#testing/gateway.ts";
import { isSensitiveValue } from "./sensitive-value.ts";

const basic = (text: string): string => Buffer.from(text).toString("base64");
const token = (): string => randomBytes(32).toString("base64url");

const sensitive: readonly (readonly [what: string, text: string])[] = [
  ["a bearer token", "Bearer abcdefgh12345"],
  ["a short one", "Bearer abc.def"],
  ["one of a letter", "Bearer q"],
  ["its header", "Authorization: Bearer q"],
  ["its header in a dump", `{"authorization":"Bearer q"}`],
  ["the header of a proxy", "proxy-authorization=x"],
  ["one in a text", "request failed: bearer x1 was refused"],
  ["one in a text, of letters", "sent Bearer abcdefghij and failed"],
  ["one with capitals inside", "got bearer aBc there"],
  ["one with its encoded space", "q=Bearer%20abc.def"],
  ["one behind a colon", "failed with bearer: a-b"],
  ["one behind two spaces", "x BEARER  a_b y"],
  ["one in other letters", "Ｂｅａｒｅｒ ａｂｃ.ｄｅｆ"],
  ["a name and a password", `Basic ${basic("ben:sallyport")}`],
  ["a short name and password", `basic ${basic("a:b")}`],
  ["a name and no password", `x Basic ${basic("ben:")} y`],
  ["a name and password in a header", "Authorization: Basic x"],
  ["a digest", 'Digest username="ben"'],
  ["a JWT", "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJiZW4ifQ.c2ln"],
  ["a JWT without a signature", "eyJhbGciOiJub25lIn0.e30."],
  ["a JWT that was cut off", "token was eyJhbGciOiJF"],
  ["an encrypted JWT", "eyJhbGciOiJkaXIifQ..aXY.Y2lwaGVy.dGFn"],
  ["a JWT behind an underscore", "t_eyJhbGciOiJF"],
  ["our cookie", "__Host-Http-sid=x"],
  ["our transaction", "a=b; __Host-Http-txn=x"],
  ["our cookie in development", "sallyport_dev_sid_8080=x"],
  ["a cookie header", "Cookie: a=b"],
  ["a cookie that is set", "Set-Cookie: a=b"],
  ["an id of a session", token()],
  ["one in a text", `session ${token()} ended`],
  ["a CSRF header", "X-CSRF-Token: x"],
  ["the other CSRF header", "x-csrftoken=x"],
  ["a token in a query", "/cb?access_token=x"],
  ["a secret in a query", "a=1&client_secret=x"],
  ["a password", "password: hunter2"],
  ["a PEM", "-----BEGIN EC PRIVATE KEY-----"],
  ["an e-mail", "mail to ben@acme.example now"],
  ["a card number", "4111 1111 1111 1111"],
];

const harmless: readonly string[] = [
  "",
  "the bearer of news",
  "Bearer of bad news",
  "a bearer, he said, and left",
  "who is the bearer? nobody",
  "ring bearer",
  "the bearer's own",
  "basic",
  "Basic plan",
  "basic usage of forms",
  "Basic level 3",
  "authorization pending",
  "an authorization was refused",
  "the token expired",
  "forgot password",
  "cookies are off",
  "no cookie",
  "/tools/people.demo.list_employees",
  "sha256-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  "0af7651916cd43dd8448eb211c80319c",
  "5f6b3b0e-0000-4000-8000-000000000000",
  "2026-01-01T00:00:00.000Z",
  "1234567890123",
  "digest of the day",
  "keyJack",
];

for (const [what, text] of sensitive)
  test(`${what} is sensitive: ${JSON.stringify(text)}`, () => assert.equal(isSensitiveValue(text), true));
for (const text of harmless) test(`${JSON.stringify(text)} is harmless`, () => assert.equal(isSensitiveValue(text), false));

const database = sharedDatabase();

test("what looks like a credential is refused wherever it stands in a report, told by its place and never repeated; the rest is counted", async (t) => {
  const made = await testGateway(t, { database: await database() });
  const send = async (body: unknown) => {
    const response = await made.fetch("/api/v1/metrics", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  for (const [what, text] of sensitive) {
    for (const [attributes, path] of [
      [{ x: text }, "/attributes/x"],
      [{ x: [{ y: text }] }, "/attributes/x/0/y"],
      [{ [text]: 1 }, "/attributes"],
    ] as const) {
      const refused = await send({ event: "a", attributes });
      assert.equal(refused.status, 422, what);
      const { code, errors } = JSON.parse(refused.text) as { code: string; errors: { path: string }[] };
      assert.deepEqual([code, errors.map((error) => error.path)], ["sensitive_key", [path]], what);
      assert.ok(!refused.text.includes(JSON.stringify(text).slice(1, -1)), what);
    }
  }
  assert.equal(await made.counted("bff_public_metrics_total", { event: "a" }), 0);
  for (const text of harmless) assert.equal((await send({ event: "a", attributes: { x: text } })).status, 202, text);
  assert.equal(await made.counted("bff_public_metrics_total", { event: "a" }), harmless.length);
});

for (const [what, attributes] of [
  ["a text", { x: "a".repeat(257) }],
  ["a key inside", { x: { ["k".repeat(129)]: 1 } }],
] as const)
  test(`${what} that is too long is refused for that, unread`, async (t) => {
    const made = await testGateway(t, { database: await database() });
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ event: "a", attributes }) };
    const response = await made.fetch("/api/v1/metrics", init);
    const { code, errors } = (await response.json()) as { code: string; errors: { path: string }[] };
    assert.deepEqual([response.status, code, errors.map(({ path }) => path)], [422, "invalid_body", ["/attributes/x"]]);
  });
