import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { decodeJwt } from "jose";
import { Problem } from "#contract/problem.ts";
import { demoPassword } from "#demo/sign-ins.ts";
import { testDatabase } from "#testing/database.ts";
import { formsOf } from "#testing/form-browser.ts";
import { testIssuer } from "#testing/issuer.ts";
import { demoCode, issueOf, signIn, titleOf, visitor } from "#testing/sign-in.ts";

/** The clock stands until the test moves it; 10 s into a time step, so that steps change where the test says. */
const setUp = async (t: TestContext) => {
  t.mock.timers.enable({ apis: ["Date"], now: Math.floor(Date.now() / 30_000) * 30_000 + 10_000 });
  const op = await testIssuer(t, await testDatabase(t, ["authn"]));
  return {
    op,
    who: visitor(op),
    forward: (seconds: number) => t.mock.timers.tick(seconds * 1000),
    now: () => Math.floor(Date.now() / 1000),
  };
};

test("strong asks for password and code, and the tokens say so", async (t) => {
  const { who, now } = await setUp(t);
  const ben = await signIn(who, "ben", { acrValues: "strong" });
  assert.deepEqual([ben.acr, ben.amr, ben.authTime], ["strong", ["pwd", "otp"], now()]);
  const token = decodeJwt(ben.tokens.accessToken);
  assert.deepEqual([token["acr"], token["amr"], token["auth_time"]], ["strong", ["pwd", "otp"], now()]);
});

test("a present session is asked for the second factor, and cannot get past it", async (t) => {
  const { who, forward, now } = await setUp(t);
  await signIn(who, "ben");
  forward(120);
  const { page, checks } = await who.start({ acrValues: "strong", maxAge: 300 });
  assert.equal(titleOf(page), "One-time code");
  const wrong = await who.submit(page, { code: "000000" });
  assert.equal(wrong.stopped, false);
  assert.match(issueOf(wrong), /The code is wrong/);
  const empty = await who.submit(wrong, { code: "" });
  assert.equal(empty.stopped, false);
  const done = await who.submit(empty, { code: demoCode() });
  const ben = await who.finish(done, checks, { assurance: "strong", maxAge: 300 });
  assert.deepEqual([ben.acr, ben.amr, ben.authTime], ["strong", ["pwd", "otp"], now()]);
});

test("posting the password alone to a step-up does not make it strong", async (t) => {
  const { who } = await setUp(t);
  await signIn(who, "ben");
  const { page } = await who.start({ acrValues: "strong" });
  const answer = await fetch(page.url, {
    method: "POST",
    body: new URLSearchParams({ login: "ben", password: demoPassword }),
    headers: { cookie: [...who.browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
    redirect: "manual",
  });
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /One-time code/);
});

test("a session older than max_age is asked for everything again", async (t) => {
  const { who, forward, now } = await setUp(t);
  const first = await signIn(who, "ben", { acrValues: "strong" });
  forward(200);
  const kept = await signIn(who, "ben", { acrValues: "strong", maxAge: 300 });
  assert.equal(kept.authTime, first.authTime);
  forward(200);
  const { page, checks } = await who.start({ acrValues: "strong", maxAge: 300 });
  assert.equal(titleOf(page), "Sign in");
  const code = await who.submit(page, { login: "ben", password: demoPassword });
  assert.equal(titleOf(code), "One-time code");
  const fresh = await who.finish(await who.submit(code, { code: demoCode() }), checks);
  assert.deepEqual([fresh.acr, fresh.authTime], ["strong", now()]);
});

test("prompt=login asks again although the session is fresh", async (t) => {
  const { who, forward, now } = await setUp(t);
  await signIn(who, "ben");
  assert.equal((await who.start()).page.stopped, true);
  forward(5);
  const { page } = await who.start({ prompt: "login" });
  assert.equal(titleOf(page), "Sign in");
  assert.equal(formsOf(page.html)[0]?.fields["login"], "ben");
  assert.equal((await signIn(who, "ben", { prompt: "login" })).authTime, now());
});

test("prompt=none never shows a page: it says what is missing", async (t) => {
  const { who } = await setUp(t);
  const before = await who.start({ prompt: "none" });
  assert.equal(before.page.url.searchParams.get("error"), "login_required");
  await assert.rejects(who.finish(before.page, before.checks), { code: "login_failed" });
  await signIn(who, "ben");
  const weak = await who.start({ prompt: "none", acrValues: "strong" });
  assert.equal(weak.page.url.searchParams.get("error"), "unmet_authentication_requirements");
});

test("a code is accepted once, from nobody twice", async (t) => {
  const { op, who } = await setUp(t);
  await signIn(who, "ben", { acrValues: "strong" });
  const other = visitor(op);
  const { page } = await other.start({ acrValues: "strong" });
  const code = await other.submit(page, { login: "ben", password: demoPassword });
  const replayed = await other.submit(code, { code: demoCode() });
  assert.equal(replayed.stopped, false);
  assert.match(issueOf(replayed), /used already/);
  const next = await other.submit(replayed, { code: demoCode(1) });
  assert.equal(next.stopped, true);
  const cleo = await signIn(visitor(op), "cleo", { acrValues: "strong" });
  assert.equal(cleo.acr, "strong");
});

test("of two requests with one code only one is let in", async (t) => {
  const { op } = await setUp(t);
  const pages = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const who = visitor(op);
      const { page } = await who.start({ acrValues: "strong" });
      return { who, page: await who.submit(page, { login: "ben", password: demoPassword }) };
    }),
  );
  const answers = await Promise.all(pages.map(({ who, page }) => who.submit(page, { code: demoCode() })));
  assert.equal(answers.filter((answer) => answer.stopped).length, 1);
});

