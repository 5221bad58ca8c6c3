import assert from "node:assert/strict";
import { request } from "node:http";
import { test, type TestContext } from "node:test";
import { decodeJwt } from "jose";
import { Problem } from "#contract/problem.ts";
import { createLog } from "#telemetry/log.ts";
import { demoPassword } from "#demo/sign-ins.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { formsOf } from "#testing/form-browser.ts";
import { testIssuer } from "#testing/issuer.ts";
import { demoCode, issueOf, signIn, visitor } from "#testing/sign-in.ts";

const setUp = async (t: TestContext) => {
  const op = await testIssuer(t, await testDatabase(t, ["authn"]));
  return { op, who: visitor(op) };
};

forEachDatabase("ben signs in with code + PKCE, and everything about him is right", ["authn"], async (t, database) => {
  const op = await testIssuer(t, database);
  const before = Math.floor(Date.now() / 1000);
  const ben = await signIn(visitor(op), "ben");
  assert.deepEqual(
    [ben.sub, ben.tenant, ben.name, ben.acr, ben.amr, ben.issuer],
    ["person:ben", "tenant:acme", "Ben Baker", undefined, ["pwd"], op.url],
  );
  assert.ok((ben.authTime ?? 0) >= before && (ben.authTime ?? 0) <= Date.now() / 1000);
  assert.ok(ben.tokens.refreshToken !== undefined && ben.tokens.idToken !== undefined);
  const token = decodeJwt(ben.tokens.accessToken);
  assert.deepEqual(
    [token.sub, token["tenant"], token["scope"], token["client_id"], token.aud],
    ["person:ben", "tenant:acme", "mcp.tools.invoke", "sallyport-web", [...op.audiences]],
  );
  assert.deepEqual([token["acr"], token["amr"], token["auth_time"]], [undefined, ["pwd"], ben.authTime]);
});

test("the page has no script, may load nothing, keeps nothing, and lists the demo sign-ins with their password", async (t) => {
  const { op, who } = await setUp(t);
  const { page } = await who.start();
  assert.doesNotMatch(page.html, /<script|\son[a-z]+=|style="|javascript:/i);
  const csp = page.headers.get("content-security-policy") ?? "";
  assert.match(
    csp,
    /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; form-action 'self' http:\/\/localhost:8080; base-uri 'none'; frame-ancestors 'none'$/,
  );
  assert.equal(page.headers.get("cache-control"), "no-store");
  assert.doesNotMatch(csp, /unsafe/);
  for (const login of ["ada", "ben", "cleo", "dan", "eve"]) assert.ok(page.html.includes(`?login=${login}`), login);
  assert.ok(page.html.includes(`<code>${demoPassword}</code>`));
  const prefilled = await who.browser.open(`${op.url}${page.url.pathname}?login=cleo`);
  assert.equal(formsOf(prefilled.html)[0]?.fields["login"], "cleo");
});

test("every input has a label, the language is named, and a fault is announced and tied to its field", async (t) => {
  const { who } = await setUp(t);
  const { page } = await who.start({ acrValues: "strong" });
  const wrong = await who.submit(page, { login: "ben", password: "wrong" });
  const code = await who.submit(wrong, { login: "ben", password: demoPassword });
  const wrongCode = await who.submit(code, { code: "000000" });
  for (const at of [page, wrong, code, wrongCode]) {
    assert.match(at.html, /<html lang="en">/);
    for (const [tag] of at.html.matchAll(/<input(?![^>]*type="hidden")[^>]*>/g)) {
      const id = /\sid="([^"]+)"/.exec(tag)?.[1];
      assert.ok(id !== undefined && at.html.includes(`<label for="${id}">`), tag);
    }
  }
  for (const at of [wrong, wrongCode])
    assert.match(at.html, /<p class="fault" id="fault" role="alert">[\s\S]*aria-invalid="true" aria-describedby="fault"/);
});

test("what a stranger puts into the address or the name is text, never markup", async (t) => {
  const { who } = await setUp(t);
  const evil = `"><script>alert(1)</script>'&`;
  const { page } = await who.start({ loginHint: evil });
  assert.doesNotMatch(page.html, /<script/);
  assert.equal(formsOf(page.html)[0]?.fields["login"], evil);
  const again = await who.submit(page, { login: evil, password: "x" });
  assert.doesNotMatch(again.html, /<script/);
});

