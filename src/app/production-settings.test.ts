import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { issueLine } from "#contract/start-issues.ts";
import { readInstanceSettings } from "./model/settings.ts";

const random = (): string => randomBytes(32).toString("base64");
const key = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** A production instance that has nothing to be said of. */
const sound = {
  ENVIRONMENT: "production",
  PUBLIC_ORIGINS: "https://sallyport.test",
  OIDC_ISSUER: "https://login.sallyport.test",
  OIDC_CLIENT_SECRET: random(),
  SESSION_SECRETS: random(),
  AUDIT_KEK_FILE: "/run/secrets/audit-kek",
};

const notMadeAtRandom = /not made at random/;
const mustBeTls = /must be https unless on loopback/;
const example = /is an example's, not one of your own/;
const noService = /must not be the name of a service/;
const misleads = /must not lead to the names of services, agents/;
const client = (given: object): string =>
  JSON.stringify([
    { client_id: "agent:a", agent: "agent:a", secret_sha256: createHash("sha256").update(random()).digest("hex"), ...given },
  ]);

/** Setting, value, what is said; `always`: in dev and test too. */
const refused: readonly (readonly [setting: string, value: string, says: RegExp, when?: "always"])[] = [
  ["SESSION_SECRETS", key(Buffer.alloc(32)), notMadeAtRandom],
  ["SESSION_SECRETS", key(Buffer.alloc(32, 0xab)), notMadeAtRandom],
  ["SESSION_SECRETS", key(Buffer.from("0123456789abcdef0123456789abcdef")), notMadeAtRandom],
  ["SESSION_SECRETS", key(Buffer.from("change-me change-me change-me 32")), notMadeAtRandom],
  ["SESSION_SECRETS", key(Uint8Array.from({ length: 32 }, (_unused, index) => index)), notMadeAtRandom],
  ["SESSION_SECRETS", key(Uint8Array.from({ length: 32 }, (_unused, index) => 200 - index)), notMadeAtRandom],
  ["SESSION_SECRETS", `${random()},${key(Buffer.alloc(32))}`, notMadeAtRandom],
  ["SESSION_SECRETS", key(randomBytes(16)), /must be base64 of 32 bytes/, "always"],
  ["OIDC_CLIENT_SECRET", "change-me", example],
  ["OIDC_CLIENT_SECRET", "change-me-too", example],
  ["OIDC_CLIENT_SECRET", "tiger", /has fewer than 16 characters/],
  ["OIDC_CLIENT_SECRET", "a".repeat(40), notMadeAtRandom],
  ["PDP_REMOTE_TOKEN", "secret", example],
  ["PDP_REMOTE_CLIENT_SECRET", "sallyport-secret", example],
  ["TENANT_SALT", "0".repeat(40), notMadeAtRandom],
  ["TENANT_SALT", `base64:${key(Buffer.alloc(32))}`, notMadeAtRandom],
  ["REDIS_URL", "rediss://:of-the-gateways@redis.test:6380", example],
  ["DATABASE_URL", "postgres://sallyport:PASSWORD@db.test/sallyport?sslmode=verify-full", example],
  ["DATABASE_URL", "postgres://sallyport@db.test/sallyport", /must say sslmode=verify-full/],
  ["DATABASE_URL", "postgres://sallyport@db.test/sallyport?sslmode=disable", /must say sslmode=verify-full/],
  ["DATABASE_LISTEN_URL", "postgres://sallyport@db.test/sallyport", /must say sslmode=verify-full/],
  ["DATABASE_URL", "postgres://sallyport@localhost/sallyport?host=db.test", /says host twice/],
  ["DATABASE_URL", "postgres:///sallyport?host=db.test&user=sallyport", /must say sslmode=verify-full/],
  ["DATABASE_URL", "postgres:///sallyport", /must say sslmode=verify-full/],
  ["DATABASE_LISTEN_URL", "postgres:///sallyport?host=192.0.2.2", /must say sslmode=verify-full/],
  ["DATABASE_URL", "postgres://sallyport@db.test/sallyport?sslmode=verify-full&sslmode=disable", /says sslmode twice/],
  ["NODE_TLS_REJECT_UNAUTHORIZED", "0", /must not be 0/],
  ["OIDC_SUBJECT_CLAIM", "Email", /never the e-mail/, "always"],
  ["OIDC_SUBJECT_CLAIM", "preferred_username", /never the e-mail/, "always"],
  ["OIDC_SUBJECT_CLAIM", "client_id", /never the e-mail/, "always"],
  ["AGENT_CLIENTS", client({ agent: "person:ben" }), /must be the id of an agent/, "always"],
  ["AGENT_CLIENTS", client({ secret_sha256: createHash("sha256").update("").digest("hex") }), /digest of no secret at all/, "always"],
  ["PDP_SERVICE_URL", "http://pdp.test:8082", mustBeTls],
  ["CRUD_SERVICE_URL", "http://10.0.0.7:8083", mustBeTls],
  ["MEMBERSHIP_SERVICE_URL", "http://localhost.evil.test", mustBeTls],
  ["SECRETS_SERVICE_URL", "http://[fd00::1]:8085", mustBeTls],
  ["SECRETS_SERVICE_URL", "ftp://secrets.test", /must be an http or https URL/, "always"],
  ["OTLP_ENDPOINT", "http://collector.test:4317", mustBeTls],
  ["PDP_REMOTE_TOKEN_URL", "http://login.test/token", mustBeTls],
  ["MCP_PUBLIC_URL", "http://mcp.test", mustBeTls],
  ["OIDC_ISSUER", "http://login.test", /OIDC_ISSUER, BEARER_ISSUERS: must be https unless on loopback/, "always"],
  ["BEARER_ISSUERS", "http://login.test", /OIDC_ISSUER, BEARER_ISSUERS: must be https unless on loopback/, "always"],
  ["PUBLIC_ORIGINS", "https://*.sallyport.test", /without wildcards/, "always"],
  ["PUBLIC_ORIGINS", "*", /must be origins/, "always"],
  ["PUBLIC_ORIGINS", "http://sallyport.test", /must be https/],
  ["MCP_ALLOWED_ORIGINS", "*", /must be origins.*without wildcards/, "always"],
  ["MCP_ALLOWED_ORIGINS", "null", /must be origins/, "always"],
  ["MCP_ALLOWED_ORIGINS", "https://*.test", /without wildcards/, "always"],
  ["MCP_ALLOWED_ORIGINS", "http://chat.test", mustBeTls],
  ["LISTEN_HOSTS", "*", /is no address/, "always"],
  ["TRUSTED_PROXIES", "0.0.0.0/0", /at least \/8/, "always"],
  ["METRICS_ALLOW", "::/0", /at least \/8/, "always"],
  ["MCP_STDIO_SANDBOX", "none", /must not be none/],
  ["MCP_STDIO_SANDBOX", "chroot", /must be|Invalid/, "always"],
  ["MCP_STDIO_ALLOW", "mcp-server-memory", /name the servers in servers\.yaml/, "always"],
  ["SECRETS_WORKLOADS", "service:crud,person:eve", /must name services/],
  ...["service:", "SERVICE:", "service:x-", "s", "serv", "agent:", "group:", "role:", "tenant:", "delegation:"].map(
    (prefix) => ["OIDC_SUBJECT_PREFIX", prefix, misleads, "always"] as const,
  ),
  ["AGENT_CLIENTS", client({ agent: "service:crud" }), noService, "always"],
  ["AGENT_CLIENTS", client({ client_id: "service:gateway" }), noService, "always"],
];

