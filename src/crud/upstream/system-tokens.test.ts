import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Caller } from "#authn/model/caller.ts";
import { createShares } from "#http/shares.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { compileHttp } from "#crud/connectors/compile-http.ts";
import { readSystem } from "#crud/systems/load-systems.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import { createGuardedAgent } from "./guarded-agent.ts";
import { parseNetworks, readCeiling } from "./network-rules.ts";
import { createSystemTokens } from "./system-tokens.ts";

const callerOf = (tenant: string): Caller =>
  ({ sub: "person:ben", tenant, amr: [], actors: [], scopes: new Set<string>() }) as unknown as Caller;

interface Given {
  readonly allow?: readonly string[];
  readonly tokenUrl?: string;
  readonly internalPorts?: readonly number[];
}
/** A system whose tokens a second server gives: `t1`, `t2`, ... */
const build = async (t: TestContext, more: Given) => {
  const [api, issuer] = [await serverUpstream(t, "api"), await serverUpstream(t, "issuer")];
  const clock = { now: Date.parse("2026-01-01T00:00:00Z") };
  let given = 0;
  let reply: (body: object) => { readonly status: number; readonly body: unknown } = (body) => ({ status: 200, body });
  issuer.answer = (_request, response) => {
    const { status, body } = reply({ access_token: `t${++given}`, token_type: "Bearer", expires_in: 300 });
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const text = JSON.stringify({
    apiVersion: "systems/v1",
    provider: "up",
    instance: "test",
    title: "Fixture",
    owner: "group:people-ops",
    kind: "http",
    baseUrl: api.url,
    network: { allow: more.allow ?? ["127.0.0.1/32"] },
    auth: {
      type: "oauth2_client",
      tokenUrl: more.tokenUrl ?? `${issuer.url}/oauth2/token`,
      clientId: "yaml://secret/up#id",
      clientSecret: "yaml://secret/up#secret",
      scopes: ["people.read", "people.write"],
    },
    defaults: { dataScope: "none", retry: { max: 0 } },
    operations: {
      read: { description: "Reads one thing.", request: { method: "GET", path: "/a" } },
      write: { description: "Writes one thing.", request: { method: "POST", path: "/a" } },
    },
  });
  const file = await readSystem({ name: "up.test", text, shown: "up.test.yaml", read: async () => undefined });
  assert.ok("document" in file && file.document.kind === "http", JSON.stringify(file));
  const parts = {
    placeholders: {},
    requiresTls: false,
    internalPorts: new Set(more.internalPorts),
    ceiling: readCeiling(["0.0.0.0/0", "::/0"]),
    metrics: createMetrics(),
    now: () => new Date(clock.now),
    version: "1",
  };
  const compiled = await compileHttp({ ...file, document: file.document }, parts);
  if (compiled.kind === "tools") cleanUp(t, compiled.close);
  return { api, issuer, clock, compiled, answerTokens: (how: typeof reply) => void (reply = how) };
};
const begin = async (t: TestContext, more: Given = {}) => {
  const { compiled, clock, api, ...rest } = await build(t, more);
  if (compiled.kind !== "tools") throw new Error(JSON.stringify(compiled));
  const concealed: string[] = [];
  const call = async (name = "read", tenant = "tenant:acme"): Promise<string | undefined> => {
    const tool = compiled.tools.find((one) => one.name === `up.test.${name}`);
    assert.ok(tool);
    await tool.connector({
      callId: "call-1",
      correlationId: "c-1",
      caller: callerOf(tenant),
      decisionId: "d_1",
      toolName: tool.name,
      viewName: "",
      arguments: {},
      signal: new AbortController().signal,
      claim: createShares({ total: 1_000_000, perKey: 1_000_000 })(tenant),
      secret: async (uri) => (uri.endsWith("#id") ? "client:1" : "s3cret /+"),
      conceal: (value) => void concealed.push(value),
      now: new Date(clock.now),
    });
    return api.seen.at(-1)?.headers.authorization;
  };
  const failure = async (name?: string): Promise<readonly unknown[]> => {
    const error: unknown = await call(name).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof UpstreamError, String(error));
    return [error.problem.code, error.effect];
  };
  return { api, clock, call, failure, concealed, ...rest };
};

test("a token is had by client credentials, kept for its tenant until half a minute before its end, and concealed", async (t) => {
  const { issuer, clock, call, concealed } = await begin(t);
  assert.deepEqual(await Promise.all([call(), call(), call()]), ["Bearer t1", "Bearer t1", "Bearer t1"]);
  const [asked] = issuer.seen;
  assert.deepEqual(
    [issuer.seen.length, asked?.method, asked?.url, asked?.body, asked?.headers["content-type"]],
    [1, "POST", "/oauth2/token", "grant_type=client_credentials&scope=people.read+people.write", "application/x-www-form-urlencoded"],
  );
  assert.equal(Buffer.from(asked?.headers.authorization?.slice(6) ?? "", "base64").toString(), "client%3A1:s3cret+%2F%2B");
  assert.deepEqual(concealed, ["t1", "t1", "t1"]);
  assert.equal(await call("read", "tenant:globex"), "Bearer t2");
  clock.now += 269_000;
  assert.equal(await call(), "Bearer t1");
  clock.now += 1000;
  assert.equal(await call(), "Bearer t3");
});

