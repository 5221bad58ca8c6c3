import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { brotliCompressSync, gunzipSync, gzipSync, brotliDecompressSync } from "node:zlib";
import { cleanUp } from "#testing/clean-up.ts";
import { decidingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();
const script = "export const answer = 42;\n".repeat(50);

const build = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "web-"));
  cleanUp(t, () => rm(folder, { recursive: true }));
  await mkdir(join(folder, "assets"));
  await writeFile(
    join(folder, "index.html"),
    '<!doctype html><head><script nonce="__CSP_NONCE__" src="/assets/a-1.js"></script><link nonce="__CSP_NONCE__"></head>',
  );
  await writeFile(join(folder, "assets/a-1.js"), script);
  await writeFile(join(folder, "assets/a-1.js.br"), brotliCompressSync(script));
  await writeFile(join(folder, "assets/a-1.js.gz"), gzipSync(script));
  await writeFile(join(folder, "assets/b-2.svg"), "<svg/>");
  return folder;
};

const world = async (
  t: TestContext,
  permit: Parameters<typeof decidingPeer>[0] = () => true,
  modules: Readonly<Record<string, boolean>> = { agents: true },
) => {
  const pdp = decidingPeer(permit);
  const made = await testGateway(t, {
    database: await database(),
    parts: { webFolder: await build(t) },
    peers: { pdp: pdp.peer, crud: async () => Response.json({ modules, brand: {} }) },
  });
  return {
    made,
    pdp,
    page: (path: string, headers: Readonly<Record<string, string>> = {}) =>
      made.fetch(path, { headers: { accept: "text/html", ...headers } }),
  };
};

test("the page has a nonce of its own each time, and a policy that runs nothing else", async (t) => {
  const { page } = await world(t);
  const nonces = new Set<string>();
  for (let index = 0; index < 3; index++) {
    const response = await page("/");
    const html = await response.text();
    const nonce = /nonce="([^"]+)"/.exec(html)?.[1] ?? "";
    assert.equal(Buffer.from(nonce, "base64").length, 16);
    assert.ok(!html.includes("__CSP_NONCE__"));
    nonces.add(nonce);
    assert.equal(
      response.headers.get("content-security-policy"),
      `default-src 'none'; script-src 'self' 'nonce-${nonce}'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types default`,
    );
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.equal(response.headers.get("referrer-policy"), "no-referrer");
    assert.equal(response.headers.get("x-content-type-options"), "nosniff");
    assert.equal(response.headers.get("cross-origin-opener-policy"), "same-origin");
    assert.match(response.headers.get("permissions-policy") ?? "", /camera=\(\).*clipboard-write=\(self\)$/);
    assert.equal(response.headers.get("strict-transport-security"), null, "not over plain HTTP");
  }
  assert.equal(nonces.size, 3);
});

test("assets never change: kept for a year, compressed as built, never asked for twice", async (t) => {
  const { made } = await world(t);
  const get = (headers: Readonly<Record<string, string>> = {}) => made.fetch("/assets/a-1.js", { headers });
  const plain = await get();
  assert.equal(await plain.text(), script);
  assert.deepEqual(
    ["content-type", "cache-control", "vary", "x-content-type-options", "cross-origin-resource-policy", "content-encoding"].map((name) =>
      plain.headers.get(name),
    ),
    ["text/javascript; charset=utf-8", "public, max-age=31536000, immutable", "Accept-Encoding", "nosniff", "same-origin", null],
  );
  const br = await get({ "accept-encoding": "gzip, deflate, br" });
  assert.equal(br.headers.get("content-encoding"), "br");
  assert.equal(brotliDecompressSync(Buffer.from(await br.arrayBuffer())).toString(), script);
  const gzip = await get({ "accept-encoding": "gzip, br;q=0" });
  assert.equal(gzip.headers.get("content-encoding"), "gzip");
  assert.equal(gunzipSync(Buffer.from(await gzip.arrayBuffer())).toString(), script);
  assert.equal(new Set([plain, br, gzip].map((response) => response.headers.get("etag"))).size, 3);
  const known = await get({ "if-none-match": plain.headers.get("etag") ?? "" });
  assert.deepEqual([known.status, known.headers.get("etag"), await known.text()], [304, plain.headers.get("etag"), ""]);
  assert.equal((await made.fetch("/assets/b-2.svg")).headers.get("content-type"), "image/svg+xml");
});

for (const path of ["/assets/none.js", "/assets/index.html", "/assets/a/b.js", "/assets/..%2findex.html", "/assets/", "/assets"])
  test(`${path} is no asset`, async (t) => {
    const { made } = await world(t);
    const response = await made.fetch(path, { headers: { accept: "text/html" } });
    assert.ok([400, 404].includes(response.status), String(response.status));
    assert.equal(response.headers.get("content-type"), "application/problem+json");
  });

test("unknown client paths get the page with 404; reserved prefixes never get it", async (t) => {
  const { made, page } = await world(t);
  assert.equal((await page("/tools")).status, 200);
  assert.equal((await page("/tools/people.demo.list_employees")).status, 200);
  assert.equal((await page("/why/d_01")).status, 200);
  const unknown = await page("/nothing/here");
  assert.deepEqual([unknown.status, unknown.headers.get("content-type")], [404, "text/html; charset=utf-8"]);
  for (const path of [
    "/api",
    "/api/x",
    "/access",
    "/access/v2",
    "/auth",
    "/auth/x",
    "/oauth/x",
    "/mcp/x",
    "/metrics/x",
    "/.well-known/x",
    "/events/x",
    "/v0.1/x",
  ]) {
    const response = await page(path);
    assert.notEqual(response.headers.get("content-type"), "text/html; charset=utf-8", path);
    assert.ok(response.status >= 400, path);
  }
  assert.equal((await made.fetch("/nothing", { headers: { accept: "application/json" } })).status, 404);
  assert.equal((await made.fetch("/tools", { headers: { accept: "application/json" } })).status, 404);
  assert.equal((await made.fetch("/tools", { headers: { accept: "*/*" } })).status, 200);
  assert.equal((await made.fetch("/tools", { method: "POST", body: "{}" })).status, 405);
  const head = await made.fetch("/tools", { method: "HEAD", headers: { accept: "text/html" } });
  assert.equal(head.status, 200);
});

