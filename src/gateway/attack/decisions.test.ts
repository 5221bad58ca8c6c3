import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { answerTo, attackWorld, rawGet, rawJson } from "#testing/attack-world.ts";
import { endlessAnswer } from "#testing/endless-answer.ts";
import { sharedDatabase } from "#testing/gateway.ts";

const database = sharedDatabase();
const pages = { resource: { type: "pages" }, action: { name: "view_all" } };
const deep = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

test("attack 41: what a client says of itself in an evaluation is dropped and counted; what has two readings is refused", async (t) => {
  const world = await attackWorld(t, await database());
  const one = (body: string) => answerTo(world, rawJson("/access/v1/evaluation", "<C>", body));
  const many = (body: string) => answerTo(world, rawJson("/access/v1/evaluations", "<C>", body));

  const forged = await one(JSON.stringify({ ...pages, subject: { type: "identity", id: "person:ada" }, context: { agent: "agent:x" } }));
  assert.equal(forged.status, 200, forged.body);
  const asked = JSON.parse(world.pdp.seen[0]?.body ?? "") as { subject: { id: string }; context: Record<string, unknown> };
  assert.deepEqual([asked.subject.id, asked.context["agent"]], ["person:ben", undefined]);
  assert.equal(await world.made.counted("bff_security_events_total", { event_type: "authz_subject_override" }), 1);
  assert.equal(await world.made.counted("bff_security_events_total", { event_type: "authz_context_override" }), 1);

  const keyed = await many(JSON.stringify({ evaluations: ["__proto__", "constructor"].map((key) => ({ key, ...pages })) }));
  assert.equal(keyed.status, 200, keyed.body);
  assert.match(keyed.body, /"__proto__":\{"decision":true/);
  assert.equal(Object.hasOwn(Object.prototype, "decision"), false);

  world.pdp.seen.length = 0;
  for (const [what, body, status, code] of [
    [
      "an id of *",
      JSON.stringify({ evaluations: [{ resource: { type: "pages", id: "*" }, action: { name: "view" } }] }),
      400,
      "reserved_resource_id",
    ],
    [
      "double keys",
      JSON.stringify({
        evaluations: [
          { key: "a", ...pages },
          { key: "a", ...pages },
        ],
      }),
      400,
      "duplicate_key",
    ],
    ["10,000 items", JSON.stringify({ evaluations: Array.from({ length: 10_000 }, () => 1) }), 413, "too_many_evaluations"],
    ["depth 10,000", deep(10_000), 400, "body_unreadable"],
    [
      "a double member",
      '{"evaluations":[{"resource":{"type":"pages","type":"tasks"},"action":{"name":"view_all"}}]}',
      400,
      "duplicate_member",
    ],
    ["a double member, escaped", '{"evaluations":[],"evalu\\u0061tions":[]}', 400, "duplicate_member"],
    ["a byte order mark", `\u00ef\u00bb\u00bf${JSON.stringify(pages)}`, 400, "body_unreadable"],
    ["no UTF-8", '{"evaluations":"\u00e9"}', 400, "body_unreadable"],
  ] as const)
    await t.test(`attack 41: ${what}`, async () => {
      const bytes = Buffer.from(body, what === "a byte order mark" || what === "no UTF-8" ? "latin1" : "utf8");
      const request = rawJson("/access/v1/evaluations", "<C>", "").replace("Content-Length: 0", `Content-Length: ${bytes.length}`);
      const answer = await answerTo(world, request + bytes.toString("latin1"));
      assert.deepEqual([answer.status, answer.code], [status, code]);
      assert.deepEqual(world.pdp.seen, []);
    });
});

const json = (body: string): Response => new Response(body, { headers: { "content-type": "application/json" } });
const context = { decision_id: "d_1" };
/** Answers of a decision point that say nothing, whatever they look like. */
const hostile: readonly (readonly [what: string, answer: () => Response | Promise<Response>])[] = [
  ['"true"', () => Response.json({ decision: "true", context })],
  ["1", () => Response.json({ decision: 1, context })],
  ["null", () => Response.json({ decision: null, context })],
  ["no member", () => Response.json({ context })],
  ["a member of another case", () => Response.json({ Decision: true, context })],
  ["an empty array", () => Response.json({ evaluations: [] })],
  ["an array for one question", () => Response.json({ evaluations: [{ decision: true, context }] })],
  [
    "two items for one question",
    () =>
      Response.json([
        { decision: true, context },
        { decision: true, context },
      ]),
  ],
  ["bare true", () => json("true")],
  ["nothing", () => json("")],
  ["half an object", () => json('{"decision":true')],
  ["HTML with 200", () => new Response("<html>decision: true</html>", { headers: { "content-type": "text/html" } })],
  ["204", () => new Response(null, { status: 204 })],
  ["302 to a permit", () => new Response(null, { status: 302, headers: { location: "http://evil.example/permit" } })],
  ["403 with a permit", () => Response.json({ decision: true, context }, { status: 403 })],
  ["429", () => new Response("{}", { status: 429 })],
  ["500", () => Response.json({ decision: true, context }, { status: 500 })],
  ["no connection", () => Promise.reject(new Error("connect ECONNREFUSED"))],
];
const silent: typeof hostile = [
  ["no answer in 30 s", () => new Promise(() => {})],
  ["an endless body", () => endlessAnswer(1024)],
];

const opensNothing = async (t: TestContext, answers: typeof hostile): Promise<void> => {
  for (const [what, answer] of answers)
    await t.test(`attack 42: ${what}`, async (one) => {
      const world = await attackWorld(one, await database(), { settings: { PDP_TIMEOUT_MS: "300" } });
      const decide = world.pdp.answer;
      world.pdp.answer = answer;
      for (const bytes of [rawGet("/admin/x", "<S>"), rawJson("/admin/x", "<C>", "{}")]) {
        const refused = await answerTo(world, bytes);
        assert.deepEqual([refused.status, refused.code], [503, "decision_unavailable"], refused.body);
        assert.ok(refused.headers.get("retry-after"));
      }
      assert.deepEqual(world.upstream.seen, []);
      world.pdp.answer = () => Response.json({ decision: false, context: { ...context, reason: "not_granted" } });
      assert.equal((await answerTo(world, rawGet("/admin/x", "<S>"))).status, 403);
      world.pdp.answer = decide;
      assert.equal((await answerTo(world, rawGet("/admin/x", "<S>"))).status, 200);
      assert.equal(world.upstream.seen.length, 1);
    });
};

test("attack 42: a decision point that says nothing usable opens nothing, and nothing of it is kept", (t) => opensNothing(t, hostile));

test("attack 42: a denial is told whatever the decision is called, and only a name that a header can hold becomes one", async (t) => {
  const world = await attackWorld(t, await database());
  const names: readonly (readonly [name: string, header: string | undefined])[] = [
    ["d_1", "d_1"],
    ["a\r\nset-cookie: a=b", undefined],
    ["a b", undefined],
    ["\x7f", undefined],
    ["\0", undefined],
    ["x".repeat(257), undefined],
  ];
  for (const [decision_id, header] of names) {
    world.pdp.answer = () => Response.json({ decision: false, context: { decision_id, reason: "not\r\ngranted" } });
    const refused = await answerTo(world, rawGet("/admin/x", "<S>"));
    assert.deepEqual(
      [refused.status, refused.code, refused.problem?.["decision_id"], refused.headers.get("x-decision-id")],
      [403, "access_denied", decision_id, header],
    );
    const asked = await answerTo(
      world,
      rawJson("/access/v1/evaluation", "<C>", '{"action":{"name":"view_all"},"resource":{"type":"pages"}}'),
    );
    assert.deepEqual([asked.status, asked.headers.get("x-decision-id"), asked.headers.get("set-cookie")], [200, header, undefined]);
  }
  assert.deepEqual(world.upstream.seen, []);
});

test("attack 42: a decision point that does not come to an end is given up", (t) => opensNothing(t, silent));
