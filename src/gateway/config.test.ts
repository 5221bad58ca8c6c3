import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "#contract/setting.ts";
import { createNetworks, gatewaySettings } from "./config.ts";

const issuesOf = (environment: Readonly<Record<string, string>>): readonly string[] =>
  readSettings(gatewaySettings, environment).issues.map(({ path }) => path);

/** Whoever stands in one of these lists is believed: nobody means the whole internet. */
const tooWide = [
  "0.0.0.0/0",
  "::/0",
  "10.0.0.1/0",
  "0.0.0.0/1,128.0.0.0/1",
  "0.0.0.0/1",
  "10.0.0.0/7",
  "::/1,8000::/1",
  "2000::/3",
  "fc00::/6",
  // All of IPv4, as IPv6 writes it, and most of it.
  "::ffff:0:0/96",
  "::ffff:0.0.0.0/96",
  "::/16",
  "::/80",
  "::ffff:0:0/97,::ffff:128.0.0.0/97",
  "::ffff:10.0.0.0/103",
];
const noRange = [
  "10.0.0.0/33",
  "fd00::/129",
  "10.0.0.0/",
  "10.0.0.0/-8",
  "10.0.0.0/8/8",
  "10.0.0.0/8.0",
  "10.0.0",
  "localhost",
  "*",
  "fe80::/x",
];

for (const name of ["TRUSTED_PROXIES", "METRICS_ALLOW"])
  for (const value of [...tooWide, ...noRange, `10.0.0.0/8,${tooWide[0]}`])
    test(`${name}=${value} is refused`, () => assert.deepEqual(issuesOf({ [name]: value }), [name]));

for (const [value, inside, outside] of [
  ["10.0.0.0/8", ["10.0.0.1", "10.255.255.255", "::ffff:10.1.1.1"], ["11.0.0.1", "9.255.255.255", "::1"]],
  ["192.0.2.7", ["192.0.2.7"], ["192.0.2.8"]],
  ["192.0.2.7/32,fd00::/8", ["192.0.2.7", "fd12::1"], ["192.0.2.6", "fc00::1"]],
  ["fc00::/7", ["fc00::1", "fdff::1"], ["fe80::1", "10.0.0.1"]],
  ["::ffff:10.0.0.0/104", ["10.0.0.1"], ["11.0.0.1", "fd00::1"]],
  ["::1", ["::1"], ["::2", "127.0.0.1"]],
  ["", [], ["127.0.0.1", "10.0.0.1", "::1"]],
] as const)
  test(`TRUSTED_PROXIES=${value} is those and no others`, () => {
    const { values, issues } = readSettings(gatewaySettings, { TRUSTED_PROXIES: value });
    assert.deepEqual(issues, []);
    const isTrusted = createNetworks(values.trustedProxies);
    for (const address of inside) assert.equal(isTrusted(address), true, address);
    for (const address of outside) assert.equal(isTrusted(address), false, address);
  });

for (const [name, value] of [
  ["OIDC_POST_LOGOUT_PATH", "//evil.example"],
  ["OIDC_POST_LOGOUT_PATH", "https://evil.example"],
  ["OIDC_POST_LOGOUT_PATH", "/\\evil"],
  ["OIDC_POST_LOGOUT_PATH", "bye"],
  ["SESSION_ABSOLUTE_S", "0"],
  ["SESSION_ABSOLUTE_S", "8h"],
] as const)
  test(`${name}=${value} is refused`, () => assert.deepEqual(issuesOf({ [name]: value }), [name]));
