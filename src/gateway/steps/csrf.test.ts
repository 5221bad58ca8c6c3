import assert from "node:assert/strict";
import { test } from "node:test";
import { recordingPeer, testGateway } from "#testing/gateway.ts";

/** One path of every kind of session row: proxied, internal, the gateway's own. */
const kinds = [
  { kind: "a proxied row", path: "/api/secrets", body: "{}" },
  { kind: "an internal row", path: "/access/v1/evaluation", body: '{"resource":{"type":"pages"},"action":{"name":"view_all"}}' },
  { kind: "sign-out", path: "/auth/logout", body: "{}" },
] as const;

test("an unsafe request on a session needs every proof that our own page made it", async (t) => {
  const upstream = recordingPeer();
  const made = await testGateway(t, { peers: { secrets: upstream.peer } });
  const eve = await made.signIn("person:eve");
  for (const { kind, path, body } of kinds) {
    const { headers } = await made.signIn("person:ben");
    const without = (name: string) => Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name));
    const changed = (more: Readonly<Record<string, string>>) => ({ ...headers, ...more });
    const foreign = eve.headers["x-csrf-token"] ?? "";
    const own = headers["x-csrf-token"] ?? "";
    const table: readonly (readonly [what: string, headers: Readonly<Record<string, string>>, reason: string])[] = [
      ["no X-CSRF-Token", without("x-csrf-token"), "missing_token"],
      ["no X-CSRFToken", without("x-csrftoken"), "missing_token"],
      ["an empty token", changed({ "x-csrf-token": "", "x-csrftoken": "" }), "missing_token"],
      ["two tokens that differ", changed({ "x-csrftoken": foreign }), "headers_differ"],
      ["another session's token", changed({ "x-csrf-token": foreign, "x-csrftoken": foreign }), "invalid_token"],
      ["an altered token", changed({ "x-csrf-token": `${own}A`, "x-csrftoken": `${own}A` }), "invalid_token"],
      ["no X-Requested-With", without("x-requested-with"), "missing_requested_with"],
      ["another X-Requested-With", changed({ "x-requested-with": "fetch" }), "missing_requested_with"],
      ["Origin null", changed({ origin: "null" }), "bad_origin"],
      ["a foreign Origin", changed({ origin: "http://localhost:8081" }), "bad_origin"],
      ["another public origin than the one addressed", changed({ origin: "http://127.0.0.1:8080" }), "bad_origin"],
      ["Sec-Fetch-Site cross-site", changed({ "sec-fetch-site": "cross-site" }), "cross_site"],
      ["Sec-Fetch-Site same-site", changed({ "sec-fetch-site": "same-site" }), "cross_site"],
      ["Sec-Fetch-Site none", changed({ "sec-fetch-site": "none" }), "cross_site"],
    ];
    for (const [what, sent, reason] of table)
      await t.test(`${kind}: ${what} is refused as ${reason}`, async () => {
        const before = await made.counted("bff_csrf_violations_total", { reason });
        const response = await made.fetch(path, { method: "POST", headers: sent, body });
        const answer = (await response.json()) as { code: string; reason: string };
        assert.deepEqual([response.status, answer.code, answer.reason], [403, "csrf_failed", reason]);
        assert.equal(await made.counted("bff_csrf_violations_total", { reason }), before + 1);
        assert.deepEqual(upstream.seen, []);
      });
    await t.test(`${kind}: without Origin and Sec-Fetch-Site, as old clients send it, it is served`, async () => {
      const { origin: _origin, "sec-fetch-site": _site, ...rest } = headers;
      const response = await made.fetch(path, { method: "POST", headers: rest, body });
      assert.equal(response.status, 200, await response.text());
      upstream.seen.length = 0;
    });
  }
});

test("a safe request needs only that no foreign page made it", async (t) => {
  const upstream = recordingPeer();
  const made = await testGateway(t, { peers: { secrets: upstream.peer } });
  const { cookie } = await made.signIn("person:ben");
  for (const [site, status] of [
    [undefined, 200],
    ["same-origin", 200],
    ["none", 200],
    ["same-site", 403],
    ["cross-site", 403],
  ] as const) {
    const headers = new Headers(cookie);
    if (site !== undefined) headers.set("sec-fetch-site", site);
    const response = await made.fetch("/api/secrets?uri=x", { headers });
    assert.equal(response.status, status, site ?? "no header");
  }
});

test("without a session the answer is 401, whatever the CSRF headers say", async (t) => {
  const made = await testGateway(t);
  const { headers } = await made.signIn("person:ben");
  const { cookie: _cookie, ...rest } = headers;
  const response = await made.fetch("/api/secrets", { method: "POST", headers: rest, body: "{}" });
  assert.equal(response.status, 401);
  assert.equal(response.headers.get("www-authenticate"), "Cookie");
});
