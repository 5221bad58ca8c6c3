import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { readSettings } from "#contract/setting.ts";
import { assuranceOf } from "./model/assurance.ts";
import { authnIssues, authnSettings, identityMappingOf } from "./config.ts";

const secret = randomBytes(32).toString("base64");
const read = (environment: Record<string, string>) => readSettings(authnSettings, environment);

test("without any variable everything has its default and nothing is at issue in dev", () => {
  const { values, issues } = read({});
  assert.deepEqual(issues, []);
  assert.deepEqual(authnIssues(values, "dev"), []);
  assert.equal(values.oidcClientId, "sallyport-web");
  assert.deepEqual(values.oidcScopes, ["openid", "profile", "offline_access"]);
});

test("production names every variable that it misses", () => {
  assert.deepEqual(
    authnIssues(read({}).values, "production").map((issue) => issue.path),
    ["OIDC_CLIENT_SECRET", "OIDC_ISSUER", "SESSION_SECRETS"],
  );
  const { values } = read({ OIDC_ISSUER: "https://login.example", OIDC_CLIENT_SECRET: secret, SESSION_SECRETS: `${secret},${secret}` });
  assert.deepEqual(authnIssues(values, "production"), []);
  assert.equal(values.sessionSecrets.length, 2);
});

test("an issuer off this machine is reached by TLS or not at all", () => {
  const paths = (environment: Record<string, string>) =>
    authnIssues(read({ OIDC_CLIENT_SECRET: "x", ...environment }).values, "dev").map((issue) => issue.path);
  assert.deepEqual(paths({ OIDC_ISSUER: "http://login.example" }), ["OIDC_ISSUER, BEARER_ISSUERS"]);
  assert.deepEqual(paths({ BEARER_ISSUERS: "https://a.example,http://127.0.0.1.evil.example" }), ["OIDC_ISSUER, BEARER_ISSUERS"]);
  assert.deepEqual(paths({ OIDC_ISSUER: "http://localhost:9000" }), []);
  assert.deepEqual(paths({ OIDC_ISSUER: "http://localhost:9000", OIDC_PROVISION: "create", OIDC_GROUPS_CLAIM: "groups" }), []);
  assert.deepEqual(paths({ OIDC_PROVISION: "match", OIDC_GROUPS_CLAIM: "groups" }), ["OIDC_PROVISION", "OIDC_GROUPS_CLAIM"]);
  assert.deepEqual(paths({ OIDC_ISSUER: "http://127.0.0.1:9000" }), []);
});

const wrong: readonly (readonly [string, string])[] = [
  ["OIDC_ISSUER", "login.example"],
  ["OIDC_ISSUER", "https://login.example?x=1"],
  ["OIDC_ISSUER", "https://u:p@login.example"],
  ["OIDC_ISSUER", "ftp://login.example"],
  ["SESSION_SECRETS", "short"],
  ["SESSION_SECRETS", `${secret},short`],
  ["OIDC_SUBJECT_CLAIM", "email"],
  ["OIDC_DEFAULT_TENANT", "acme"],
  ["OIDC_ACR_MAP", "no json"],
  ["OIDC_ACR_MAP", '{"strong":{"amr":[["otp"]]},"phishing_resistant":{}}'],
  ["OIDC_ACR_MAP", '{"strong":{"amr":[["hwk"]]},"phishing_resistant":{}}'],
  ["OIDC_ACR_MAP", '{"stronk":{}}'],
  ["OIDC_ACR_MAP", '{"strong":{"acr":["urn:x:weak"]},"strong":{"acr":["urn:x:2fa"]},"phishing_resistant":{"acr":["urn:x:key"]}}'],
  ["AGENT_CLIENTS", `[{"client_id":"a","agent":"agent:b","agent":"agent:a","secret_sha256":"${"0".repeat(64)}"}]`],
  ["AGENT_CLIENTS", '[{"client_id":"a","agent":"agent:a"}]'],
  ["AGENT_CLIENTS", '[{"client_id":"a","agent":"agent:a","secret_sha256":"abc"}]'],
  ["AGENT_CLIENTS", `[{"client_id":"a","agent":"agent:a","jwks":{"keys":[{"kty":"EC","d":"private"}]}}]`],
  ["AGENT_CLIENTS", JSON.stringify(["x", "y"].map((agent) => ({ client_id: "a", agent, secret_sha256: "0".repeat(64) })))],
];
for (const [name, text] of wrong) {
  test(`refused: ${name} ${text.slice(0, 60)}`, () => {
    const { issues } = read({ [name]: text });
    assert.deepEqual(
      issues.map((issue) => issue.path),
      [name],
    );
    if (name === "SESSION_SECRETS") assert.ok(!(issues[0]?.message ?? secret).includes(secret.slice(0, 8)));
  });
}

test("an own assurance map replaces the built-in one", () => {
  const { values } = read({ OIDC_ACR_MAP: '{"strong":{"acr":["urn:x:2fa"]},"phishing_resistant":{"acr":["urn:x:key"]}}' });
  const { assurance } = identityMappingOf(values);
  assert.equal(assuranceOf(assurance, "urn:x:2fa", []), "strong");
  assert.equal(assuranceOf(assurance, "urn:x:key", []), "phishing_resistant");
  assert.equal(assuranceOf(assurance, undefined, ["mfa"]), undefined);
});

test("agents are read with what proves them", () => {
  const rows = [{ client_id: "bot", agent: "agent:bot", secret_sha256: "a".repeat(64), scopes: ["mcp.tools.invoke"] }];
  const { values, issues } = read({ AGENT_CLIENTS: JSON.stringify(rows) });
  assert.deepEqual(issues, []);
  assert.deepEqual(values.agentClients, [
    { clientId: "bot", agent: "agent:bot", secretSha256: "a".repeat(64), scopes: ["mcp.tools.invoke"] },
  ]);
});