test("a wrong password and an unknown name get the same answer, and the password is not sent back", async (t) => {
  const { who } = await setUp(t);
  const { page } = await who.start();
  const wrong = await who.submit(page, { login: "ben", password: "hunter2" });
  const unknown = await who.submit(page, { login: "nobody", password: "hunter2" });
  assert.equal(wrong.status, 400);
  assert.equal(issueOf(wrong), "The name or the password is wrong.");
  assert.equal(issueOf(unknown), issueOf(wrong));
  assert.doesNotMatch(wrong.html, /hunter2/);
});

test("ten wrong passwords lock the account for five minutes, for the right one too, and nobody else's", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const { op, who } = await setUp(t);
  const { page } = await who.start();
  for (let i = 0; i < 10; i++) assert.match(issueOf(await who.submit(page, { login: "ben", password: `wrong ${i}` })), /wrong\.$/);
  assert.match(issueOf(await who.submit(page, { login: "ben", password: demoPassword })), /Wait five minutes/);
  const cleo = await who.submit(page, { login: "cleo", password: demoPassword });
  assert.ok(cleo.stopped);
  t.mock.timers.tick(301_000);
  assert.equal((await signIn(visitor(op), "ben")).sub, "person:ben");
});

test("cancelling at the code page goes back to the client, which says so", async (t) => {
  const { who } = await setUp(t);
  const { page, checks } = await who.start({ acrValues: "strong" });
  const code = await who.submit(page, { login: "ben", password: demoPassword });
  const back = await who.submit(code, {}, 1);
  assert.equal(back.url.searchParams.get("error"), "access_denied");
  await assert.rejects(
    who.finish(back, checks),
    (error) => error instanceof Problem && error.code === "login_failed" && /cancelled/.test(error.options.detail ?? ""),
  );
});

test("a form from another site is refused, a form without its cookie has expired", async (t) => {
  const { op, who } = await setUp(t);
  const { page } = await who.start();
  const cookie = [...who.browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const post = (headers: Record<string, string>) =>
    fetch(page.url, { method: "POST", body: new URLSearchParams({ login: "ben", password: demoPassword }), headers, redirect: "manual" });
  for (const headers of [{ origin: "https://evil.example" }, { origin: "null" }, { "sec-fetch-site": "cross-site" }] as Record<
    string,
    string
  >[])
    assert.equal((await post({ cookie, ...headers })).status, 403, JSON.stringify(headers));
  const strange = await post({});
  assert.equal(strange.status, 400);
  assert.match(await strange.text(), /expired/);
  assert.equal((await post({ cookie, origin: op.url })).status, 303);
});

test("a form larger than any of ours is not read", async (t) => {
  const { who } = await setUp(t);
  const { page } = await who.start();
  const cookie = [...who.browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const answer = await fetch(page.url, {
    method: "POST",
    body: new URLSearchParams({ login: "x".repeat(10_000) }),
    headers: { cookie },
    redirect: "manual",
  });
  assert.equal(answer.status, 413);
});

test("only the issuer's own host is served, so no address of its answers can be forged", async (t) => {
  const { op } = await setUp(t);
  const { port } = new URL(op.url);
  for (const host of ["evil.example", `127.0.0.1:${port}`, `localhost.:${port}`]) {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      request({ host: "127.0.0.1", port, path: "/.well-known/openid-configuration", headers: { host } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on("error", reject)
        .end();
    });
    assert.equal(status, 421, host);
  }
});

test("passwords, codes and tokens reach no log line", async (t) => {
  const lines: string[] = [];
  const log = createLog({ level: "debug", service: "issuer", version: "0", environment: "test", write: (line) => void lines.push(line) });
  const op = await testIssuer(t, await testDatabase(t, ["authn"]), { log });
  const who = visitor(op);
  const { page } = await who.start({ acrValues: "strong" });
  const again = await who.submit(page, { login: "ben", password: "canary-password" });
  const code = await who.submit(again, { login: "ben", password: demoPassword });
  await who.submit(code, { code: "314159" });
  const ben = await signIn(visitor(op), "ben", { acrValues: "strong" });
  const all = lines.join("");
  assert.ok(lines.length >= 2);
  for (const secret of [
    "canary-password",
    demoPassword,
    "314159",
    demoCode(),
    ben.tokens.accessToken,
    ben.tokens.refreshToken ?? "",
    "person:ben",
  ])
    assert.ok(!all.includes(secret), secret.slice(0, 12));
});
