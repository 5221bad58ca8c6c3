import assert from "node:assert/strict";
import { test } from "node:test";
import { answerTo, attackWorld, HOST, rawGet, rawJson, rawPost, send } from "#testing/attack-world.ts";
import { rawExchange, sharedDatabase } from "#testing/gateway.ts";

const database = sharedDatabase();

test("attack 50: metrics are for this machine, and not for what was forwarded here", async (t) => {
  const world = await attackWorld(t, await database());
  for (const path of ["/metrics", "/api/v1/metrics"]) {
    for (const line of [
      "X-Forwarded-For: 10.0.0.1",
      "X-Forwarded-For: 127.0.0.1",
      "Forwarded: for=127.0.0.1",
      "Via: 1.1 x",
      "X-Real-IP: 127.0.0.1",
    ]) {
      const answer = await answerTo(world, rawGet(path, `${line}\r\n`));
      assert.deepEqual([answer.status, answer.code], [403, "access_denied"], `${path} ${line}`);
    }
    assert.equal((await answerTo(world, `GET ${path} HTTP/1.1\r\nHost: metrics.example\r\n\r\n`)).status, 403);
    assert.equal((await answerTo(world, rawGet(path))).status, 200);
  }
});

test("attack 50: 10,000 random methods, paths and users add no series", { timeout: 60_000 }, async (t) => {
  const world = await attackWorld(t, await database());
  const { identity, metrics } = world.made;
  const seriesOf = async (): Promise<string[]> =>
    (await metrics.text())
      .split("\n")
      // Background work comes by the clock, not by requests.
      .filter((line) => line !== "" && !line.startsWith("#") && !line.startsWith("bff_background_"))
      .map((line) => line.slice(0, line.lastIndexOf(" ")));
  const tokenOf = (index: number) =>
    identity.tokenFor({ sub: `person:random-${index}`, tenant: `tenant:random-${index}`, scopes: [], clientId: `client-${index}` });
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
  const attack = async (from: number, paths: number, others: number): Promise<void> => {
    const targets = Array.from({ length: paths }, (_one, index) => {
      const at = from + index;
      return `${methods[at % methods.length] ?? ""} /nothing-${at}/x${at % 3 === 0 ? "" : `?q=${at}`} HTTP/1.1\r\n${HOST}Content-Length: 0\r\n\r\n`;
    });
    for (let at = 0; at < targets.length; at += 50) {
      const some = targets.slice(at, at + 50);
      const { answers } = await send(world, some.join(""), some.length);
      assert.equal(answers.length, some.length);
    }
    for (let at = from; at < from + others; at++) {
      await send(world, `X${at} /x HTTP/1.1\r\n${HOST}\r\n`);
      assert.equal(
        (await answerTo(world, rawGet(`/api/b/${at}`, `Connection: close\r\nAuthorization: Bearer ${await tokenOf(at)}\r\n`))).status,
        200,
      );
    }
  };
  // Each label that there is at all is there after the first few.
  await attack(0, 500, 10);
  const before = await seriesOf();
  await attack(500, 9000, 490);
  assert.deepEqual((await seriesOf()).toSorted(), before.toSorted());
  assert.ok(!before.some((line) => /random|nothing/.test(line)));
});

test("attack 50: an upstream that makes up statuses adds one series for all of them", async (t) => {
  const { made, port, upstream } = await attackWorld(t, await database());
  const ask = async (status: number): Promise<void> => {
    upstream.answer = () => new Response(null, { status });
    const [answer] = (await rawExchange(port, rawGet("/public/x"))).answers;
    assert.equal(answer?.status, status, "it is passed on all the same");
  };
  const known = [200, 404, 418, 503];
  const madeUp = [299, 333, 399, 420, 444, 460, 499, 520, 555, 599];
  for (const status of [...known, ...madeUp]) await ask(status);
  const counted = (status: string) => made.counted("http_requests_total", { endpoint: "public", status });
  for (const status of known) assert.equal(await counted(String(status)), 1, String(status));
  assert.equal(await counted("other"), madeUp.length);
});

const fullwidth = "\uff30\uff41\uff53\uff53\uff57\uff4f\uff52\uff44";

test("attack 51: what names a secret or a person is refused whole, and nothing of it is counted", async (t) => {
  const world = await attackWorld(t, await database());
  const post = (body: string) => {
    const bytes = Buffer.from(body, "utf8");
    return answerTo(
      world,
      rawPost("/api/v1/metrics", `Content-Type: application/json\r\nContent-Length: ${bytes.length}\r\n`, bytes.toString("latin1")),
    );
  };
  for (const [what, body, code] of [
    ["an escaped key", '{"event":"a","attributes":{"pass\\u0077ord":"x"}}', "sensitive_key"],
    ["nested", '{"event":"a","attributes":{"a":{"b":{"password":1}}}}', "sensitive_key"],
    ["in an array", '{"event":"a","attributes":{"a":[{"token":1}]}}', "sensitive_key"],
    ["e-mail", '{"event":"a","attributes":{"e-mail":"x"}}', "sensitive_key"],
    ["fullwidth letters", JSON.stringify({ event: "a", attributes: { [fullwidth]: "x" } }), "sensitive_key"],
    ["one bad among good", '{"events":[{"event":"a"},{"event":"a","attributes":{"secret":1}}]}', "sensitive_key"],
    ["a double member", '{"event":"a","event":"b"}', "duplicate_member"],
    ["10 KB of event name", JSON.stringify({ event: "a".repeat(10_240) }), "invalid_body"],
  ] as const)
    await t.test(`attack 51: ${what}`, async () => {
      const answer = await post(body);
      assert.deepEqual([answer.status, answer.code], [code === "duplicate_member" ? 400 : 422, code]);
    });
  assert.equal(await world.made.counted("bff_public_metrics_total", { event: "a" }), 0);
  assert.equal((await answerTo(world, rawJson("/api/v1/metrics", "", '{"event":"a"}'))).status, 202);
  assert.equal(await world.made.counted("bff_public_metrics_total", { event: "a" }), 1);
});
