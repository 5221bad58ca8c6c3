import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test, type TestContext } from "node:test";
import { insideIds } from "#gateway/routes/internal-rows.ts";
import { testCertificates } from "#testing/certificates.ts";
import { StartIssues } from "#contract/start-issues.ts";
import { loadRoutes } from "./load-routes.ts";
import { schemaActions } from "#pdp/bundle/schema-actions.ts";
import type { RouteTable } from "./route-table.ts";

const handlers = ["one.handler"];
const variables = { CRUD_SERVICE_URL: "http://localhost:8083", CRUD_AUDIENCE: "http://localhost:8083" };

const load = async (t: TestContext, routes: string, pdp = "validation_strict: true\n") => {
  const folder = await mkdtemp(join(tmpdir(), "routes-"));
  t.after(() => rm(folder, { recursive: true }));
  const routesFile = join(folder, "routes.yaml");
  const pdpConfigFile = join(folder, "pdp.yaml");
  await Promise.all([writeFile(routesFile, routes), writeFile(pdpConfigFile, pdp)]);
  return loadRoutes({
    routesFile,
    pdpConfigFile,
    variables,
    handlers,
    internalAudiences: ["http://localhost:8083"],
    publicHosts: new Set(["localhost:8080"]),
    isBuiltIn: (path) => path.startsWith("/auth/"),
    schemaActions,
  });
};

/** `line:column message` of every issue, in the order of the file. */
const issuesOf = async (t: TestContext, routes: string, pdp?: string): Promise<string[]> => {
  try {
    await load(t, routes, pdp);
  } catch (error) {
    assert.ok(error instanceof StartIssues);
    for (const issue of error.issues) assert.ok(issue.file !== undefined, issue.message);
    return error.issues
      .toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0))
      .map((issue) => `${issue.line}:${issue.column} ${issue.message}`);
  }
  return [];
};

const head = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
  far: { base_urls: ["https://far.example/base/"] }
routes:
`;
const row = (more: string) => `  - { id: r${Math.random().toString(36).slice(2, 8)}, ${more} }\n`;
const plain = "target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: none";

test("every issue of a file is named at once, each with its line and column", async (t) => {
  const issues = await issuesOf(
    t,
    `version: 2
services:
  crud: { base_urls: ["http://u:p@h"], colour: red }
routes:
  - id: Bad
    path: /a
    target_service: crud
    preserve_path: true
    methods: [GET, FETCH]
    auth: sesion
    authz: none
