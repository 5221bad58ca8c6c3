import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { ask } from "#contract/ask.ts";
import { endpoint } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { createLog, silentLog } from "#telemetry/log.ts";
import { answer, createRouter } from "./serve.ts";

const putThing = endpoint("crud", "PUT", "/things/{id}", {
  params: z.object({ id: z.string().max(5) }),
  query: z.strictObject({ limit: z.coerce.number().int().max(10).optional() }),
  body: z.strictObject({ name: z.string(), size: z.number() }),
  reply: z.object({ id: z.string(), name: z.string() }),
  auth: "bearer",
  agents: "never",
  summary: "A thing.",
});
const getLie = endpoint("crud", "GET", "/lie", { reply: z.object({ yes: z.boolean() }), auth: "none", summary: "Answers wrongly." });
const getRefusal = endpoint("crud", "GET", "/refusals", {
  query: z.strictObject({ code: z.enum(["conflict", "store_unavailable", "cycle"]) }),
  reply: z.object({}),
  auth: "none",
  problems: ["conflict"],
  summary: "Refuses.",
});

const router = (maxBodyBytes = 1000) => {
  const made = createRouter<string>({
    shareOf: (caller) => caller,
    name: "test",
    log: silentLog,
    validateReplies: true,
    maxBodyBytes,
    authenticate: async (request, wanted) => {
      if (wanted.auth === "none") return "";
      if (request.headers.get("authorization") !== "Bearer good") throw new Problem("unauthenticated");
      return "ben";
    },
  });
  made.serve(putThing, async ({ params, body }) => answer({ id: params.id, name: body.name }, { status: 201, headers: { etag: '"1"' } }));
  made.serve(getRefusal, async ({ query }) => {
    throw new Problem(query.code);
  });
  made.serve(getLie, async () => ({ yes: "no" }) as never);
  return made;
};

