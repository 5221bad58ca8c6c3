import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { createLocalJWKSet, decodeJwt, type JWTPayload } from "jose";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { defaultAssuranceMap } from "#authn/model/assurance.ts";
import { createBearerVerifier } from "#authn/callers/bearer.ts";
import { deriveClientSecret, secretDigest } from "#authn/sealing/client-secret.ts";
import { ACCESS_TOKEN_TYPE, EXCHANGE_GRANT } from "#authn/exchange/delegated-token.ts";
import type { FindClient, RegisteredClient } from "#authn/exchange/registered-clients.ts";
import { personScopes } from "#authn/model/scopes.ts";
import { demoPassword, demoSignIns } from "#demo/sign-ins.ts";
import { testDatabase } from "#testing/database.ts";
import { testIdentity } from "#testing/identity.ts";
import { testIssuer, type TestIssuer } from "#testing/issuer.ts";
import { demoCode, signIn, visitor } from "#testing/sign-in.ts";
import { CLI_CLIENT, DEMO_GRANT } from "./clients.ts";
import { createIssuer } from "./issuer.ts";

type Fields = Readonly<Record<string, string | readonly string[]>>;
const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64")}`;

const setUp = async (t: TestContext, findClient?: FindClient) => {
  const op = await testIssuer(t, await testDatabase(t, ["authn"]), { findClient });
  const post = async (fields: Fields, headers: Record<string, string> = {}) => {
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries(fields))
      for (const item of typeof value === "string" ? [value] : value) body.append(name, item);
    const answer = await fetch(`${op.url}/token`, { method: "POST", body, headers });
    const read = (await answer.json()) as {
      access_token?: string;
      error?: string;
      error_description?: string;
      expires_in?: number;
      scope?: string;
      issued_token_type?: string;
    };
    return { status: answer.status, ...read, claims: read.access_token === undefined ? ({} as JWTPayload) : decodeJwt(read.access_token) };
  };
  const asClient = (clientId: string) => ({ authorization: basic(clientId, deriveClientSecret(op.secrets, clientId)) });
  const demo = (fields: Fields = {}, headers: Record<string, string> = {}) =>
    post({ grant_type: DEMO_GRANT, client_id: CLI_CLIENT, username: "ben", password: demoPassword, ...fields }, headers);
  const exchange = (fields: Fields, clientId = "agent:hr-assistant") =>
    post({ grant_type: EXCHANGE_GRANT, subject_token_type: ACCESS_TOKEN_TYPE, ...fields }, asClient(clientId));
  return { op, post, asClient, demo, exchange };
};

/** What a service of Sallyport makes of a token. */
const callerOf = async (op: TestIssuer, token: string, audience: string) => {
  const keys = createLocalJWKSet((await (await fetch(`${op.url}/jwks`)).json()) as { keys: [] });
  const verify = createBearerVerifier({
    audience,
    issuers: [{ issuer: op.url, keys: (header, input) => keys(header, input) }],
    mapping: { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "tenant", assurance: defaultAssuranceMap },
    serviceKeys: testIdentity().serviceKeys,
    now: () => new Date(),
    metrics: createMetrics(),
  });
  return verify(new Request(audience, { headers: { authorization: `Bearer ${token}` } }));
};

test("an agent exchanges ben's token for one that every service reads as ben's with the agent", async (t) => {
  const { op, exchange } = await setUp(t);
  const ben = await signIn(visitor(op), "ben", { acrValues: "strong" });
  const answer = await exchange({ subject_token: ben.tokens.accessToken });
  assert.deepEqual([answer.status, answer.issued_token_type, answer.scope], [200, ACCESS_TOKEN_TYPE, "mcp.tools.invoke"]);
  assert.deepEqual(answer.claims["act"], { sub: "agent:hr-assistant" });
  assert.ok((answer.expires_in ?? 901) <= 900);
  for (const audience of op.audiences) {
    const caller = await callerOf(op, answer.access_token ?? "", audience);
    assert.deepEqual(
      [caller.sub, caller.tenant, caller.agent, caller.clientId, caller.acr, caller.authTime],
      ["person:ben", "tenant:acme", "agent:hr-assistant", "agent:hr-assistant", "strong", ben.authTime],
    );
  }
});