`,
  );
  assert.deepEqual(issues, [
    "1:10 must be 1",
    "3:40 is not known here",
    "5:9 row Bad: must be 1-64 of a-z 0-9 . _ - and begin with a letter",
    "9:20 row Bad: must be one of GET, POST, PUT, PATCH, DELETE, OPTIONS",
    "10:11 row Bad: must be session, bearer or none",
  ]);
});

test("rules between fields and rows are issues too, all at once", async (t) => {
  const issues = await issuesOf(
    t,
    `${head}  - { id: a, path: /a/*, target_service: nowhere, preserve_path: true, methods: [GET], auth: session, authz: none }
  - { id: a, path: /b, target_service: crud, methods: [GET], auth: none, authz: pdp }
  - { id: c, path: /auth/x, target_service: internal, methods: [GET], auth: session, authz: none }
  - { id: one.handler, path: "/d/{x}", target_service: internal, methods: [GET], auth: session, authz: pdp, authz_map: { GET: { resource: nothing, action: at_all, id_from: "{y}" } } }
`,
  );
  assert.deepEqual(
    issues.map((issue) => issue.replace(/^\d+:\d+ /, "")),
    [
      "row a: is not a key of services",
      "row a: needs exactly one of upstream_path and preserve_path",
      "row a: is used by another row",
      "row a: no decision is mapped for GET",
      "row a: pdp needs a session or a bearer",
      "row c: names no handler of the gateway; known are one.handler",
      "row c: lies under a path that the gateway serves by itself",
      "row one.handler: nothing/at_all is not a pair that the decision point knows",
      "row one.handler: {y} is not captured by /d/{x}",
    ],
  );
});

const refused: readonly (readonly [what: string, routes: string, message: RegExp])[] = [
  ["a repeated key", `${head}  - { id: a, id: b, path: /a, ${plain} }\n`, /unique/i],
  ["an alias", "version: &v 1\nroutes: []\nservices: {}\naudiences: [*v]\n", /aliases are not allowed/],
  ["a tag", "version: !!int 1\nroutes: []\n", /tags are not allowed/],
  ["a deeply nested value", `version: 1\nroutes: ${"[".repeat(200)}${"]".repeat(200)}\n`, /nested deeper/],
  ["a value nested by indicators", `version: 1\nroutes:\n  ${"- ".repeat(500)}a\n`, /nested deeper/],
  ["a file over 1 MiB", `version: 1\nroutes: []\n${"#".repeat(1_048_577)}`, /larger than 1 MiB/],
  ["what is no YAML", "version: 1\nroutes: [\n", /./],
  ["an unset variable", 'version: 1\nservices: { x: { base_urls: ["${NOT_SET}"] } }\nroutes: []\n', /\$\{NOT_SET\} is not set/],
  [
    "a variable elsewhere",
    `${head}${row(`path: "/a", description: "\${CRUD_SERVICE_URL}", ${plain}`)}`,
    /placeholders are not allowed here/,
  ],
  ["a metadata address", 'version: 1\nservices: { x: { base_urls: ["http://2852039166"] } }\nroutes: []\n', /four decimal numbers/],
  [
    "a catch-all without credential",
    `${head}${row("path: /*, target_service: crud, preserve_path: true, methods: [GET], auth: none, authz: none")}`,
    /catch-all/,
  ],
  ["* in the middle", `${head}${row(`path: /a/*/b, ${plain}`)}`, /\* only as its whole last segment/],
  ["a path that is not canonical", `${head}${row(`path: /a/%61, ${plain}`)}`, /not in its canonical form/],
  ["a path with a dot segment", `${head}${row(`path: /a/../b, ${plain}`)}`, /not in its canonical form/],
  [
    "an upstream path with an unknown capture",
    `${head}${row('path: "/a/{x}", target_service: crud, upstream_path: "/{y}", methods: [GET], auth: session, authz: none')}`,
    /not captured/,
  ],
  [
    "two targets",
    `${head}${row("path: /a, target_service: crud, upstream_path: /b, preserve_path: true, methods: [GET], auth: session, authz: none")}`,
    /exactly one/,
  ],
  [
    "a map without pdp",
    `${head}${row(`path: /a, ${plain}, authz_map: { GET: { resource: pages, action: view_all } }`)}`,
    /goes with authz: pdp/,
  ],
  ["internal: true on a service", `${head}${row(`path: /a, internal: true, ${plain}`)}`, /only goes with target_service internal/],
  [
    "an event stream that takes POST",
    `${head}${row("path: /a, target_service: crud, preserve_path: true, methods: [POST], auth: session, authz: none, streaming: true")}`,
    /GET alone/,
  ],
  ["CORS on a session row", `${head}${row(`path: /a, ${plain}, cors_origins: ["https://x.example"]`)}`, /auth: bearer/],
  [
    "forward-auth for a foreign host",
    `${head}${row("path: /a, hosts: [evil], methods: [GET], auth: session, authz: none")}`,
    /not the host of a public origin/,
  ],
  [
    "a token for a foreign service that names no audience",
    `${head}${row("path: /a, target_service: far, preserve_path: true, methods: [GET], auth: session, authz: none, token_policy: { mode: service_token }")}`,
    /names no audience/,
  ],
  [
    "a token of somebody where nobody is asked for",
    `${head}${row("path: /a, target_service: far, preserve_path: true, methods: [GET], auth: none, authz: none, token_policy: { mode: on_behalf_of }")}`,
    /needs a session or a bearer/,
  ],
  [
    "scopes for a token that is passed on",
    `${head}${row("path: /a, target_service: far, preserve_path: true, methods: [GET], auth: session, authz: none, token_policy: { mode: session_passthrough, scopes: [a] }")}`,
    /stays as it is/,
  ],
  [
    "a scope with a space",
    `${head}${row("path: /a, target_service: far, preserve_path: true, methods: [GET], auth: session, authz: none, token_policy: { mode: on_behalf_of, scopes: [a b] }")}`,
    /must be a scope/,
  ],
  [
    "a token of Sallyport for a foreign service",
    `${head.replace("routes:", 'audiences: ["http://localhost:8083"]\nroutes:')}${row(`path: /a, target_service: far, preserve_path: true, methods: [GET], auth: session, authz: none, token_policy: { mode: on_behalf_of, audience: "http://localhost:8083" }`)}`,
    /one of Sallyport/,
  ],
  [
    "a token of Sallyport for a foreign service, by its key",
    `${head}${row("path: /a, target_service: far, preserve_path: true, methods: [GET], auth: session, authz: none, token_policy: { mode: on_behalf_of, service: crud }")}`,
    /one of Sallyport/,
  ],
  [
    "a token target that is neither a service nor has an audience",
    `${head}${row("path: /a, target_service: far, preserve_path: true, methods: [GET], auth: session, authz: none, token_policy: { mode: on_behalf_of, service: reports }")}`,
    /names no audience/,
  ],
  [
    "a token target whose name is no key",
    `${head}${row("path: /a, target_service: far, preserve_path: true, methods: [GET], auth: session, authz: none, token_policy: { mode: on_behalf_of, service: 'A b' }")}`,
    /must be 1-64 of/,
  ],
  [
    "an audience off the list for a token target of its own name",
    `${head}${row("path: /a, target_service: far, preserve_path: true, methods: [GET], auth: session, authz: none, token_policy: { mode: on_behalf_of, service: reports, audience: https://reports.example }")}`,
    /audiences that this file allows/,
  ],
  ["a service without an address", `version: 1\nservices:\n  far: { base_urls: [] }\nroutes: []\n`, /names no address/],
  ["one address twice", `version: 1\nservices:\n  far: { base_urls: [http://h, "http://h/"] }\nroutes: []\n`, /named twice/],
  [
    "a second address that is none",
    `version: 1\nservices:\n  far: { base_urls: [http://h, "http://169.254.169.254"] }\nroutes: []\n`,
    /link-local or metadata/,
  ],
  [
    "a placeholder for a key",
    `version: 1\nservices:\n  far: { base_urls: [http://h], client_cert_file: "\${CRUD_SERVICE_URL}", client_key_file: /x }\nroutes: []\n`,
    /placeholders are not allowed/,
  ],
  ["an unknown way to retry", `${head}${row(`path: /a, ${plain}, retry: often`)}`, /never, safe or idempotent/],
  [
    "passing a session's own token to Sallyport",
    `${head}${row(`path: /a, ${plain}, token_policy: { mode: session_passthrough }`)}`,
    /on_behalf_of/,
  ],
  [
    "an audience that is not on the list",
    `${head}${row(`path: /a, ${plain}, token_policy: { mode: on_behalf_of, audience: "https://other" }`)}`,
    /audiences that this file allows/,
  ],
  ["an unknown mark", `${head}${row(`path: /a, ${plain}, allow_encoded: ["%2f"]`)}`, /./],
  [
    "a body path that is none",
    `${head}${row(`path: /a, target_service: crud, preserve_path: true, methods: [POST], auth: session, authz: pdp, authz_map: { POST: { resource: pages, action: view_all, props: { a: "$..b" } } }`)}`,
    /must be like \$\.a\.b\[0\]/,
  ],
  [
    "a literal star as id",
    `${head}${row(`path: /a, target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: pdp, authz_map: { GET: { resource: pages, action: view, id: "*" } }`)}`,
    /may not be \*/,
  ],
  [
    "three rows of one shape",
    `${head}${row(`path: /a, ${plain}`)}${row(`path: /a, ${plain.replace("session", "bearer")}`)}${row(`path: /a, ${plain.replace("session", "none")}`)}`,
    /same paths/,
  ],
  ["two session rows of one shape", `${head}${row(`path: "/a/{x}", ${plain}`)}${row(`path: "/a/{y}", ${plain}`)}`, /same paths/],
];
for (const [what, routes, message] of refused)
  test(`${what} is an issue with its place`, async (t) => {
    const issues = await issuesOf(t, routes);
    assert.ok(
      issues.some((issue) => /^\d+:\d+ /.test(issue) && message.test(issue)),
      JSON.stringify(issues),
    );
  });