test("codes of the step before and after are taken for clocks that differ, older ones are not", async (t) => {
  const { op } = await setUp(t);
  for (const [steps, taken] of [
    [-2, false],
    [2, false],
    [-1, true],
    [1, true],
  ] as const) {
    const who = visitor(op);
    const { page } = await who.start({ acrValues: "strong" });
    const code = await who.submit(page, { login: "ben", password: demoPassword });
    assert.equal((await who.submit(code, { code: demoCode(steps) })).stopped, taken, `${steps} steps`);
  }
});

test("five wrong codes lock the second factor for five minutes, in every browser", async (t) => {
  const { op, who, forward } = await setUp(t);
  const { page } = await who.start({ acrValues: "strong" });
  let at = await who.submit(page, { login: "ben", password: demoPassword });
  for (let i = 0; i < 5; i++) {
    at = await who.submit(at, { code: String(100_000 + i) });
    assert.match(issueOf(at), /The code is wrong/);
  }
  assert.match(issueOf(await who.submit(at, { code: demoCode() })), /Wait five minutes/);
  const other = visitor(op);
  const second = await other.start({ acrValues: "strong" });
  const code = await other.submit(second.page, { login: "ben", password: demoPassword });
  assert.match(issueOf(await other.submit(code, { code: demoCode() })), /Wait five minutes/);
  forward(301);
  assert.equal((await signIn(visitor(op), "ben", { acrValues: "strong" })).acr, "strong");
});

test("the first factor holds for five minutes, in its own sign-in alone", async (t) => {
  const { op, who, forward } = await setUp(t);
  const { page } = await who.start({ acrValues: "strong" });
  const code = await who.submit(page, { login: "ben", password: demoPassword });
  const proof = formsOf(code.html)[0]?.fields["proof"] ?? "";
  const other = visitor(op);
  const second = await other.start({ acrValues: "strong" });
  const stolen = await fetch(`${second.page.url.href}/code`, {
    method: "POST",
    body: new URLSearchParams({ proof, code: demoCode() }),
    headers: { cookie: [...other.browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
    redirect: "manual",
  });
  assert.match(await stolen.text(), /Enter your password again/);
  forward(301);
  const late = await who.submit(code, { code: demoCode() });
  assert.match(issueOf(late), /took too long/);
});

test("a plain sign-in after a strong one is a plain one", async (t) => {
  const { who } = await setUp(t);
  await signIn(who, "ben", { acrValues: "strong" });
  const plain = await signIn(who, "ben", { prompt: "login" });
  assert.deepEqual([plain.acr, plain.amr], [undefined, ["pwd"]]);
});

test("the client refuses a sign-in that is less than the step-up it asked for", async (t) => {
  const { who, forward } = await setUp(t);
  const plain = await who.start();
  const done = await who.submit(plain.page, { login: "ben", password: demoPassword });
  await assert.rejects(who.finish(done, plain.checks, { assurance: "strong" }), { code: "step_up_not_met" });
  forward(400);
  const stale = await who.start();
  await assert.rejects(
    who.finish(stale.page, stale.checks, { maxAge: 300 }),
    (error) => error instanceof Problem && error.code === "step_up_not_met" && error.status === 403,
  );
});
