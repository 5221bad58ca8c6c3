import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { answerTo, attackRoutes, attackWorld, rawGet, rawJson, rawRequest, send } from "#testing/attack-world.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { rawExchange, sharedDatabase } from "#testing/gateway.ts";

const database = sharedDatabase();
const SID = "sallyport_dev_sid_8080";

/** What an upstream that thinks its answers are everybody's says of them. */
const said: readonly Readonly<Record<string, string>>[] = [
  { "cache-control": "public, max-age=60, s-maxage=60" },
  { "cache-control": "max-age=60" },
  { "cache-control": "s-maxage=60" },
  { "cdn-cache-control": "max-age=60", "surrogate-control": "max-age=60" },
  { "cache-control": 'private="etag", max-age=60' },
];

for (const row of ["/api/t/", "/admin/"])
  test(`attack 28: on ${row}* two people who take turns never see each other's answer, whatever they say they hold`, async (t) => {
    const world = await attackWorld(t, await database());
    const people = [world.ben, await world.made.signIn("person:eve")] as const;
    const tagOf = (who: string | null) => `"${who ?? "nobody"}"`;
    let asked = 0;
    world.upstream.answer = (request) => {
      const who = request.headers.get("x-user-id");
      const headers = { etag: tagOf(who), "content-type": "text/plain", ...said[asked++ % said.length] };
      return request.headers.get("if-none-match") === tagOf(who)
        ? new Response(null, { status: 304, headers })
        : new Response(who, { headers });
    };
    for (let turn = 0; turn < 200; turn++) {
      const [me, other] = [people[turn % 2], people[(turn + 1) % 2]];
      assert.ok(me && other);
      const lines = `Cookie: ${me.cookie.cookie}\r\nIf-None-Match: ${tagOf(other.record.subject)}\r\nConnection: close\r\n`;
      const [answer] = (await rawExchange(world.port, rawGet(`${row}x`, lines))).answers;
      assert.deepEqual([answer?.status, answer?.body], [200, me.record.subject]);
      const control = answer?.headers.get("cache-control") ?? "";
      assert.match(control, /\b(?:private|no-store)\b/);
      assert.doesNotMatch(control, /public|s-maxage/);
      for (const name of ["cdn-cache-control", "surrogate-control"]) assert.equal(answer?.headers.get(name), undefined, name);
    }
  });

test("attack 31: a session id that was chosen outside is never adopted, and two are none", async (t) => {
  const world = await attackWorld(t, await database());
  const chosen = "A".repeat(43);
  const cleared = new RegExp(`^${SID}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0$`);
  for (const cookie of [`${SID}=${chosen}`, `${SID}=`, `${SID}=%00`, `${SID}=${"x".repeat(5000)}`]) {
    const answer = await answerTo(world, rawGet("/api/t/x", `Cookie: ${cookie}\r\n`));
    assert.deepEqual([answer.status, answer.code], [401, "unauthenticated"], cookie.slice(0, 80));
    assert.match(answer.headers.get("set-cookie") ?? "", cleared);
  }
  const own = world.ben.cookie.cookie;
  for (const cookie of [`${own}; ${SID}=${chosen}`, `${SID}=${chosen}; ${own}`, `${own}; ${own}`, `${own};${own}`]) {
    const answer = await answerTo(world, rawGet("/api/t/x", `Cookie: ${cookie}\r\n`));
    assert.deepEqual([answer.status, answer.code], [401, "unauthenticated"], "two cookies of our name are none");
    assert.match(answer.headers.get("set-cookie") ?? "", cleared);
  }
  // A browser lets any host of the domain set these: to it their names do not begin with `__Host-`.
  for (const cookie of [`\xa0${own}`, own.replace("=", "\xa0="), own.replace("=", "\x85="), `\xc2\xa0${own}`]) {
    const answer = await answerTo(world, rawGet("/api/t/x", `Cookie: theme=dark; ${cookie}\r\n`));
    assert.deepEqual([answer.status, answer.code, answer.headers.get("set-cookie")], [401, "unauthenticated", undefined], cookie);
    const both = await answerTo(world, rawGet("/public/own", `Cookie: ${cookie}\r\n`));
    assert.equal(both.status, 200, "a cookie of another name is nobody's fault");
    world.upstream.seen.length = 0;
  }
  assert.equal((await answerTo(world, rawGet("/api/t/x", `Cookie: ${own}\xa0\r\n`))).status, 401, "and a value is what it is");
  assert.deepEqual(world.upstream.seen, []);
  for (const cookie of ["<S>", `Cookie: \xa0${SID}=${chosen}; ${own}\r\n`, `Cookie: a=b;\t${own} \t;c\r\n`])
    assert.equal((await answerTo(world, rawGet("/api/t/x", cookie))).status, 200, "the session itself lives on");
});