test("the exchange never widens: not scope, not audience, not life, not the chain", async (t) => {
  const { op, exchange, demo } = await setUp(t);
  const ben = (await demo({ scope: "mcp.tools.invoke" })).access_token ?? "";
  assert.equal((await exchange({ subject_token: ben, scope: "mcp.tools.discovery" })).error, "invalid_scope");
  assert.equal((await exchange({ subject_token: ben, audience: "https://evil.example" })).error, "invalid_target");
  const one = await exchange({ subject_token: ben, audience: [op.audiences[2] ?? ""] });
  assert.deepEqual(one.claims.aud, [op.audiences[2]]);
  assert.equal((await exchange({ subject_token: one.access_token ?? "" })).error, "invalid_grant", "not for the gateway");
  const agents = await exchange({ subject_token: ben });
  assert.equal(
    (await exchange({ subject_token: agents.access_token ?? "" }, "agent:reporter")).error,
    "invalid_grant",
    "an agent's already",
  );
});

test("a token may be for one view of the tools alone, whatever views there are, in the one spelling that it has", async (t) => {
  const { op, post, asClient, demo, exchange } = await setUp(t);
  const ben = (await demo()).access_token ?? "";
  const own = { grant_type: "client_credentials", scope: "authzen.pep" };
  const mcp = op.audiences[1] ?? "";
  for (const [resource, isOne] of [
    [`${mcp}/people`, true],
    [`${mcp}/people-demo`, true],
    [`${mcp}/`, false],
    [`${mcp}/People`, false],
    [`${mcp}/people/`, false],
    [`${mcp}/people/more`, false],
    [`${mcp}/people?more`, false],
    [`${mcp}/../secrets`, false],
    [`${mcp}/%70eople`, false],
    [`${mcp}people`, false],
    [`${op.publicOrigin}/people`, false],
    [`${op.audiences[2]}/people`, false],
  ] as const) {
    const answers = [
      await post({ ...own, resource }, asClient("service:pep")),
      await exchange({ subject_token: ben, resource }),
      await demo({ resource }),
    ];
    for (const { error, claims } of answers)
      assert.deepEqual([error, [claims.aud].flat()], isOne ? [undefined, [resource]] : ["invalid_target", [undefined]], resource);
  }
  // The gateway's own client has tokens for services outside alone.
  assert.equal((await post({ ...own, resource: `${mcp}/people` }, asClient("sallyport-web"))).error, "invalid_target");
  assert.equal((await exchange({ subject_token: ben, audience: `${mcp}/people` }, "sallyport-web")).error, "invalid_target");
});

test("only agents exchange, with their own secret, and only access tokens", async (t) => {
  const { op, post, demo, exchange, asClient } = await setUp(t);
  const ben = (await demo()).access_token ?? "";
  const fields = { grant_type: EXCHANGE_GRANT, subject_token: ben, subject_token_type: ACCESS_TOKEN_TYPE };
  assert.equal((await post(fields, asClient("sallyport-web"))).error, "invalid_target", "the gateway, for a named service outside alone");
  assert.equal((await post(fields, { authorization: basic("agent:hr-assistant", "wrong") })).status, 401);
  assert.equal((await post({ ...fields, client_id: CLI_CLIENT })).error, "unauthorized_client");
  const web = await signIn(visitor(op), "ben");
  assert.equal((await exchange({ subject_token: web.tokens.idToken ?? "" })).error, "invalid_grant");
  assert.equal((await exchange({ subject_token: "x" })).error, "invalid_grant");
  assert.equal((await exchange({ subject_token: [ben, ben] })).error, "invalid_request");
});

test("a service client gets what is registered for it, for all tenants, and no more", async (t) => {
  const { op, post, asClient } = await setUp(t);
  const answer = await post(
    { grant_type: "client_credentials", scope: "authzen.pep metrics.read mcp.tools.invoke" },
    asClient("service:pep"),
  );
  assert.equal(answer.scope, "authzen.pep metrics.read");
  const caller = await callerOf(op, answer.access_token ?? "", op.audiences[2] ?? "");
  assert.deepEqual(
    [caller.sub, caller.tenant, caller.clientId, caller.isInternalService, caller.agent],
    ["service:pep", "*", "service:pep", false, undefined],
  );
  assert.equal((await post({ grant_type: "client_credentials" }, asClient("agent:hr-assistant"))).error, "unauthorized_client");
  assert.equal((await post({ grant_type: "client_credentials" }, { authorization: basic("service:pep", "wrong") })).status, 401);
});

test("the command line gets a person's token for the demo password, with all that a person may have", async (t) => {
  const { op, demo } = await setUp(t);
  const ben = await demo();
  assert.equal(ben.error_description, undefined);
  assert.deepEqual(ben.scope?.split(" "), [...personScopes]);
  assert.ok(!ben.scope?.includes("authzen"));
  const { access_token: token = "" } = ben;
  const caller = await callerOf(op, token, op.audiences[4] ?? "");
  assert.deepEqual(
    [caller.sub, caller.tenant, caller.agent, caller.acr, caller.clientId],
    ["person:ben", "tenant:acme", undefined, undefined, CLI_CLIENT],
  );
  const strong = await demo({ otp: demoCode(), agent: "agent:hr-assistant", scope: "mcp.tools.invoke", resource: op.audiences[3] ?? "" });
  assert.deepEqual(
    [strong.claims["acr"], strong.claims["act"], strong.claims["client_id"], strong.claims["scope"], strong.claims.aud],
    ["strong", { sub: "agent:hr-assistant" }, "agent:hr-assistant", "mcp.tools.invoke", [op.audiences[3]]],
  );
});