test("a token that the system does not take is dropped, and the call tried once with another, a write too", async (t) => {
  const { api, issuer, call, failure } = await begin(t);
  const ok = api.answer;
  const refuse = (...tokens: readonly string[]): void => {
    api.answer = (request, response) =>
      tokens.includes(request.headers.authorization ?? "")
        ? void response.writeHead(401, { "content-type": "application/x-problem" }).end("no")
        : ok(request, response);
  };
  assert.equal(await call(), "Bearer t1");
  refuse("Bearer t1");
  assert.equal(await call("write"), "Bearer t2");
  assert.equal(await call(), "Bearer t2");
  assert.equal(issuer.seen.length, 2);
  refuse("Bearer t2", "Bearer t3");
  assert.deepEqual(await failure(), ["upstream_error", "failed"]);
  assert.equal(issuer.seen.length, 3);
});

for (const [name, status, body] of [
  ["refuses the client", 401, { error: "invalid_client" }],
  ["gives no token", 200, { token_type: "Bearer" }],
  ["gives a token of another kind", 200, { access_token: "a", token_type: "mac" }],
  ["gives a token that is no header", 200, { access_token: "a\r\nb: c", token_type: "Bearer" }],
] as const)
  test(`nothing is sent to the system where the token endpoint ${name}`, async (t) => {
    const { api, failure, answerTokens } = await begin(t);
    answerTokens(() => ({ status, body }));
    assert.deepEqual(await failure("write"), ["upstream_auth_failed", "not_sent"]);
    assert.equal(api.seen.length, 0);
  });

for (const [name, tokenUrl] of [
  ["that is not public", "http://10.0.0.1/token"],
  ["where nothing listens", "http://127.0.0.1:1/token"],
] as const)
  test(`a token endpoint at an address ${name} is not asked, and nothing is sent to the system`, async (t) => {
    const { api, failure } = await begin(t, { tokenUrl });
    assert.deepEqual(await failure("write"), ["upstream_error", "not_sent"]);
    assert.equal(api.seen.length, 0);
  });

const METADATA = "is an address of cloud metadata, which is never dialled";
const PORT_ISSUE = "is a port of this deployment, which is never dialled";
for (const [tokenUrl, says] of [
  ["http://169.254.169.254/token", METADATA],
  ["https://169.254.169.254/token", METADATA],
  ["http://169.254.1.2/token", METADATA],
  ["http://2852039166/token", METADATA],
  ["http://0xa9.0xfe.0xa9.0xfe/token", METADATA],
  ["http://0251.0376.0251.0376/token", METADATA],
  ["http://[::ffff:169.254.169.254]/token", METADATA],
  ["http://[::ffff:a9fe:a9fe]/token", METADATA],
  ["http://[64:ff9b::a9fe:a9fe]/token", METADATA],
  ["http://100.100.100.200/token", METADATA],
  ["http://[fd00:ec2::254]/token", METADATA],
  ["http://127.0.0.1:8080/token", PORT_ISSUE],
  ["http://localhost:8080/token", PORT_ISSUE],
  ["http://idp.localhost:8080/token", PORT_ISSUE],
  ["http://2130706433:8080/token", PORT_ISSUE],
  ["http://[::ffff:127.0.0.1]:8080/token", PORT_ISSUE],
  ["http://[::1]:8080/token", PORT_ISSUE],
  ["http://user:pw@127.0.0.1/token", "names a user"],
] as const)
  test(`a system with the token endpoint ${tokenUrl} is refused at its place, whatever its networks allow`, async (t) => {
    const allow = ["127.0.0.1/32", "169.254.0.0/16", "100.100.100.200/32", "fd00:ec2::/32", "::1/128"];
    const { compiled } = await build(t, { tokenUrl, allow, internalPorts: [8080] });
    if (compiled.kind !== "degraded") throw new Error(compiled.kind);
    assert.deepEqual(
      compiled.issues.map(({ path, message }) => [path, message]),
      [["/auth/tokenUrl", says]],
    );
  });

for (const [what, answer, internalPort, reason] of [
  ["metadata", "169.254.169.254", undefined, "metadata"],
  ["metadata behind an allowed address", "::ffff:169.254.169.254", undefined, "metadata"],
  ["a port of Sallyport", "127.0.0.1", 443, "internal_port"],
] as const)
  test(`a token endpoint whose name leads to ${what} is not asked, and the credential stays here`, async (t) => {
    const agent = createGuardedAgent({
      rules: {
        allow: parseNetworks(["127.0.0.1/32", "169.254.0.0/16"], readCeiling(["0.0.0.0/0", "::/0"])).blocks,
        ceiling: readCeiling(["0.0.0.0/0", "::/0"]),
        internalPorts: new Set(internalPort === undefined ? [] : [internalPort]),
      },
      resolve: async () => [{ address: answer }],
    });
    cleanUp(t, () => agent.close());
    const secret = { clientId: "yaml://secret/up#id", clientSecret: "yaml://secret/up#secret" };
    const tokens = createSystemTokens(
      { type: "oauth2_client", tokenUrl: "https://login.example/token", ...secret, scopes: [] },
      { agent, userAgent: "test", now: () => new Date() },
    );
    const call = { caller: callerOf("tenant:acme"), secret: async () => "s3cret", signal: new AbortController().signal };
    const error: unknown = await tokens.token(call).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof UpstreamError, String(error));
    assert.deepEqual([error.effect, error.problem.code], ["not_sent", "upstream_error"]);
    const causes = [error.problem, error.problem.options.cause].map(String).join(" ");
    assert.match(causes, new RegExp(reason));
  });

test("a token endpoint that sends elsewhere is not followed, and what it sent there is not asked", async (t) => {
  const { api, issuer, failure } = await begin(t);
  issuer.answer = (_request, response) => void response.writeHead(307, { location: `${api.url}/token` }).end();
  assert.deepEqual(await failure("write"), ["upstream_auth_failed", "not_sent"]);
  assert.deepEqual([issuer.seen.length, api.seen.length], [1, 0]);
});