test("attack 32: an unsafe request on a session is refused on every row without the proofs of our own page", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "attack-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const routesFile = join(folder, "routes.yaml");
  await writeFile(routesFile, attackRoutes);
  const world = await attackWorld(t, await database(), { parts: { routesFile } });
  // A row that was not there at the start: what guards the others guards it from its first request on.
  await writeFile(
    routesFile,
    `${attackRoutes}  - { id: added, path: /added/*, target_service: crud, upstream_path: "/{path}", methods: [POST], auth: session, authz: none }\n`,
  );
  assert.equal((await answerTo(world, rawJson("/added/x", "<C>", "{}"))).status, 404);
  assert.deepEqual((await world.made.gateway.reload()).added, ["added"]);
  const eve = await world.made.signIn("person:eve");
  const { cookie: _cookie, "content-type": _type, ...proofs } = world.ben.headers;
  const foreign = eve.headers["x-csrf-token"] ?? "";
  const cases: readonly (readonly [what: string, change: Readonly<Record<string, string | undefined>>, reason: string])[] = [
    ["no token", { "x-csrf-token": undefined, "x-csrftoken": undefined }, "missing_token"],
    ["one token", { "x-csrftoken": undefined }, "missing_token"],
    ["a foreign token", { "x-csrf-token": foreign, "x-csrftoken": foreign }, "invalid_token"],
    ["headers that differ", { "x-csrftoken": foreign }, "headers_differ"],
    ["no X-Requested-With", { "x-requested-with": undefined }, "missing_requested_with"],
    ["Origin: null", { origin: "null" }, "bad_origin"],
    ["another public origin", { origin: "http://127.0.0.1:8080" }, "bad_origin"],
    ["a cross-site request", { "sec-fetch-site": "cross-site" }, "cross_site"],
  ];
  const rows = [
    { row: "a proxied row", path: "/api/t/x", body: "{}" },
    { row: "a row with a decision", path: "/admin/x", body: "{}" },
    { row: "a row that a reload added", path: "/added/x", body: "{}" },
    { row: "an internal row", path: "/access/v1/evaluation", body: '{"resource":{"type":"pages"},"action":{"name":"view_all"}}' },
    { row: "a path of the gateway's own", path: "/auth/logout", body: "{}" },
  ];
  for (const { row, path, body } of rows)
    for (const [what, change, reason] of cases)
      await t.test(`attack 32: ${row}, ${what}`, async () => {
        const lines = Object.entries({ ...proofs, ...change }).map(([name, value]) => (value === undefined ? "" : `${name}: ${value}\r\n`));
        const answer = await answerTo(world, rawJson(path, `<S>${lines.join("")}`, body));
        assert.deepEqual([answer.status, answer.code, answer.problem?.["reason"]], [403, "csrf_failed", reason]);
        assert.deepEqual([world.upstream.seen, world.pdp.seen], [[], []], "nobody behind is asked");
      });
  const counts = await Promise.all(cases.map(([, , reason]) => world.made.counted("bff_csrf_violations_total", { reason })));
  assert.deepEqual(counts, [10, 10, 5, 5, 5, 10, 10, 5]);
  await t.test("attack 32: a stream row takes GET alone, and none from a foreign page", async () => {
    const posted = await answerTo(world, rawJson("/events/x", "<C>", "{}"));
    assert.deepEqual([posted.status, posted.code, posted.headers.get("allow")], [405, "method_not_allowed", "GET"]);
    const foreignPage = await answerTo(world, rawGet("/events/x", "<S>Sec-Fetch-Site: cross-site\r\n"));
    assert.deepEqual([foreignPage.status, foreignPage.code, foreignPage.problem?.["reason"]], [403, "csrf_failed", "cross_site"]);
    assert.deepEqual(world.upstream.seen, []);
  });
  await t.test("attack 32: with the proofs each is served", async () => {
    for (const { path, body } of rows.slice(0, 4)) {
      const answer = await answerTo(world, rawJson(path, "<C>", body));
      assert.equal(answer.status, 200, answer.body);
    }
  });
});

test("a method that no row lists needs no session to be refused, and changes nothing", async (t) => {
  const world = await attackWorld(t, await database());
  const { answers } = await send(world, rawRequest("PATCH", "/api/t/x", "<S>"));
  assert.equal(answers[0]?.status, 405);
  assert.deepEqual(world.upstream.seen, []);
});