test("an unreadable file is named, for both files", async () => {
  await assert.rejects(
    loadRoutes({
      routesFile: "/nowhere/routes.yaml",
      pdpConfigFile: "/nowhere/pdp.yaml",
      variables,
      handlers,
      internalAudiences: [],
      publicHosts: new Set(),
      isBuiltIn: () => false,
      schemaActions,
    }),
    (error: StartIssues) => error.issues.length === 2,
  );
});

test("certificate files that cannot be read, are none, or do not fit are issues with their place", async (t) => {
  const { good, selfSigned } = await testCertificates(t);
  const service = (files: string) => `version: 1\nservices:\n  x: { base_urls: [https://h], ${files} }\nroutes: []\n`;
  for (const [files, message] of [
    ["ca_file: /nowhere/ca.pem", /^3:\d+ .*ca\.pem cannot be read \(ENOENT\)$/],
    [`ca_file: "${good.keyFile}"`, /^3:\d+ .* is no certificate in PEM$/],
    [`client_cert_file: "${good.certFile}", client_key_file: "${good.certFile}"`, /^3:\d+ .* is no private key in PEM$/],
    [`client_cert_file: "${good.certFile}", client_key_file: "${selfSigned.keyFile}"`, /^3:\d+ .* is not the key of .*good.*$/],
  ] as const) {
    const issues = await issuesOf(t, service(files));
    assert.ok(issues.length === 1 && message.test(issues[0] ?? ""), `${files}: ${JSON.stringify(issues)}`);
  }
  assert.deepEqual(
    await issuesOf(t, service(`ca_file: "${good.certFile}", client_cert_file: "${good.certFile}", client_key_file: "${good.keyFile}"`)),
    [],
  );
});