test("a signed-in person who opens a screen that they may not see gets the page with 403", async (t) => {
  const { made, page } = await world(t, (type, _action, subject) => type === "tools" && subject === "person:ben");
  const dan = await made.signIn("person:dan");
  const ben = await made.signIn("person:ben");
  const status = async (path: string, headers: Readonly<Record<string, string>>) => {
    const response = await page(path, headers);
    assert.match(await response.text(), /<!doctype html>/, "always the page itself");
    return response.status;
  };
  for (const path of ["/tools", "/tools/x", "/delegations", "/delegations/new", "/delegations/delegation:ben-hr", "/why", "/requests"])
    assert.equal(await status(path, dan.cookie), 403, path);
  for (const path of ["/policies", "/policies/page-granted", "/policies/versions/new", "/policies/versions/v2+0123456789ab"])
    assert.equal(await status(path, ben.cookie), 403, path);
  for (const path of ["/", "/why/d_01", "/requests/r_01"]) assert.equal(await status(path, dan.cookie), 200, path);
  assert.equal(await status("/tools", ben.cookie), 200);
  assert.equal(await status("/tools", {}), 200, "nobody signed in: the page will say so");
  assert.equal(await status("/tools", { cookie: `sallyport_dev_sid_8080=${"A".repeat(43)}` }), 200, "a session that is over");
});

const mfa = { id: "mfa", type: "step-up", properties: { acr_value: "strong", max_age_seconds: 300 } };
for (const [what, said] of [
  ["denied for want of it", "step_up_required"],
  ["permitted with the obligation", { obligations: [mfa] }],
] as const)
  test(`a screen that wants a stronger sign-in is the page with 401 and the challenge: ${what}`, async (t) => {
    const { made, page } = await world(t, (type) => (type === "policies" ? said : true));
    const ada = await made.signIn("person:ada");
    const response = await page("/policies", ada.cookie);
    assert.deepEqual([response.status, response.headers.get("content-type")], [401, "text/html; charset=utf-8"]);
    assert.match(response.headers.get("www-authenticate") ?? "", /insufficient_user_authentication", acr_values="strong", max_age=300/);
    assert.match(await response.text(), /<!doctype html>/);
    assert.equal((await page("/tools", ada.cookie)).status, 200);
  });

test("a page that is refused names the decision, in its headers and to the client; no other page names one", async (t) => {
  const { made, page, pdp } = await world(t, () => false);
  const dan = await made.signIn("person:dan");
  const refused = await page("/tools", dan.cookie);
  const id = refused.headers.get("x-decision-id") ?? "";
  assert.match(id, /^[\w.:-]+$/);
  assert.ok((await refused.text()).includes(`<meta name="sallyport-refused-by" content="${id}"></head>`));
  pdp.answer = () =>
    Response.json(
      { decision: false, context: { decision_id: '"><script>', reason: "not_granted" } },
      { headers: { "x-decision-id": "x" } },
    );
  const hostile = await page("/tools", dan.cookie);
  assert.deepEqual([hostile.status, hostile.headers.get("x-decision-id")], [403, null]);
  assert.ok(!(await hostile.text()).includes("<script>"));
  for (const path of ["/", "/why/d_01", "/nothing"]) {
    const open = await page(path, dan.cookie);
    assert.equal(open.headers.get("x-decision-id"), null, path);
    assert.ok(!(await open.text()).includes("sallyport-refused-by"), path);
  }
});

test("a screen whose module is off is not there, and one that cannot be decided says so", async (t) => {
  const off = await world(t, () => true, { agents: false });
  const ben = await off.made.signIn("person:ben");
  for (const path of ["/delegations", "/policies", "/policies/versions/v1"])
    assert.equal((await off.page(path, ben.cookie)).status, 404, path);
  assert.equal((await off.page("/tools", ben.cookie)).status, 200);
  off.pdp.answer = () => new Response("{}", { status: 500 });
  const undecided = await off.page("/tools", ben.cookie);
  assert.deepEqual([undecided.status, undecided.headers.get("content-type")], [503, "text/html; charset=utf-8"]);
});

test("without a build the answer names the command, and everything else is served", async (t) => {
  const made = await testGateway(t, { database: await database() });
  const response = await made.fetch("/tools", { headers: { accept: "text/html" } });
  assert.equal(response.status, 503);
  assert.match(await response.text(), /npm run build:web/);
  assert.equal((await made.fetch("/auth/session")).status, 200);
});

test("a new build is served without a restart", async (t) => {
  const folder = await build(t);
  const made = await testGateway(t, { database: await database(), parts: { webFolder: folder } });
  assert.equal((await made.fetch("/assets/a-1.js")).status, 200);
  await writeFile(join(folder, "assets/c-3.js"), "3");
  assert.equal((await made.fetch("/assets/c-3.js")).status, 404);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await writeFile(join(folder, "index.html"), '<!doctype html><script nonce="__CSP_NONCE__" src="/assets/c-3.js"></script>');
  assert.equal((await made.fetch("/assets/c-3.js")).status, 200);
});