const send = (method: string, path: string, body?: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  router().fetch(
    new Request(`http://house${path}`, {
      method,
      headers: { authorization: "Bearer good", "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body }),
    }),
  );

const good = JSON.stringify({ name: "n", size: 1 });

const table: readonly (readonly [name: string, request: () => Promise<Response>, status: number, code: string])[] = [
  ["no credential comes before faults of the body", () => send("PUT", "/things/a", "{", { authorization: "" }), 401, "unauthenticated"],
  ["an unknown path", () => send("GET", "/nothing"), 404, "not_found"],
  ["a known path with another method", () => send("PATCH", "/things/a", good), 405, "method_not_allowed"],
  ["a parameter that does not fit", () => send("PUT", "/things/toolong", good), 404, "not_found"],
  ["an unknown query parameter", () => send("PUT", "/things/a?limit=1&agnet_id=x", good), 422, "unknown_parameter"],
  ["a query parameter named as what all objects have", () => send("PUT", "/things/a?__proto__=1", good), 422, "unknown_parameter"],
  ["a repeated query parameter", () => send("PUT", "/things/a?limit=1&limit=2", good), 400, "ambiguous_query"],
  ["a query value out of range", () => send("PUT", "/things/a?limit=11", good), 422, "unprocessable"],
  ["an unreadable body", () => send("PUT", "/things/a", "{"), 400, "body_unreadable"],
  ["a repeated member", () => send("PUT", "/things/a", '{"name":"a","name":"b","size":1}'), 400, "duplicate_member"],
  ["a wrong body", () => send("PUT", "/things/a", '{"name":1}'), 422, "invalid_body"],
  ["an unknown member", () => send("PUT", "/things/a", '{"name":"a","size":1,"nmae":2}'), 422, "unknown_member"],
  ["a body of another type", () => send("PUT", "/things/a", good, { "content-type": "text/plain" }), 415, "unsupported_media_type"],
  [
    "a charset that is not UTF-8",
    () => send("PUT", "/things/a", good, { "content-type": "application/json;charset=latin1" }),
    415,
    "unsupported_media_type",
  ],
  ["a body beyond the limit", () => send("PUT", "/things/a", JSON.stringify({ name: "x".repeat(2000), size: 1 })), 413, "body_too_large"],
  ["a reply that does not fit its schema", () => send("GET", "/lie"), 500, "internal"],
  ["a refusal that the endpoint declares", () => send("GET", "/refusals?code=conflict"), 409, "conflict"],
  ["a refusal that every endpoint may answer", () => send("GET", "/refusals?code=store_unavailable"), 503, "store_unavailable"],
  ["a refusal that the endpoint does not declare", () => send("GET", "/refusals?code=cycle"), 500, "internal"],
];

for (const [name, request, status, code] of table) {
  test(`${name} is answered ${status} ${code}`, async () => {
    const response = await request();
    assert.equal(response.status, status);
    assert.equal(response.headers.get("content-type"), "application/problem+json");
    const body = (await response.json()) as { code: string; correlation_id: string };
    assert.equal(body.code, code);
    assert.equal(body.correlation_id, response.headers.get("x-correlation-id"));
  });
}

test("all faults of a body are named at once", async () => {
  const body = (await (await send("PUT", "/things/a", '{"size":"x"}')).json()) as { errors: { path: string }[] };
  assert.deepEqual(body.errors.map((issue) => issue.path).sort(), ["/name", "/size"]);
});

test("a well-formed correlation id is kept, another replaced", async () => {
  assert.equal((await send("PUT", "/things/a", good, { "x-correlation-id": "abc-1" })).headers.get("x-correlation-id"), "abc-1");
  assert.notEqual((await send("PUT", "/things/a", good, { "x-correlation-id": "a b" })).headers.get("x-correlation-id"), "a b");
});

test("ask fills the path, reads the reply and throws the problem of a refusal", async () => {
  const peer = router().fetch;
  const headers = { authorization: "Bearer good" };
  assert.deepEqual(await ask(peer, putThing, { params: { id: "a" }, body: { name: "n", size: 1 }, headers }), { id: "a", name: "n" });
  await assert.rejects(
    ask(peer, putThing, { params: { id: "a" }, body: { name: "n", size: 1 } }),
    (error: unknown) => error instanceof Problem && error.code === "unauthenticated",
  );
});

for (const [code, level] of [
  ["not_supported", "info"],
  ["store_unavailable", "error"],
  ["conflict", undefined],
] as const)
  test(`a refusal ${code} is logged as ${level ?? "nothing"}`, async () => {
    const lines: string[] = [];
    const log = createLog({
      level: "debug",
      service: "test",
      version: "0",
      environment: "test",
      write: (line) => void lines.push((JSON.parse(line) as { level: string }).level),
    });
    const refusing = createRouter<string>({
      shareOf: (caller) => caller,
      name: "test",
      log,
      validateReplies: true,
      maxBodyBytes: 1000,
      authenticate: async () => "",
    });
    const shape = endpoint("crud", "GET", "/refused", {
      reply: z.object({}),
      auth: "none",
      problems: ["not_supported", "store_unavailable", "conflict"],
      summary: "Refuses.",
    });
    refusing.serve(shape, async () => {
      throw new Problem(code);
    });
    await refusing.fetch(new Request("http://localhost/refused"));
    assert.deepEqual(lines, level === undefined ? [] : [level]);
  });

test("a large body is read in pieces, with others in between", async () => {
  const made = createRouter<string>({
    shareOf: () => undefined,
    name: "test",
    log: silentLog,
    validateReplies: true,
    maxBodyBytes: 16_777_216,
    authenticate: async () => "ben",
  });
  const many = endpoint("crud", "POST", "/many", {
    body: z.record(z.string(), z.unknown()),
    maxMembers: 200_000,
    reply: z.object({ count: z.number(), turns: z.number() }),
    auth: "bearer",
    agents: "never",
    summary: "Many members.",
  });
  let turns = 0;
  made.serve(many, async ({ body }) => ({ count: Object.keys(body).length, turns }));
  const body = `{${Array.from({ length: 90_000 }, (_none, at) => `"n${at}":1`).join()}}`;
  const request = new Request("http://internal/many", { method: "POST", headers: { "content-type": "application/json" }, body });
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  turn();
  const answered = (await (await made.fetch(request)).json()) as { readonly count: number; readonly turns: number };
  isOver = true;
  assert.equal(answered.count, 90_000);
  assert.ok(answered.turns > 6, `${answered.turns} turns`);
});
