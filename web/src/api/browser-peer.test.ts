import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { createBrowserPeer, repeatAfter } from "./browser-peer.ts";

interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: unknown;
  readonly credentials: unknown;
}

const problem = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify({ code, status }), { status, headers: { "content-type": "application/problem+json", ...headers } });

const setUp = (...answers: (() => Response | Promise<Response>)[]) => {
  const sent: Sent[] = [];
  const waits: number[] = [];
  let rechecks = 0;
  let ids = 0;
  let token = "t1";
  const peer = createBrowserPeer({
    fetch: async (input, init) => {
      const answer = answers[Math.min(sent.length, answers.length - 1)] ?? ok;
      sent.push({
        url: typeof input === "string" ? input : "",
        method: init?.method ?? "GET",
        headers: new Headers(init?.headers),
        body: init?.body,
        credentials: init?.credentials,
      });
      return await answer();
    },
    session: {
      csrfToken: () => token,
      recheck: async () => {
        rechecks += 1;
        token = "t2";
        await Promise.resolve();
      },
    },
    newId: () => `id-${(ids += 1)}`,
    sleep: async (milliseconds) => void waits.push(milliseconds),
    random: () => 0,
  });
  return { peer, sent, waits, rechecks: () => rechecks };
};

const ok = (): Response => Response.json({ ok: true });
const get = (): Request => new Request("http://page.test/api/x?a=1");
const post = (headers: Record<string, string> = {}): Request =>
  new Request("http://page.test/api/x", { method: "POST", body: '{"a":1}', headers });

test("a read carries what proves the page asked, and no CSRF token", async () => {
  const { peer, sent } = setUp(ok);
  await peer(get());
  const [call] = sent;
  assert.equal(call?.url, "/api/x?a=1");
  assert.equal(call.credentials, "same-origin");
  assert.equal(call.headers.get("x-requested-with"), "XMLHttpRequest");
  assert.match(call.headers.get("x-correlation-id") ?? "", /^id-/);
  assert.equal(call.headers.get("x-csrf-token"), null);
});

test("a write carries both CSRF headers with the same token, a type and an idempotency key", async () => {
  const { peer, sent } = setUp(ok);
  await peer(post());
  const [call] = sent;
  assert.equal(call?.body, '{"a":1}');
  assert.equal(call.headers.get("x-csrf-token"), "t1");
  assert.equal(call.headers.get("x-csrftoken"), "t1");
  assert.equal(call.headers.get("content-type"), "application/json");
  assert.match(call.headers.get("idempotency-key") ?? "", /^id-/);
  await peer(post({ "idempotency-key": "mine" }));
  assert.equal(sent[1]?.headers.get("idempotency-key"), "mine");
});

test("a refused CSRF token is read anew and the write repeated once, with the same idempotency key", async () => {
  const { peer, sent, rechecks } = setUp(() => problem(403, "csrf_failed"));
  const response = await peer(post());
  assert.equal(response.status, 403);
  assert.equal(sent.length, 2);
  assert.equal(rechecks(), 1);
  assert.equal(sent[1]?.headers.get("x-csrf-token"), "t2");
  assert.equal(sent[1].headers.get("idempotency-key"), sent[0]?.headers.get("idempotency-key"));
});

test("another refusal is not repeated", async () => {
  const { peer, sent, rechecks } = setUp(() => problem(403, "access_denied"));
  const response = await peer(post());
  assert.deepEqual([sent.length, rechecks(), response.status], [1, 0, 403]);
  assert.deepEqual(await response.json(), { code: "access_denied", status: 403 });
});

test("a 401 has the session read again; one that asks for a stronger sign-in has not", async () => {
  const out = setUp(() => problem(401, "unauthenticated", { "www-authenticate": "Cookie" }));
  await out.peer(get());
  assert.deepEqual([out.sent.length, out.rechecks()], [1, 1]);
  const stepUp = setUp(() => problem(401, "step_up_required", { "www-authenticate": 'Bearer error="insufficient_user_authentication"' }));
  await stepUp.peer(post());
  assert.deepEqual([stepUp.sent.length, stepUp.rechecks()], [1, 0]);
});

test("a read is repeated at most twice", async () => {
  const { peer, sent, waits } = setUp(() => problem(503, "busy", { "retry-after": "2" }));
  const response = await peer(get());
  assert.equal(response.status, 503);
  assert.equal(sent.length, 3);
  assert.deepEqual(waits, [2_000, 2_000]);
});

test("a read that found no network is repeated, then fails by name", async () => {
  const { peer, sent } = setUp(() => Promise.reject(new TypeError("network")));
  await assert.rejects(peer(get()), (error: unknown) => error instanceof Problem && error.code === "upstream_unavailable");
  assert.equal(sent.length, 3);
});

test("a write whose answer is lost is never repeated and its outcome is unknown", async () => {
  for (const lost of [new TypeError("network"), new DOMException("late", "TimeoutError")]) {
    const { peer, sent } = setUp(() => Promise.reject(lost));
    await assert.rejects(peer(post()), (error: unknown) => error instanceof Problem && error.code === "outcome_unknown");
    assert.equal(sent.length, 1);
  }
  const { peer, sent } = setUp(() => problem(503, "busy"));
  assert.equal((await peer(post())).status, 503);
  assert.equal(sent.length, 1);
});

test("what the page gave up is an abort, not a failure of Sallyport", async () => {
  const controller = new AbortController();
  const { peer } = setUp(() => {
    controller.abort();
    return Promise.reject(new DOMException("gone", "AbortError"));
  });
  await assert.rejects(peer(new Request(get(), { signal: controller.signal })), { name: "AbortError" });
});

test("only 429, 502 and 503 are worth another read, and not when told to wait long", () => {
  const after = (status: number, attempt: number, headers: Record<string, string> = {}) =>
    repeatAfter(new Response(null, { status, headers }), attempt, () => 1);
  assert.equal(after(429, 0, { "retry-after": "30" }), 30_300);
  assert.equal(after(502, 1), 600);
  for (const [status, attempt, header] of [
    [500, 0, "1"],
    [504, 0, "1"],
    [404, 0, "1"],
    [503, 2, "1"],
    [429, 0, "31"],
    [429, 0, "Wed, 21 Oct 2026 07:28:00 GMT"],
  ] as const)
    assert.equal(after(status, attempt, { "retry-after": header }), undefined, `${status} ${attempt} ${header}`);
});
