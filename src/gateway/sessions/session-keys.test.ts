import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createPublicOrigins } from "#gateway/model/public-origins.ts";
import { clientName } from "./client-name.ts";
import { createSessionCookies } from "./session-cookies.ts";
import { createSessionKeys } from "./session-keys.ts";

const [old, fresh] = [randomBytes(32), randomBytes(32)];
const record = { sidHash: "h", generation: 1, tokenGeneration: 3 };

test("a CSRF token belongs to one session and one generation", () => {
  const keys = createSessionKeys([fresh]);
  const token = keys.csrfToken(record);
  assert.ok(keys.isCsrfToken(record, token));
  assert.ok(!keys.isCsrfToken({ ...record, generation: 2 }, token));
  assert.ok(!keys.isCsrfToken({ ...record, sidHash: "x" }, token));
  for (const bad of ["", "x", token.slice(0, -1), `${token}A`, `${token}=`, `${token.slice(0, -1)}+`])
    assert.ok(!keys.isCsrfToken(record, bad), bad);
});

test("after a change of secrets what the old one wrote is still read", () => {
  const before = createSessionKeys([old]);
  const after = createSessionKeys([fresh, old]);
  const tokens = before.sealTokens({ accessToken: "a" }, "h", 3);
  assert.deepEqual(after.openTokens({ ...record, tokens }), { accessToken: "a" });
  assert.ok(after.isCsrfToken(record, before.csrfToken(record)));
  assert.ok(after.isClient(before.hashClient("Firefox/1"), "Firefox/2"));
  assert.equal(createSessionKeys([fresh]).openTokens({ ...record, tokens }), undefined);
});

test("sealed tokens open only where they were sealed", () => {
  const keys = createSessionKeys([fresh]);
  const tokens = keys.sealTokens({ accessToken: "a" }, "h", 3);
  assert.equal(keys.openTokens({ sidHash: "other", tokenGeneration: 3, tokens }), undefined);
  assert.equal(keys.openTokens({ sidHash: "h", tokenGeneration: 4, tokens }), undefined);
});

for (const [one, other, same] of [
  ["192.0.2.1", "192.0.2.254", true],
  ["192.0.2.1", "192.0.3.1", false],
  ["192.0.2.1", "::ffff:192.0.2.9", true],
  ["2001:db8:1::1", "2001:db8:1:ffff::9", true],
  ["2001:db8:1::1", "2001:0db8:0001:2::", true],
  ["2001:db8:1::1", "2001:db8:2::1", false],
  ["fe80::1%eth0", "fe80::2", true],
] as const)
  test(`${one} and ${other} are ${same ? "one network" : "two networks"}`, () => {
    const keys = createSessionKeys([fresh]);
    assert.equal(keys.isNetwork(keys.hashNetwork(one) ?? "", other), same);
  });

test("what is no address has no network", () => {
  assert.equal(createSessionKeys([fresh]).hashNetwork("localhost"), undefined);
});

test("cookies over TLS are host cookies; on loopback they carry the port and no Secure", () => {
  const tls = createSessionCookies(createPublicOrigins(["https://app.example"]));
  assert.equal(tls.setSid("v"), "__Host-Http-sid=v; Path=/; HttpOnly; Secure; SameSite=Strict");
  assert.equal(tls.setTxn("v"), "__Host-Http-txn=v; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=600");
  const dev = createSessionCookies(createPublicOrigins(["http://localhost:8080"]));
  assert.equal(dev.setSid("v"), "sallyport_dev_sid_8080=v; Path=/; HttpOnly; SameSite=Strict");
  assert.equal(dev.clearSid(), "sallyport_dev_sid_8080=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
  assert.deepEqual(dev.readSid("a=1; sallyport_dev_sid_8080=x; sallyport_dev_sid_9090=y"), { kind: "one", value: "x" });
  assert.deepEqual(dev.readSid("sallyport_dev_sid_8080=x;sallyport_dev_sid_8080=x"), { kind: "ambiguous" });
  assert.deepEqual(dev.readSid(undefined), { kind: "none" });
});

for (const [header, name] of [
  [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0 Safari/537.36 Edg/138.0",
    "Edge on Windows",
  ],
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 14_0) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15", "Safari on macOS"],
  ["Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0 Mobile Safari/537.36", "Chrome on Android"],
  ["curl/8.5.0", "curl"],
  ["<script>", "another client"],
] as const)
  test(`a person knows ${name} again`, () => assert.equal(clientName(header), name));