test("a production instance with settings of its own has no issue", () => {
  assert.deepEqual(readInstanceSettings(sound).issues, []);
  for (const more of [
    { OIDC_SUBJECT_PREFIX: "person:" },
    { OIDC_SUBJECT_PREFIX: "acme|" },
    { MCP_STDIO_SANDBOX: "bubblewrap" },
    { MCP_ALLOWED_ORIGINS: "https://chat.test,http://localhost:6274" },
    { CRUD_SERVICE_URL: "http://127.0.0.1:8083", OTLP_ENDPOINT: "http://localhost:4317", PDP_SERVICE_URL: "https://pdp.test" },
    { DATABASE_URL: "postgres://sallyport@127.0.0.1/sallyport" },
    { DATABASE_URL: `postgres://sallyport:${encodeURIComponent(random())}@db.test/sallyport?sslmode=verify-full` },
    { LISTEN_HOSTS: "0.0.0.0" },
    { TENANT_SALT: random() },
  ])
    assert.deepEqual(readInstanceSettings({ ...sound, ...more }).issues, [], JSON.stringify(more));
});

test("production refuses what would open it, each in words that name the setting", async (t) => {
  for (const [setting, value, says, when] of refused)
    await t.test(`${setting}=${value}`, () => {
      const lines = readInstanceSettings({ ...sound, [setting]: value }).issues.map(issueLine);
      assert.equal(lines.length, 1, lines.join("\n"));
      assert.match(lines[0] ?? "", says);
      assert.ok(lines[0]?.includes(setting));
      if (value.length > 12) assert.ok(!/SECRET|TOKEN$|SALT/.test(setting) || !lines[0]?.includes(value), "no secret is shown");
      const dev = readInstanceSettings({ ENVIRONMENT: "dev", [setting]: value }).issues.map(issueLine);
      assert.equal(
        dev.some((line) => says.test(line)),
        when === "always",
        dev.join("\n"),
      );
    });
});

test("keys that are random are taken, all of a thousand", () => {
  for (let count = 0; count < 1000; count++) {
    const environment = { ...sound, SESSION_SECRETS: random(), OIDC_CLIENT_SECRET: randomBytes(24).toString("base64url") };
    assert.deepEqual(readInstanceSettings(environment).issues, []);
  }
});
