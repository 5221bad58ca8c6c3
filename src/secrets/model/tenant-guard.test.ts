import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { parseAllowedMounts } from "./allowed-mounts.ts";
import { parseSecretUri } from "./secret-uri.ts";
import { createNarrowPlaces, createTenantGuard } from "./tenant-guard.ts";
import type { Scheme } from "#contract/secret-schemes.ts";
import { parseSchemeAliases } from "./uri-schemes.ts";

const { schemes } = parseSchemeAliases(["openbao+kv2=vaultA+kv2", "vault+kv2=vaultB+kv2"], "SECRETS_SCHEME_ALIASES");
const twoServers: ReadonlyMap<Scheme, string> = new Map([
  ["vaulta+kv2", "https://a:8200"],
  ["vaultb+kv2", "https://b:8200"],
]);
const oneServer: ReadonlyMap<Scheme, string> = new Map([
  ["vaulta+kv2", "https://a:8200"],
  ["vaultb+kv2", "https://a:8200"],
]);

const read = (text: string | undefined, tenantId?: string, servers: ReadonlyMap<Scheme, string> = twoServers) =>
  parseAllowedMounts({ text, tenantId, schemes, servers });
const guardOf = (text: string | undefined, tenantId?: string) => {
  const { mounts, issues } = read(text, tenantId);
  assert.deepEqual(issues, []);
  const guard = createTenantGuard({ mounts, tenantId });
  return (tenant: string, uri: string): string => {
    try {
      const ref = guard(tenant, parseSecretUri(uri, schemes));
      assert.equal(ref.tenant, tenant);
      assert.ok(Object.isFrozen(ref));
      return "allowed";
    } catch (error) {
      assert.ok(error instanceof Problem && error.status === 403);
      return error.code;
    }
  };
};

suite("tenant guard", () => {
  const rows: readonly (readonly [uri: string, expected: string])[] = [
    ["vaultA+kv2://kv-a/x", "allowed"],
    ["openbao+kv2://kv-a/x", "allowed"],
    ["vaultA+kv2://kv-a/x#k?version=3", "allowed"],
    ["vaultA+kv2://kv-b/x", "tenant_mount"],
    ["vaultA+kv2://KV-A/x", "tenant_mount"],
    ["vaultA+kv2://kv-ab/x", "tenant_mount"],
    ["vaultB+kv2://kv-a/x", "tenant_mount"],
    ["vaultA+kv2://ns1/kv-a/x", "tenant_mount"],
    ["vaultB+kv2://kv-b/team-x/y", "allowed"],
    ["vaultB+kv2://kv-b/team-x", "allowed"],
    ["vaultB+kv2://kv-b/team-xy/y", "tenant_mount"],
    ["vaultB+kv2://kv-b/team", "tenant_mount"],
    ["vaultB+kv2://kv-b/Team-x/y", "tenant_mount"],
    ["yaml://secret/anything", "allowed"],
  ];
  const guard = guardOf("yaml://secret, vaultA+kv2://kv-a ,vaultB+kv2://kv-b/team-x/", "tenant:acme");
  for (const [uri, expected] of rows) {
    test(`${uri}: ${expected}`, () => assert.equal(guard("tenant:acme", uri), expected));
  }

  test("another tenant than TENANT_ID is a mismatch, whatever the mount", () => {
    assert.equal(guard("tenant:globex", "yaml://secret/a"), "tenant_mismatch");
    assert.equal(guard("tenant:acme2", "yaml://secret/a"), "tenant_mismatch");
  });

  test("no tenant, or all of them, is none", () => {
    assert.equal(guard("*", "yaml://secret/a"), "tenant_required");
    assert.equal(guard("", "yaml://secret/a"), "tenant_required");
  });

  test("with mounts by tenant the token's tenant selects", () => {
    const byTenant = guardOf('{"tenant:acme":["yaml://secret/acme"],"tenant:globex":["yaml://secret/globex","yaml://secret/people"]}');
    assert.equal(byTenant("tenant:acme", "yaml://secret/acme/x"), "allowed");
    assert.equal(byTenant("tenant:acme", "yaml://secret/globex/x"), "tenant_mount");
    assert.equal(byTenant("tenant:globex", "yaml://secret/people/demo#api_key"), "allowed");
    assert.equal(byTenant("tenant:globex", "yaml://secret/peoples/demo"), "tenant_mount");
    assert.equal(byTenant("tenant:globex", "yaml://secret/acme"), "tenant_mount");
    assert.equal(byTenant("tenant:other", "yaml://secret/globex"), "tenant_mount");
    assert.equal(byTenant("__proto__", "yaml://secret/globex"), "tenant_mount");
  });

  test("an empty or absent list allows nothing", () => {
    assert.equal(guardOf(undefined)("tenant:acme", "yaml://secret/a"), "tenant_mount");
    assert.equal(guardOf("  ", "tenant:acme")("tenant:acme", "yaml://secret/a"), "tenant_mount");
  });
});

