import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNetworks, readCeiling, refuseAddress } from "./network-rules.ts";

const wide = readCeiling(["0.0.0.0/0", "::/0"]);
const rules = (...allow: string[]) => ({
  allow: parseNetworks(allow, wide).blocks,
  ceiling: wide,
  internalPorts: new Set([8080, 8081, 8082]),
});

test("addresses that are not public are refused in every spelling", () => {
  const refused = {
    metadata: [
      "169.254.169.254",
      "::ffff:169.254.169.254",
      "::ffff:a9fe:a9fe",
      "fd00:ec2::254",
      "64:ff9b::a9fe:a9fe",
      "2002:a9fe:a9fe::1",
      "100.100.100.200",
      "::ffff:100.100.100.200",
    ],
    not_public: [
      "127.0.0.1",
      "127.9.9.9",
      "0.0.0.0",
      "10.1.2.3",
      "172.31.255.255",
      "192.168.0.1",
      "100.64.0.1",
      "198.18.0.1",
      "224.0.0.1",
      "255.255.255.255",
      "::",
      "::1",
      "0:0:0:0:0:0:0:1",
      "::ffff:127.0.0.1",
      "::ffff:7f00:1",
      "::7f00:1",
      "64:ff9b::7f00:1",
      "64:ff9b:1::1",
      "2002:7f00:1::",
      "2001:0:4136:e378::1",
      "fc00::1",
      "fdff::1",
      "fe80::1%eth0",
      "fec0::1",
      "ff02::1",
    ],
    not_an_address: ["localhost", "127.1", "0x7f000001", "2130706433", ""],
  } as const;
  for (const [reason, addresses] of Object.entries(refused)) {
    for (const address of addresses) assert.equal(refuseAddress(address, 443, "https:", rules()), reason, address);
  }
});

test("public addresses are dialled over TLS only", () => {
  for (const address of ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "64:ff9b::5db8:d70e"]) {
    assert.equal(refuseAddress(address, 443, "https:", rules()), undefined, address);
    assert.equal(refuseAddress(address, 80, "http:", rules()), "plain_http", address);
    assert.equal(refuseAddress(address, 80, "http:", rules("93.184.0.0/16")), "plain_http", address);
  }
});

test("an allowed private address may be dialled, Sallyport's own ports and metadata never", () => {
  const open = rules("127.0.0.0/8", "::1/128", "169.254.0.0/16");
  assert.equal(refuseAddress("127.0.0.1", 8090, "http:", open), undefined);
  assert.equal(refuseAddress("::1", 8090, "http:", open), undefined);
  assert.equal(refuseAddress("::ffff:127.0.0.1", 8090, "http:", open), undefined);
  assert.equal(refuseAddress("10.0.0.1", 8090, "http:", open), "not_public");
  for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
    assert.equal(refuseAddress(address, 8082, "http:", open), "internal_port", address);
  assert.equal(refuseAddress("169.254.169.254", 80, "http:", open), "metadata");
});

test("networks of a file are CIDRs and not the whole world", () => {
  assert.deepEqual(parseNetworks(["127.0.0.1/32", "::1/128", "10.0.0.0/8"], wide).issues, []);
  assert.deepEqual(
    parseNetworks(["0.0.0.0/0", "::/0", "127.0.0.1", "localhost/32", "1.2.3.4/33", "1.2.3.4/-1", ""], wide).issues.map(
      ({ index }) => index,
    ),
    [0, 1, 2, 3, 4, 5, 6],
  );
});

test("a system only narrows the operator's networks: what lies beyond is an issue, and is not dialled", () => {
  const ceiling = readCeiling(["10.1.0.0/16", "127.0.0.1/32", "fd00:1::/32"]);
  const within = ["10.1.0.0/16", "10.1.2.0/24", "10.1.255.255/32", "127.0.0.1/32", "fd00:1::/32", "fd00:1:2::/48"];
  assert.deepEqual(parseNetworks(within, ceiling).issues, []);
  const beyond = [
    "10.0.0.0/8",
    "10.1.0.0/15",
    "10.2.0.0/16",
    "127.0.0.0/8",
    "::1/128",
    "fd00::/16",
    "::ffff:10.1.0.0/112",
    "192.168.0.1/32",
    "8.8.8.0/24",
  ];
  const { issues } = parseNetworks(beyond, ceiling);
  assert.deepEqual(
    issues.map(({ index }) => index),
    [...beyond.keys()],
  );
  assert.match(issues[0]?.message ?? "", /TOOLS_NETWORK_CEILING is 10\.1\.0\.0\/16, 127\.0\.0\.1\/32, fd00:1::\/32/);
  assert.match(parseNetworks(["127.0.0.1/32"], readCeiling([])).issues[0]?.message ?? "", /TOOLS_NETWORK_CEILING is empty/);
  // Whatever the document says, both must hold the address that is dialled.
  const open = { allow: parseNetworks([...within, ...beyond], ceiling).blocks, ceiling, internalPorts: new Set<number>() };
  for (const address of ["10.1.9.9", "::ffff:10.1.9.9", "64:ff9b::a01:909", "127.0.0.1", "fd00:1::9"])
    assert.equal(refuseAddress(address, 443, "https:", open), undefined, address);
  for (const address of ["10.2.0.1", "::ffff:10.2.0.1", "10.0.0.1", "127.0.0.2", "::1", "fd00:2::1", "192.168.0.1", "64:ff9b::7f00:2"])
    assert.equal(refuseAddress(address, 443, "https:", open), "not_public", address);
  const narrow = { ...open, allow: parseNetworks(["10.1.2.0/24"], ceiling).blocks };
  assert.equal(refuseAddress("10.1.3.1", 443, "https:", narrow), "not_public", "a system narrows it");
});