test("no person's word makes a service's token: not by name, scope, audience or exchange, whoever of the demo asks", async (t) => {
  const { op, post, demo, exchange, asClient } = await setUp(t);
  const isService = ({ claims }: { readonly claims: JWTPayload }): boolean =>
    claims.sub?.startsWith("service:") === true || claims["tenant"] === "*" || /authzen|metrics|pip|budget/.test(String(claims["scope"]));
  const person = { username: "ada", otp: demoCode() };
  const { access_token: ada = "" } = await demo(person);
  const { access_token: pep = "" } = await post({ grant_type: "client_credentials", scope: "authzen.pep" }, asClient("service:pep"));
  assert.notEqual(pep, "");
  const tries: readonly (readonly [string, () => ReturnType<typeof demo>])[] = [
    ["named as service", () => demo({ ...person, service: "service:pep" })],
    ["named as agent", () => demo({ ...person, agent: "service:pep" })],
    ["named as person", () => demo({ username: "service:pep" })],
    ["named as client", () => demo({ ...person, client_id: "service:pep" })],
    ["named as client with an audience", () => demo({ ...person, client_id: "service:pep", resource: op.audiences[2] ?? "" })],
    ["as the web client", () => demo({ ...person, client_id: "sallyport-web" })],
    ["by its scope", () => demo({ ...person, scope: "authzen.pep" })],
    ["without its secret", () => post({ grant_type: "client_credentials", client_id: "service:pep", scope: "authzen.pep" })],
    ["with an agent's secret", () => post({ grant_type: "client_credentials", scope: "authzen.pep" }, asClient("agent:hr-assistant"))],
    ["from the command line's client", () => post({ grant_type: "client_credentials", client_id: CLI_CLIENT, scope: "authzen.pep" })],
    ["by exchange of a person's", () => exchange({ subject_token: ada, scope: "authzen.pep" })],
    ["by exchange as the service", () => exchange({ subject_token: ada }, "service:pep")],
    ["by exchange of the service's own", () => exchange({ subject_token: pep })],
  ];
  for (const [name, attempt] of tries) {
    const answer = await attempt();
    assert.ok(answer.access_token === undefined || !isService(answer), `${name}: ${JSON.stringify(answer.claims)}`);
    assert.ok(answer.status === 200 || answer.error !== undefined, name);
  }
});

test("the command line's grant holds: wrong words, wider wishes, unknown names", async (t) => {
  const { demo } = await setUp(t);
  const cases: readonly (readonly [Fields, string])[] = [
    [{ password: "wrong" }, "invalid_grant"],
    [{ username: "nobody" }, "invalid_grant"],
    [{ username: "person:ben" }, "invalid_grant"],
    [{ otp: "000000" }, "invalid_grant"],
    [{ scope: "authzen.pep" }, "invalid_scope"],
    [{ agent: "agent:hr-assistant", scope: "secrets.read" }, "invalid_scope"],
    [{ agent: "agent:nobody" }, "invalid_request"],
    [{ resource: "https://evil.example" }, "invalid_target"],
  ];
  for (const [fields, error] of cases) {
    const answer = await demo(fields);
    assert.deepEqual([answer.status, answer.error, answer.access_token], [400, error, undefined], JSON.stringify(fields));
  }
});

test("the command line's grant is refused to browsers and proxies", async (t) => {
  const { demo } = await setUp(t);
  for (const header of ["origin", "sec-fetch-site", "cookie", "x-forwarded-for", "forwarded", "via"]) {
    const answer = await demo({}, { [header]: header === "origin" ? "http://localhost:8080" : "same-origin" });
    // Of a page with an origin the library itself knows that it may not.
    const expected = header === "origin" ? "invalid_request" : "unauthorized_client";
    assert.deepEqual([answer.error, answer.access_token], [expected, undefined], header);
  }
});

