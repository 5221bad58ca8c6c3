import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { testServer } from "#testing/postgres-database.ts";
import { until } from "#testing/until.ts";
import { requirePostgresGround } from "./postgres-ground.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const server = testServer();

test("the decision point is away: what it decides is 503, all else serves on; it returns, and nobody signs in again", async (t) => {
  const ground = await requirePostgresGround(t, server);
  if (ground === undefined) return;
  const { environment, folder } = ground;
  const port = await findFreePorts();
  const running = new Map<string, TestInstance>();
  cleanUp(t, async () => {
    for (const instance of running.values()) await instance.kill();
  });
  const start = async (serve: string): Promise<void> => {
    running.set(serve, await startTestInstance({ port, data: join(folder, "data"), serve, environment }));
  };
  await start("issuer,membership,secrets,crud");
  await start("pdp");
  await start("gateway");
  const origin = `http://localhost:${port}`;
  const ada = await signInPerson(origin, "ada");
  const [token, agent] = [await fetchToken(port, { user: "ada" }), await fetchToken(port, { user: "ben", agent: "agent:hr-assistant" })];

  const say = async (path: string, init: RequestInit = {}): Promise<string> => {
    const response = await fetch(`${origin}${path}`, { redirect: "manual", ...init });
    const { code } = (await response.json().catch(() => ({}))) as { code?: string };
    if (response.status === 503) assert.ok(response.headers.get("retry-after"), path);
    return `${response.status} ${code ?? ""}`.trim();
  };
  const explain = JSON.stringify({ method: "GET", target: "/api/v1/sessions" });
  const bearer = (value: string) => ({ authorization: `Bearer ${value}`, "content-type": "application/json" });
  /** Rows that the gateway itself has decided, by session and by token. */
  const decided = async (): Promise<readonly string[]> => [
    await say("/api/v1/stream/health", { headers: { cookie: ada.cookie } }),
    await say("/api/v1/routes/explain", { method: "POST", headers: ada.headers, body: explain }),
    await say("/api/v1/routes/explain", { method: "POST", headers: bearer(token), body: explain }),
  ];
  /** Sessions, tokens and nobody, where nothing has to be decided. */
  const undecided = async (): Promise<readonly string[]> => [
    await say("/api/v1/sessions", { headers: { cookie: ada.cookie } }),
    await say("/auth/session", { headers: { cookie: ada.cookie } }),
    await say("/auth/csrf", { headers: { cookie: ada.cookie } }),
    await say("/auth/verify", { headers: { cookie: ada.cookie } }),
    await say("/mcp", {
      method: "POST",
      headers: { ...bearer(agent), accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    }),
    await say("/api/v1/metrics", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ event: "page.shown" }),
    }),
    await say("/.well-known/sallyport-jwks.json"),
    await say("/.well-known/authzen-configuration"),
    await say("/.well-known/oauth-protected-resource/mcp"),
    await say("/api/v1/health/ready"),
    await say("/api/v1/health/live"),
    await say("/api/v1/health"),
  ];
  const [allDecided, others] = [await decided(), await undecided()];
  assert.deepEqual(new Set(allDecided), new Set(["200"]), JSON.stringify(allDecided));
  assert.deepEqual(new Set(others), new Set(["200", "202"]), JSON.stringify(others));

  await running.get("pdp")?.kill();
  for (let round = 0; round < 10; round++) {
    assert.deepEqual(new Set(await decided()), new Set(["503 decision_unavailable"]));
    assert.deepEqual(await undecided(), others);
  }

  await start("pdp");
  await until(decided, (said) => said.every((one) => one === "200"));
  assert.deepEqual(await undecided(), others);
});
