import assert from "node:assert/strict";
import { test } from "node:test";
import { rawExchange, sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();
const HOST = "localhost:8080";
const routes = `version: 1
routes:
  - { id: wiki.public, path: /public/*, hosts: ["${HOST}"], methods: [GET], auth: none, authz: none }
  - { id: wiki.read, path: /wiki/*, hosts: ["${HOST}"], methods: [GET], auth: session, authz: none }
`;

type Line = readonly [name: string, value: string];

/** What servers tell of the request that they ask about, or of who sent it, each in its own words. */
const words: readonly Line[] = [
  ["X-Forwarded-Uri", "/wiki/x"],
  ["X-Forwarded-Host", HOST],
  ["X-Forwarded-Method", "GET"],
  ["X-Forwarded-Proto", "http"],
  ["X-Forwarded-Prefix", "/wiki"],
  ["X-Forwarded-Path", "/wiki/x"],
  ["X-Forwarded-For", "127.0.0.1"],
  ["X-Forwarded-Port", "8080"],
  ["X-Forwarded-Server", HOST],
  ["Forwarded", `host=${HOST};proto=http`],
  ["Via", "1.1 proxy"],
  ["X-Original-URI", "/wiki/x"],
  ["X-Original-URL", `http://${HOST}/wiki/x`],
  ["X-Original-Method", "GET"],
  ["X-Original-Host", HOST],
  ["X-Rewrite-URL", "/wiki/x"],
  ["X-Replaced-Path", "/wiki/x"],
  ["X-Request-Uri", "/wiki/x"],
  ["X-Request-Url", "/wiki/x"],
  ["X-Envoy-Original-Path", "/wiki/x"],
  ["X-Envoy-External-Address", "127.0.0.1"],
  ["X-Auth-Request-Redirect", "/wiki/x"],
  ["X-WAWS-Unencoded-URL", "/wiki/x"],
  ["X-HTTP-Method-Override", "GET"],
  ["X-Host", HOST],
  ["X-Scheme", "http"],
  ["X-Real-IP", "127.0.0.1"],
  ["True-Client-IP", "127.0.0.1"],
];
const spellings: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.replaceAll("-", "_"),
  (name) => name.replaceAll("-", "."),
  (name) => name.replace("-", "_").toUpperCase(),
];
const all: readonly Line[] = words.flatMap(([name, value]) =>
  [...new Set(spellings.map((spell) => spell(name)))].map((spelt): Line => [spelt, value]),
);
/** Names that nobody listed, of what they say. */
const places: readonly Line[] = [
  "X-MS-Original-URL",
  "X-Override-URL",
  "Request-Uri",
  "X-Request-Path",
  "X-Script-Name",
  "X-Accel-Redirect",
]
  .concat(["X-Target-Uri", "X-Auth-Uri", "X_Whatever_Path", "PATH_INFO"])
  .map((name) => [name, "/wiki/x"]);
const complete: readonly Line[] = [
  ["X-Forwarded-Method", "GET"],
  ["X-Forwarded-Uri", "/wiki/x"],
  ["X-Forwarded-Host", HOST],
];

const world = async (t: Parameters<typeof testGateway>[0], trusted: string) => {
  const made = await testGateway(t, { database: await database(), routes, settings: { TRUSTED_PROXIES: trusted } });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const { cookie } = (await made.signIn("person:ben")).cookie;
  /** Status and code of each list of lines, each with a session that would be let through. */
  return async (lists: readonly (readonly Line[])[]) => {
    const reported: (readonly [status: number, code: string | undefined])[] = [];
    for (let at = 0; at < lists.length; at += 50) {
      const asked = lists.slice(at, at + 50).map((lines) => {
        const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
        return `GET /auth/verify HTTP/1.1\r\nHost: ${HOST}\r\nCookie: ${cookie}\r\n${text}\r\n`;
      });
      const { answers } = await rawExchange(port, asked.join(""), asked.length);
      assert.equal(answers.length, asked.length);
      for (const { status, body } of answers)
        reported.push([status, status < 400 ? undefined : (JSON.parse(body) as { code: string }).code]);
    }
    return reported;
  };
};

const say = (lines: readonly Line[]): string => lines.map(([name, value]) => `${name}: ${value}`).join(" + ");

test("a word about the request without the whole form is no question: 400 of each word alone, doubled and differing, in each spelling", async (t) => {
  const verify = await world(t, "127.0.0.0/8");
  const lists = all.flatMap(([name, value]): Line[][] => [
    [[name, value]],
    [
      [name, value],
      [name, value],
    ],
    [
      [name, value],
      [name, "/public/x"],
    ],
    [[name, ""]],
  ]);
  const reported = await verify(lists);
  for (const [at, lines] of lists.entries()) assert.deepEqual(reported[at], [400, "ambiguous_headers"], say(lines));
});

test("nor are two words together the whole form", async (t) => {
  const verify = await world(t, "127.0.0.0/8");
  const pairs = all.flatMap((one, at): Line[][] => all.slice(at + 1).map((other) => [one, other]));
  const reported = await verify(pairs);
  for (const [at, lines] of pairs.entries()) assert.deepEqual(reported[at], [400, "ambiguous_headers"], say(lines));
});

test("nor is the form with one line missing, written with another sign or said twice", async (t) => {
  const verify = await world(t, "127.0.0.0/8");
  const spoilt = complete.flatMap(([name, value], at): Line[][] => {
    const others = complete.filter((_, index) => index !== at);
    const spelt = spellings.slice(1).map((spell): Line => [spell(name), value]);
    return [
      others,
      ...spelt.map((line) => [...others, line]),
      ...spelt.map((line) => [...complete, line]),
      [...complete, [name, value]],
      [...complete, [name, "/public/x"]],
      [[name, "/public/x"], ...complete],
    ];
  });
  spoilt.push(complete.map(([name, value]): Line => [name.replaceAll("-", "_"), value]));
  const reported = await verify(spoilt);
  for (const [at, lines] of spoilt.entries()) assert.deepEqual(reported[at], [400, "ambiguous_headers"], say(lines));
});

test("a trusted peer that says nothing of a request asks about none", async (t) => {
  const verify = await world(t, "127.0.0.0/8");
  assert.deepEqual(await verify([[]]), [[400, "ambiguous_headers"]]);
});

test("beside the whole form other words change nothing: the row of the form is asked", async (t) => {
  const verify = await world(t, "127.0.0.0/8");
  const isOfTheForm = (name: string): boolean => complete.some(([own]) => own.toLowerCase() === name.toLowerCase().replace(/[_.]/g, "-"));
  const others = all.filter(([name]) => !isOfTheForm(name));
  const elsewhere = complete.map(([name, value]): Line => [name, name === "X-Forwarded-Uri" ? "/nowhere" : value]);
  const passed = await verify(others.map((line) => [...complete, line]));
  const refused = await verify(others.map((line) => [line, ...elsewhere]));
  for (const [at, line] of others.entries()) {
    assert.deepEqual(passed[at], [200, undefined], say([line]));
    assert.deepEqual(refused[at], [403, "access_denied"], say([line]));
  }
});

test("of a peer that is not trusted no word is believed, in no spelling", async (t) => {
  const verify = await world(t, "10.0.0.0/8");
  const words = [...all, ...places];
  const reported = await verify([...words.map((line) => [line]), complete]);
  for (const [at, answer] of reported.entries())
    assert.deepEqual(answer, [403, "untrusted_proxy"], say([words[at] ?? ["the whole form", ""]]));
  assert.deepEqual(await verify([[]]), [[200, undefined]], "without one it is a look at its own session");
});
