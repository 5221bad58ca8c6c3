import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { readSettings, type Environment } from "#contract/setting.ts";
import { kvServer } from "#testing/kv-provider.ts";
import { placeOf } from "./providers/kvv2/kv-settings.ts";
import { readSecretsPolicy, resourceRefOf, secretsSettings } from "./config.ts";

const issuesOf = (variables: Record<string, string>, environment: Environment = "production"): string[] => {
  const { values, issues } = readSettings(secretsSettings, variables);
  if (issues.length > 0) return issues.map((issue) => issue.path);
  return readSecretsPolicy(values, environment).issues.map((issue) => issue.path);
};

suite("settings of the secrets service", () => {
  test("the defaults start everywhere, and allow no mount", () => {
    const { values } = readSettings(secretsSettings, {});
    for (const environment of ["dev", "test", "production"] as const) {
      const { policy, issues } = readSecretsPolicy(values, environment);
      assert.deepEqual(issues, []);
      assert.deepEqual(
        [policy.anonymousTenant, policy.enforceScopes, policy.hasMounts, policy.agentsMayAsk],
        [undefined, true, false, false],
      );
      assert.equal(policy.purposeRequired, environment === "production");
      assert.equal(resourceRefOf(values), undefined);
    }
  });

  const SALT = "0123456789abcdef0123456789abcdef";
  const open = { SECRETS_API_REQUIRE_AUTH: "false", SECRETS_ENFORCE_SCOPES: "false", TENANT_ID: "tenant:acme" };
  const rows: readonly (readonly [what: string, variables: Record<string, string>, environment: Environment, issues: readonly string[]])[] =
    [
      ["no tokens in production", open, "production", ["SECRETS_API_REQUIRE_AUTH", "SECRETS_ENFORCE_SCOPES"]],
      ["no tokens in dev", open, "dev", []],
      ["no tokens, but scopes", { SECRETS_API_REQUIRE_AUTH: "false", TENANT_ID: "tenant:acme" }, "test", ["SECRETS_ENFORCE_SCOPES"]],
      ["no tokens and no tenant", { SECRETS_API_REQUIRE_AUTH: "false", SECRETS_ENFORCE_SCOPES: "false" }, "test", ["TENANT_ID"]],
      ["no scopes in production", { SECRETS_ENFORCE_SCOPES: "false" }, "production", ["SECRETS_ENFORCE_SCOPES"]],
      ["a misspelt switch", { SECRETS_ENFORCE_SCOPES: "no" }, "test", ["SECRETS_ENFORCE_SCOPES"]],
      ["a short salt", { TENANT_SALT: "too short" }, "test", ["TENANT_SALT"]],
      ["a salt that is no hex", { TENANT_SALT: "hex:xyz" }, "test", ["TENANT_SALT"]],
      ["an earlier salt without a name", { TENANT_SALT: SALT, TENANT_SALT_PREVIOUS: SALT }, "test", ["TENANT_SALT_PREVIOUS"]],
      ["a short earlier salt", { TENANT_SALT: SALT, TENANT_SALT_PREVIOUS: "0=short" }, "test", ["TENANT_SALT_PREVIOUS"]],
      ["an earlier salt of the present name", { TENANT_SALT: SALT, TENANT_SALT_PREVIOUS: `1=${SALT}` }, "test", ["TENANT_SALT_PREVIOUS"]],
      ["earlier salts alone", { TENANT_SALT_PREVIOUS: `0=${SALT}` }, "test", ["TENANT_SALT"]],
      ["a bad key id", { TENANT_SALT_KID: "k-1" }, "test", ["TENANT_SALT_KID"]],
      ["an encrypted file", { YAML_VAULT_PATH: "/data/secrets.yaml.age" }, "test", ["YAML_VAULT_PATH"]],
      ["a list without tenant", { TENANT_ALLOWED_MOUNTS: "yaml://secret" }, "dev", ["TENANT_ALLOWED_MOUNTS"]],
      ["a tenant that no token can name", { TENANT_ID: "acme" }, "test", ["TENANT_ID"]],
      ["an alias of an alias", { SECRETS_SCHEME_ALIASES: "a=b,b=yaml" }, "dev", ["SECRETS_SCHEME_ALIASES"]],
      [
        "many at once",
        { ...open, SECRETS_SCHEME_ALIASES: "x=nowhere", TENANT_ALLOWED_MOUNTS: "sys,yaml://other" },
        "production",
        ["SECRETS_API_REQUIRE_AUTH", "SECRETS_ENFORCE_SCOPES", "SECRETS_SCHEME_ALIASES", "TENANT_ALLOWED_MOUNTS", "TENANT_ALLOWED_MOUNTS"],
      ],
    ];
  for (const [what, variables, environment, issues] of rows) {
    test(`${what} in ${environment}: ${issues.join(", ") || "no fault"}`, () => assert.deepEqual(issuesOf(variables, environment), issues));
  }

  const at = ([url, namespace = ""]: readonly [string, string?]) =>
    placeOf(kvServer({ URL: url, TOKEN: "t", ...(namespace === "" ? {} : { NAMESPACE: namespace }) }));
  const spellings: readonly (readonly [what: string, ...places: (readonly [url: string, namespace?: string])[]])[] = [
    [
      "names of this machine",
      ["http://127.0.0.1:8200"],
      ["http://localhost:8200/"],
      ["http://[::1]:8200"],
      ["http://[::ffff:127.0.0.1]:8200"],
      ["http://LOCALHOST.:8200"],
    ],
    ["spellings of a host", ["https://bao.example"], ["https://bao.example."], ["https://BAO.example:443/"]],
    ["IPv4 in IPv6", ["https://10.0.0.200:8200"], ["https://[::ffff:10.0.0.200]:8200"], ["https://[::ffff:a00:c8]:8200"]],
    ["the root", ["https://bao.example"], ["https://bao.example", "root"], ["https://bao.example", "/root/"], ["https://bao.example", "."]],
    ...["ns/x/", "/ns/x", "./ns/x", "ns//x", "ns/./x", "ns/y/../x"].map(
      (namespace) => [`namespace ${namespace}`, ["https://bao.example", "ns/x"], ["https://bao.example", namespace]] as const,
    ),
  ];
  for (const [what, ...places] of spellings)
    test(`a server is one, however it is written: ${what}`, () => assert.equal(new Set(places.map(at)).size, 1));

  test("servers that differ in port, host, scheme, namespace or its case are several", () => {
    const places = [
      ["https://bao.example:8200"],
      ["https://bao.example:8201"],
      ["http://bao.example:8200"],
      ["https://bao-2.example:8200"],
      ["https://bao.example:8200", "ns"],
      ["https://bao.example:8200", "NS"],
      ["https://bao.example:8200", "root/ns"],
    ] as const;
    assert.equal(new Set(places.map(at)).size, places.length);
  });

  for (const url of ["https://bao.example/v1", "https://bao.example?x", "https://user@bao.example", "ftp://bao.example", "bao"])
    test(`${url} is no address of a server`, () => assert.throws(() => at([url]), /"path":"VAULT_URL","message":"must be an/));

  test("a salt makes references", () => {
    const { values } = readSettings(secretsSettings, { TENANT_SALT: "0123456789abcdef0123456789abcdef", TENANT_SALT_KID: "7" });
    assert.match(
      resourceRefOf(values)?.("tenant:acme", { scheme: "yaml", mount: "secret", segments: ["a"] }) ?? "",
      /^hr1\.7\.[A-Za-z0-9_-]{43}$/,
    );
  });
});