test("the command line's grant is refused to other machines", async (t) => {
  const address = Object.values(networkInterfaces())
    .flat()
    .find((one) => one !== undefined && one.family === "IPv4" && !one.internal)?.address;
  if (address === undefined) return t.skip("this machine has no address but loopback");
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  const op = await testIssuer(t, await testDatabase(t, ["authn"]), { server });
  const ask = (host: string) =>
    new Promise<string>((resolve, reject) => {
      const sent = request(
        {
          host,
          port: (server.address() as AddressInfo).port,
          path: "/token",
          method: "POST",
          headers: { host: new URL(op.url).host, "content-type": "application/x-www-form-urlencoded" },
        },
        (answer) => {
          let text = "";
          answer.on("data", (chunk) => (text += String(chunk))).on("end", () => resolve(text));
        },
      ).on("error", reject);
      sent.end(new URLSearchParams({ grant_type: DEMO_GRANT, client_id: CLI_CLIENT, username: "ben", password: demoPassword }).toString());
    });
  assert.match(await ask(address), /unauthorized_client/);
  assert.match(await ask("127.0.0.1"), /access_token/);
});

test("ten wrong passwords lock the command line out too", async (t) => {
  const { demo } = await setUp(t);
  for (let i = 0; i < 10; i++) await demo({ password: `wrong ${i}` });
  const answer = await demo();
  assert.equal(answer.error, "invalid_grant");
  assert.match(answer.error_description ?? "", /wait five minutes/);
});

test("in production there is no embedded issuer", async (t) => {
  const identity = testIdentity();
  const database = await testDatabase(t, ["authn"]);
  await assert.rejects(
    createIssuer({
      issuerUrl: "http://localhost:8081",
      environment: "production",
      database,
      secrets: identity.secrets,
      web: { clientId: "x", clientSecret: "x", publicOrigins: [] },
      signIns: demoSignIns,
      audiences: ["http://localhost:8080"],
      serviceKeys: identity.serviceKeys,
      metrics: createMetrics(),
      log: silentLog,
      now: () => new Date(),
    }),
    /OIDC_ISSUER/,
  );
});

test("clients whose credentials Sallyport keeps are taken with the next request, for what they may have, and refused with the next", async (t) => {
  const kept = new Map<string, RegisteredClient>();
  const { op, post, demo } = await setUp(t, async (clientId) => kept.get(clientId));
  const digests = [secretDigest("kept-secret"), secretDigest("overlapping")];
  const own = (secret: string, scope = "pip.read") =>
    post({ grant_type: "client_credentials", scope }, { authorization: basic("service:hook", secret) });
  assert.equal((await own("kept-secret")).error, "invalid_client", "not yet");
  kept.set("service:hook", { clientId: "service:hook", kind: "service", tenant: "tenant:acme", scopes: ["pip.read"], digests });
  for (const secret of ["kept-secret", "overlapping"]) {
    const { claims } = await own(secret);
    assert.deepEqual(
      [claims.sub, claims["tenant"], claims["scope"], claims["client_id"]],
      ["service:hook", "tenant:acme", "pip.read", "service:hook"],
    );
  }
  assert.equal((await own("kept-secret", "authzen.pep")).error, "invalid_scope");
  for (const wrong of ["", "wrong", digests[0] ?? ""]) assert.equal((await own(wrong)).status, wrong === "" ? 400 : 401, wrong);

  const person = (await demo()).access_token ?? "";
  const exchange = (id: string, secret: string) =>
    post(
      { grant_type: EXCHANGE_GRANT, subject_token_type: ACCESS_TOKEN_TYPE, subject_token: person },
      { authorization: basic(id, secret) },
    );
  const helper = { clientId: "agent:helper", kind: "agent", tenant: "tenant:acme", scopes: ["mcp.tools.invoke"], digests } as const;
  kept.set("agent:helper", helper);
  const answer = await exchange("agent:helper", "kept-secret");
  assert.deepEqual([answer.claims["act"], answer.scope], [{ sub: "agent:helper" }, "mcp.tools.invoke"]);
  const caller = await callerOf(op, answer.access_token ?? "", op.audiences[0]);
  assert.deepEqual([caller.sub, caller.agent], ["person:ben", "agent:helper"]);
  kept.set("agent:helper", { ...helper, tenant: "tenant:globex" });
  assert.equal((await exchange("agent:helper", "kept-secret")).error, "invalid_grant", "for nobody of another tenant");

  // One of the demo may have both.
  kept.set("agent:hr-assistant", { ...helper, clientId: "agent:hr-assistant" });
  for (const secret of ["kept-secret", deriveClientSecret(op.secrets, "agent:hr-assistant")])
    assert.equal((await exchange("agent:hr-assistant", secret)).status, 200);
  kept.clear();
  assert.equal((await own("kept-secret")).error, "invalid_client", "ended");
  assert.equal((await exchange("agent:hr-assistant", "kept-secret")).error, "invalid_client");
});
