import assert from "node:assert/strict";
import { test } from "node:test";
import { decidingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();
const routes = `version: 1
routes:
  - { id: wiki.public, path: /public/*, hosts: ["127.0.0.1:8080"], methods: [GET], auth: none, authz: none }
  - { id: wiki.read, path: /wiki/*, hosts: ["127.0.0.1:8080"], methods: [GET, POST], auth: session, authz: pdp, csrf: origin, authz_map: { GET: { resource: pages, action: view_all }, POST: { resource: pages, action: view_all } } }
  - { id: wiki.api, path: /api/*, hosts: ["127.0.0.1:8080"], methods: [GET, POST], auth: session, authz: none }
`;

const world = async (t: Parameters<typeof testGateway>[0], trusted = "127.0.0.1") => {
  const pdp = decidingPeer((_type, _action, subject) => (subject === "person:cleo" ? "step_up_required" : subject === "person:ben"));
  const made = await testGateway(t, {
    database: await database(),
    routes,
    peers: { pdp: pdp.peer },
    settings: { TRUSTED_PROXIES: trusted },
  });
  const ask = async (headers: Readonly<Record<string, string>>, query = "") => {
    const response = await made.fetch(`/auth/verify${query}`, { headers });
    const body = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      code: response.status >= 400 ? (JSON.parse(body) as { code: string }).code : body,
    };
  };
  const about = (uri: string, method = "GET", host = "127.0.0.1:8080") => ({
    "x-forwarded-method": method,
    "x-forwarded-uri": uri,
    "x-forwarded-host": host,
  });
  return { made, ask, about, ben: await made.signIn("person:ben"), dan: await made.signIn("person:dan"), pdp };
};

test("an untrusted peer is not believed, with an empty list too", async (t) => {
  for (const trusted of ["", "10.0.0.0/8"]) {
    const { ask, about, ben, made } = await world(t, trusted);
    assert.deepEqual(await ask({ ...about("/public/x") }).then(({ status, code }) => [status, code]), [403, "untrusted_proxy"]);
    assert.equal((await ask({ ...ben.cookie, "x-forwarded-uri": "/public/x" })).code, "untrusted_proxy");
    assert.equal((await ask({ ...ben.cookie, forwarded: "for=x" })).code, "untrusted_proxy");
    assert.ok((await made.counted("bff_security_events_total", { event_type: "untrusted_proxy" })) > 0);
    const own = await ask(ben.cookie);
    assert.deepEqual(
      [own.status, own.code, own.headers.get("x-user-id")],
      [200, "", "person:ben"],
      "without them it is a plain look at the session",
    );
    assert.equal((await ask({})).status, 401);
  }
});

test("a trusted proxy asks about a request: the row of its host decides, on the one canonical form", async (t) => {
  const { ask, about, ben, dan } = await world(t);
  const yes = await ask({ ...ben.cookie, ...about("/wiki/page?x=1") });
  assert.deepEqual(
    [yes.status, yes.code, yes.headers.get("x-user-id"), yes.headers.get("x-tenant-id")],
    [200, "", "person:ben", "tenant:acme"],
  );
  assert.equal((await ask(about("/public/x"))).status, 200);
  assert.equal((await ask(about("/public/x"))).headers.get("x-user-id"), null);
  assert.deepEqual(await ask({ ...dan.cookie, ...about("/wiki/page") }).then(({ status, code }) => [status, code]), [403, "access_denied"]);
  assert.equal((await ask({ ...ben.cookie, ...about("/other") })).code, "access_denied", "no row");
  assert.equal((await ask({ ...ben.cookie, ...about("/wiki/x", "DELETE") })).code, "access_denied", "no row for the method");
  assert.equal((await ask({ ...ben.cookie, ...about("/wiki/x", "GET", "evil") })).code, "access_denied", "no such host");
  for (const uri of ["/public/../wiki/x", "/public/%2e%2e/wiki", "//evil", "http://x/wiki", "/wiki/a%2fb"])
    assert.equal((await ask({ ...ben.cookie, ...about(uri) })).code, "ambiguous_target", uri);
  const { "x-forwarded-host": _host, ...missing } = about("/public/x");
  assert.deepEqual(await ask(missing).then(({ status, code }) => [status, code]), [400, "ambiguous_headers"]);
});