suite("TENANT_ALLOWED_MOUNTS", () => {
  const faulty: readonly (readonly [what: string, text: string, tenantId: string | undefined, issue: RegExp])[] = [
    ["a list without TENANT_ID", "yaml://secret", undefined, /needs TENANT_ID/],
    ["JSON together with TENANT_ID", '{"tenant:a":["yaml://secret"]}', "tenant:a", /exclude each other/],
    ["a tenant that is named twice", '{"tenant:a":["yaml://secret/a"],"tenant:a":["yaml://secret/b"]}', undefined, /names a member twice/],
    ["broken JSON", '{"tenant:a":', undefined, /like JSON/],
    ["JSON of another shape", '{"tenant:a":"yaml://secret"}', undefined, /not a list/],
    ["a bad tenant id", '{"a b":["yaml://secret"]}', undefined, /neither a tenant id/],
    ["a tenant that no token can name", '{"Tenant:Acme":["yaml://secret"]}', undefined, /neither a tenant id/],
    ["an unknown scheme", "http://secret", "tenant:a", /uri_scheme/],
    ["a path that climbs", "yaml://secret/../x", "tenant:a", /uri_dot_segment/],
    ["a repeat", "yaml://secret,yaml://secret/", "tenant:a", /given twice/],
    ["a repeat through an alias", "vaultA+kv2://kv-a,openbao+kv2://kv-a", "tenant:a", /given twice/],
    ["an empty item", "yaml://secret,,x", "tenant:a", /empty/],
    ...["sys", "auth", "identity", "cubbyhole", "root", "system", "SYS", "Identity"].map(
      (mount) => [`the server's own mount ${mount}`, `vaultA+kv2://${mount}/x`, "tenant:a", /server's own/] as const,
    ),
  ];
  for (const [what, text, tenantId, issue] of faulty) {
    test(`${what} is a start fault`, () => {
      const messages = read(text, tenantId).issues.map((one) => `${one.path}: ${one.message}`);
      assert.ok(
        messages.some((message) => message.startsWith("TENANT_ALLOWED_MOUNTS: ") && issue.test(message)),
        messages.join("\n"),
      );
    });
  }

  const two = (a: string, b: string, other = "tenant:b"): string => JSON.stringify({ "tenant:a": [a], [other]: [b] });
  const places: readonly (readonly [what: string, a: string, b: string, servers: ReadonlyMap<Scheme, string>, isRefused: boolean])[] = [
    ["one place", "yaml://secret/x", "yaml://secret/x", twoServers, true],
    ["one place with a slash at its end", "yaml://secret/x", "yaml://secret/x/", twoServers, true],
    ["one place by a bare name", "yaml://secret", "secret/x", twoServers, true],
    ["one place by another case of the scheme", "vaultA+kv2://kv-a", "VAULTA+KV2://kv-a", twoServers, true],
    ["one place by an alias", "vaultA+kv2://kv-a/x", "openbao+kv2://kv-a/x", twoServers, true],
    ["a place in another one", "yaml://secret/x/y", "yaml://secret/x", twoServers, true],
    ["a place around another one", "yaml://secret", "yaml://secret/x/y", twoServers, true],
    ["one mount of one server by two schemes", "vaultA+kv2://kv-a", "vaultB+kv2://kv-a/x", oneServer, true],
    ["parts of one mount of one server by two schemes", "vaultA+kv2://kv-a/x", "vaultB+kv2://kv-a/y", oneServer, true],
    ["mounts of one name on two servers", "vaultA+kv2://kv-a", "vaultB+kv2://kv-a", twoServers, false],
    ["two mounts of one server", "vaultA+kv2://kv-a", "vaultA+kv2://kv-b", oneServer, false],
    ["mounts that differ in case, which are two", "vaultA+kv2://kv-a", "vaultA+kv2://KV-A", oneServer, false],
    ["places beside one another", "yaml://secret/x", "yaml://secret/y", twoServers, false],
    ["places of which one begins as the other", "yaml://secret/x", "yaml://secret/xy", twoServers, false],
  ];
  for (const other of ["tenant:b", "platform"])
    for (const [what, a, b, servers, isRefused] of places)
      for (const text of [two(a, b, other), two(b, a, other)])
        test(`${what}, of tenant:a and of ${other}, ${isRefused ? "is a start fault" : "is none"}: ${text}`, () => {
          const { issues } = read(text, undefined, servers);
          assert.equal(issues.length > 0, isRefused, JSON.stringify(issues));
          for (const { path, message } of issues) {
            assert.equal(path, "TENANT_ALLOWED_MOUNTS");
            assert.match(message, /lies in ".*" of .*: give each a place of its own|would have two names/);
          }
        });

  test("a percent-encoded place is none", () => {
    assert.match(read(two("yaml://secret/x", "yaml://secret/%78")).issues[0]?.message ?? "", /uri_/);
  });

  test("what is the platform's is reached by the operator's tenant, and by the tool server for any tenant's call", () => {
    const { mounts, issues } = read(
      '{"tenant:acme":["yaml://secret/acme"],"tenant:globex":["yaml://secret/globex"],"platform":["yaml://secret/people"]}',
    );
    assert.deepEqual(issues, []);
    const guard = createTenantGuard({ mounts, tenantId: undefined, operator: () => "tenant:acme" });
    const narrow = createNarrowPlaces({ mounts, tenantId: undefined, operator: () => "tenant:acme" });
    const reach = (tenant: string, uses: boolean): string => {
      try {
        return String(guard(tenant, parseSecretUri("yaml://secret/people/demo#k", schemes), uses).isPlatform);
      } catch (error) {
        return (error as Problem).code;
      }
    };
    assert.deepEqual(
      [reach("tenant:acme", false), reach("tenant:globex", false), reach("tenant:globex", true)],
      ["true", "tenant_mount", "true"],
    );
    assert.equal(reach("platform", false), "tenant_required", "it is no tenant");
    assert.equal(guard("tenant:acme", parseSecretUri("yaml://secret/acme/x", schemes)).isPlatform, undefined);
    assert.deepEqual([narrow("tenant:acme", undefined).length, narrow("tenant:globex", undefined).length], [2, 1]);
    const none = createTenantGuard({ mounts, tenantId: undefined });
    assert.throws(() => none("tenant:acme", parseSecretUri("yaml://secret/people/demo#k", schemes)), { code: "tenant_mount" });
  });

  test("all faults are told at once", () => {
    assert.equal(read("http://a,sys,yaml://other,vaultA+kv2://auth", "tenant:a", oneServer).issues.length, 4);
  });

  test("a bare name is the file's mount, or a mount of the one KVv2 server", () => {
    const { mounts, issues } = read("secret,secret/team,kv-a", "tenant:a", oneServer);
    assert.deepEqual(issues, []);
    assert.deepEqual(
      mounts.get("tenant:a")?.map((place) => [place.scheme, place.mount, ...place.segments]),
      [
        ["yaml", "secret"],
        ["yaml", "secret", "team"],
        ["vaulta+kv2", "kv-a"],
      ],
    );
  });

  test("a bare name with two servers names both full forms, with none it asks for one", () => {
    assert.match(read("kv-a", "tenant:a").issues[0]?.message ?? "", /vaulta\+kv2:\/\/kv-a or vaultb\+kv2:\/\/kv-a/);
    assert.match(read("kv-a", "tenant:a", new Map()).issues[0]?.message ?? "", /no KVv2 server/);
  });

  test("a mount of one server under both schemes is refused, of two servers it is fine", () => {
    const text = "vaultA+kv2://kv-a,vaultB+kv2://kv-a/x";
    assert.match(read(text, "tenant:a", oneServer).issues[0]?.message ?? "", /two names/);
    assert.deepEqual(read(text, "tenant:a").issues, []);
    const byTenant = '{"tenant:a":["vaultA+kv2://kv-a"],"tenant:b":["vaultB+kv2://kv-a"]}';
    assert.match(read(byTenant, undefined, oneServer).issues[0]?.message ?? "", /two names/);
  });
});