const matching: RouteTable = await (async () => {
  const rows = [
    ["literal", "/a/b"],
    ["capture", "/a/{x}"],
    ["deep", "/a/{x}/c"],
    ["literal.rest", "/a/b/*"],
    ["rest", "/a/*"],
    ["root", "/"],
  ]
    .map(
      ([id, path]) =>
        `  - { id: ${id}, path: "${path}", target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: none }\n`,
    )
    .join("");
  const folder = await mkdtemp(join(tmpdir(), "routes-"));
  await writeFile(join(folder, "r.yaml"), head + rows);
  await writeFile(join(folder, "p.yaml"), "{}\n");
  const { table } = await loadRoutes({
    routesFile: join(folder, "r.yaml"),
    pdpConfigFile: join(folder, "p.yaml"),
    variables,
    handlers,
    internalAudiences: [],
    publicHosts: new Set(),
    isBuiltIn: () => false,
    schemaActions,
  });
  await rm(folder, { recursive: true });
  return table;
})();

for (const [path, id, captured] of [
  ["/", "root", []],
  ["/a/b", "literal", []],
  ["/a/z", "capture", ["z"]],
  ["/a/b/c", "literal.rest", ["c"]],
  ["/a/z/c", "deep", ["z"]],
  ["/a/z/d", "rest", ["z/d"]],
  ["/a/z/d/", "rest", ["z/d/"]],
  ["/a/b/", undefined, undefined],
  ["/a/z/", undefined, undefined],
  ["/a/", undefined, undefined],
  ["/a", undefined, undefined],
  ["/A/b", undefined, undefined],
  ["/x/a/b", undefined, undefined],
] as const)
  test(`the path ${path} finds ${id ?? "nothing"}`, () => {
    const hit = matching.find(path);
    assert.equal(hit?.routes[0]?.id, id);
    assert.deepEqual(hit?.captured, captured);
  });

test("a mapping comes from the row, else the decision point's file, else from the derived defaults; never from two", async (t) => {
  const routes = `${head}  - { id: inline, path: /api/crud/pages, target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: pdp, authz_map: { GET: { resource: pages, action: view_all } } }
  - { id: external, path: "/api/crud/x/{id}", target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: pdp }
  - { id: derived, path: "/api/crud/config/{id}", target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: pdp }
`;
  const { table, warnings } = await load(
    t,
    routes,
    `endpoint_map:
  "/api/crud/pages": { GET: { resource: tasks, action: view_all } }
  "/api/crud/x/{id}": { GET: { resource: pages, action: view, id_from: "{id}" } }
derived_defaults: { enabled: true }
`,
  );
  const of = (id: string) => table.routes.find((route) => route.id === id)?.mappings.get("GET");
  assert.deepEqual([of("inline")?.source, of("inline")?.mapping.resource], ["authz_map", "pages"]);
  assert.deepEqual([of("external")?.source, of("external")?.line], ["endpoint_map", 3]);
  assert.deepEqual([of("derived")?.source, of("derived")?.mapping], ["derived", { resource: "config", action: "read", id_from: "{id}" }]);
  assert.equal(warnings.length, 1);
});

test("without strict validation an unmapped method is a warning", async (t) => {
  const routes = `${head}  - { id: a, path: /a, target_service: crud, preserve_path: true, methods: [GET, POST], auth: session, authz: pdp, authz_map: { GET: { resource: pages, action: view_all } } }\n`;
  const { warnings } = await load(t, routes, "validation_strict: false\n");
  assert.deepEqual(
    warnings.map((warning) => warning.message),
    ["row a: no decision is mapped for POST"],
  );
  assert.deepEqual(
    (await issuesOf(t, routes)).map((issue) => issue.replace(/^\d+:\d+ /, "")),
    ["row a: no decision is mapped for POST"],
  );
});

for (const folder of ["config", "config/interop", "config/interop-certification"])
  void test(`the table of ${folder} has no issue`, async () => {
    const config = new URL(`../../../${folder}/`, import.meta.url);
    const { table, warnings } = await loadRoutes({
      routesFile: fileURLToPath(new URL("routes.yaml", config)),
      pdpConfigFile: fileURLToPath(new URL("pdp.yaml", config)),
      variables: Object.fromEntries(
        ["PDP", "CRUD", "MEMBERSHIP", "SECRETS"].flatMap((name, index) => [
          [`${name}_SERVICE_URL`, `http://localhost:${8082 + index}`],
          [`${name}_AUDIENCE`, `http://localhost:${8082 + index}`],
        ]),
      ),
      internalAudiences: [8082, 8083, 8084, 8085].map((port) => `http://localhost:${port}`),
      publicHosts: new Set(["localhost:8080"]),
      handlers: insideIds,
      isBuiltIn: () => false,
      schemaActions,
    });
    assert.deepEqual(warnings, []);
    assert.ok([...table.services.values()].every((service) => service.isInternal));
  });