test("CSRF counts for the method asked about: with origin only what the browser says, else the token too", async (t) => {
  const { ask, about, ben } = await world(t);
  const origin = { origin: "http://127.0.0.1:8080", "sec-fetch-site": "same-origin" };
  assert.equal((await ask({ ...ben.cookie, ...about("/wiki/x", "POST"), ...origin })).status, 200);
  assert.equal((await ask({ ...ben.cookie, ...about("/wiki/x", "POST"), origin: "https://evil.example" })).code, "csrf_failed");
  assert.equal((await ask({ ...ben.cookie, ...about("/api/x", "POST"), ...origin })).code, "csrf_failed");
  assert.equal((await ask({ ...ben.headers, ...about("/api/x", "POST"), ...origin })).status, 200);
});

test("without a session the answer names where to sign in, and sends a page load there on request", async (t) => {
  const { ask, about, made } = await world(t);
  const refused = await ask(about("/wiki/page"));
  assert.deepEqual(
    [refused.status, refused.headers.get("www-authenticate"), refused.headers.get("x-login-url")],
    [401, "Cookie", "http://127.0.0.1:8080/auth/login?return_to=%2Fwiki%2Fpage"],
  );
  const response = await made.fetch("/auth/verify?redirect=true", { headers: { ...about("/wiki/page"), "sec-fetch-mode": "navigate" } });
  assert.deepEqual([response.status, response.headers.get("location")], [302, "http://127.0.0.1:8080/auth/login?return_to=%2Fwiki%2Fpage"]);
  const long = await ask(about(`/wiki/page?x=${"x".repeat(2048)}`));
  assert.deepEqual([long.status, long.headers.get("x-login-url")], [401, "http://127.0.0.1:8080/auth/login"]);
  assert.equal((await ask(about("/wiki/page"), "?redirect=true")).status, 401, "a script gets the answer itself");
  assert.equal((await made.fetch("/auth/forward", { method: "PUT", headers: about("/public/x") })).status, 200, "any method asks");
  assert.equal(await made.counted("bff_verify_duration_seconds_count", { status: "unauthenticated" }), 4);
});

test("who must sign in more strongly is sent to just that, and nobody in a circle", async (t) => {
  const { ask, about, made } = await world(t);
  const cleo = await made.signIn("person:cleo");
  const url = "http://127.0.0.1:8080/auth/login?acr_values=strong&max_age=300&return_to=%2Fwiki%2Fpage";
  const script = await ask({ ...cleo.cookie, ...about("/wiki/page") });
  assert.deepEqual([script.status, script.code, script.headers.get("x-login-url")], [401, "step_up_required", url]);
  const page = { ...cleo.cookie, ...about("/wiki/page"), "sec-fetch-mode": "navigate" };
  const sent = await made.fetch("/auth/verify?redirect=true", { headers: page });
  assert.deepEqual([sent.status, sent.headers.get("location")], [302, url]);
  const form = await made.fetch("/auth/verify?redirect=true", {
    headers: { ...page, "x-forwarded-method": "POST", origin: "http://127.0.0.1:8080" },
  });
  assert.equal(form.status, 401, "a form that was sent is not thrown away by a redirect");
});

test("a page load that another site began is asked to come again by itself; with a method that changes things it is refused", async (t) => {
  const { ask, about, made, ben } = await world(t);
  const foreign = { ...about("/wiki/page"), "sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site" };
  const again = await made.fetch("/auth/verify?redirect=true", { headers: foreign });
  assert.equal(again.status, 401);
  assert.match(await again.text(), /http-equiv="refresh" content="0"/);
  assert.equal(again.headers.get("x-login-url"), "http://127.0.0.1:8080/auth/login?return_to=%2Fwiki%2Fpage");
  assert.equal((await ask({ ...ben.cookie, ...foreign })).status, 401);
  assert.equal((await ask({ ...ben.cookie, ...foreign, "sec-fetch-site": "same-origin" })).status, 200);
  assert.equal((await ask({ ...ben.cookie, ...foreign, ...about("/wiki/x", "POST"), origin: "https://evil.example" })).code, "csrf_failed");
});

test("a proxy that addresses the gateway by another name is answered for the host that it asks about", async (t) => {
  const { made, about, ben } = await world(t);
  const inner = { host: "sallyport.internal:8080" };
  assert.equal((await made.fetch("/auth/verify", { headers: { ...inner, ...ben.cookie, ...about("/wiki/page") } })).status, 200);
  assert.equal(
    (await made.fetch("/auth/verify", { headers: { ...inner, ...ben.cookie } })).status,
    400,
    "without a request to ask about there is none",
  );
});
