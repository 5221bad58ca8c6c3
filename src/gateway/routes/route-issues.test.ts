import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Issue } from "#contract/problem.ts";
import { isBuiltInPath } from "#gateway/steps/built-in-path.ts";
import { StartIssues } from "#contract/start-issues.ts";
import { loadRoutes } from "./load-routes.ts";
import { schemaActions } from "#pdp/bundle/schema-actions.ts";

const variables = { CRUD_SERVICE_URL: "http://localhost:8083", CRUD_AUDIENCE: "http://localhost:8083" };

interface Read {
  readonly issues: readonly Issue[];
  readonly warnings: readonly Issue[];
}

const read = async (t: TestContext, routes: string, pdp = "{}\n"): Promise<Read> => {
  const folder = await mkdtemp(join(tmpdir(), "route-issues-"));
  t.after(() => rm(folder, { recursive: true }));
  const [routesFile, pdpConfigFile] = [join(folder, "routes.yaml"), join(folder, "pdp.yaml")];
  await Promise.all([writeFile(routesFile, routes), writeFile(pdpConfigFile, pdp)]);
  const files = { routesFile, pdpConfigFile, variables, handlers: ["one.handler"], internalAudiences: ["http://localhost:8083"] };
  try {
    const { warnings } = await loadRoutes({ ...files, publicHosts: new Set(["localhost:8080"]), isBuiltIn: isBuiltInPath, schemaActions });
    return { issues: [], warnings };
  } catch (error) {
    if (!(error instanceof StartIssues)) throw error;
    return { issues: error.issues, warnings: [] };
  }
};

/** `file:line:column path message`, the file by its name alone. */
const lineOf = ({ file, line, column, path, message }: Issue): string =>
  `${file?.slice(file.lastIndexOf("/") + 1)}:${line}:${column} ${path} ${message}`;

const head = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
`;
/** A row with these members in place of, or besides, those of a sound one; one member a line, from line 6 on. */
const rowOf = (members: Readonly<Record<string, string | undefined>>): string => {
  const all: Record<string, string | undefined> = {
    path: '"/a/{x}"',
    target_service: "crud",
    preserve_path: "true",
    methods: "[GET]",
    auth: "session",
    authz: "none",
    ...members,
  };
  const { id = "a", ...rest } = all;
  return `  - id: ${id}\n${Object.entries(rest)
    .flatMap(([name, value]) => (value === undefined ? [] : [`    ${name}: ${value}\n`]))
    .join("")}`;
};

interface Case {
  readonly what: string;
  readonly members: Readonly<Record<string, string | undefined>>;
  /** JSON Pointer below the row, and what is said there. */
  readonly path: string;
  readonly message: RegExp;
}

const upstream = { preserve_path: undefined };
const forward = { target_service: undefined, preserve_path: undefined, hosts: '["localhost:8080"]' };
const map = (text: string) => ({ authz: "pdp", authz_map: text });
const cases: readonly Case[] = [
  { what: "no id", members: { id: '""' }, path: "/id", message: /begin with a letter/ },
  { what: "an id in capitals", members: { id: "Forms" }, path: "/id", message: /begin with a letter/ },
  { what: "an id of 65", members: { id: "a".repeat(65) }, path: "/id", message: /1-64/ },
  { what: "a path without slash", members: { path: "a" }, path: "/path", message: /must begin with \// },
  { what: "no path", members: { path: undefined }, path: "/path", message: /is required/ },
  { what: "a star within a segment", members: { path: "/a*" }, path: "/path", message: /whole last segment/ },
  { what: "a star before the end", members: { path: "/*/a" }, path: "/path", message: /whole last segment/ },
  { what: "a capture within a segment", members: { path: '"/a{x}"' }, path: "/path", message: /whole segment/ },
  { what: "a capture twice", members: { path: '"/{x}/{x}"' }, path: "/path", message: /twice/ },
  { what: "a capture that takes the star's name", members: { path: '"/{path}/*"' }, path: "/path", message: /what \* captures/ },
  { what: "an empty segment", members: { path: "/a//b" }, path: "/path", message: /canonical/ },
  { what: "a dot segment", members: { path: "/a/./b" }, path: "/path", message: /canonical/ },
  { what: "an encoded letter", members: { path: "/%61" }, path: "/path", message: /canonical/ },
  { what: "an encoded slash", members: { path: "/a%2Fb" }, path: "/path", message: /canonical/ },
  { what: "a query", members: { path: "/a?b" }, path: "/path", message: /canonical/ },
  { what: "one of the gateway's own paths", members: { path: "/auth/x" }, path: "/path", message: /serves by itself/ },
  { what: "the metrics path", members: { path: "/metrics" }, path: "/path", message: /serves by itself/ },
  { what: "a health path", members: { path: "/api/v1/health/*" }, path: "/path", message: /serves by itself/ },
  { what: "a probe's path", members: { path: "/health/ready" }, path: "/path", message: /serves by itself/ },
  { what: "a screen of the web client", members: { path: '"/tools/{x}"' }, path: "/path", message: /serves by itself/ },
  { what: "the web client's root", members: { path: "/" }, path: "/path", message: /serves by itself/ },
  { what: "no target", members: { target_service: undefined }, path: "", message: /no target_service/ },
  { what: "an unknown target", members: { target_service: "nowhere" }, path: "/target_service", message: /not a key of services/ },
  {
    what: "internal: true at a service",
    members: { internal: "true" },
    path: "/internal",
    message: /only goes with target_service internal/,
  },
  {
    what: "internal: false at an internal row",
    members: { id: "one.handler", target_service: "internal", internal: "false" },
    path: "/internal",
    message: /true or absent/,
  },
  { what: "no such handler", members: { target_service: "internal" }, path: "/id", message: /known are one\.handler/ },
  {
    what: "an upstream path at an internal row",
    members: { id: "one.handler", target_service: "internal", upstream_path: "/x", ...upstream },
    path: "/upstream_path",
    message: /has none/,
  },
  { what: "neither way to the upstream", members: upstream, path: "", message: /exactly one of/ },
  { what: "both ways to the upstream", members: { upstream_path: "/x" }, path: "", message: /exactly one of/ },
  { what: "preserve_path: false alone", members: { preserve_path: "false" }, path: "", message: /exactly one of/ },
  {
    what: "an upstream path without slash",
    members: { ...upstream, upstream_path: "x" },
    path: "/upstream_path",
    message: /must begin with/,
  },
  {
    what: "an upstream path with an unknown capture",
    members: { ...upstream, upstream_path: '"/{y}"' },
    path: "/upstream_path",
    message: /\{y\} is not captured/,
  },
  {
    what: "an upstream path with a dot segment",
    members: { ...upstream, upstream_path: '"/../{x}"' },
    path: "/upstream_path",
    message: /canonical/,
  },
  {
    what: "an upstream path with a query",
    members: { ...upstream, upstream_path: '"/{x}?a=b"' },
    path: "/upstream_path",
    message: /canonical/,
  },
  { what: "no method", members: { methods: "[]" }, path: "/methods", message: /names no method/ },
  { what: "a method twice", members: { methods: "[GET, GET]" }, path: "/methods", message: /twice/ },
  { what: "HEAD, which comes with GET", members: { methods: "[GET, HEAD]" }, path: "/methods/1", message: /must be one of GET/ },
  { what: "a method in small letters", members: { methods: "[get]" }, path: "/methods/0", message: /must be one of GET/ },
  { what: "no auth", members: { auth: undefined }, path: "/auth", message: /session, bearer or none/ },
  { what: "no authz", members: { authz: undefined }, path: "/authz", message: /none or pdp/ },
  { what: "a misspelt auth", members: { auth: "sesion" }, path: "/auth", message: /session, bearer or none/ },
  { what: "pdp without a credential", members: { auth: "none", authz: "pdp" }, path: "/authz", message: /needs a session or a bearer/ },
  {
    what: "a map without pdp",
    members: { authz_map: "{ GET: { resource: pages, action: view_all } }" },
    path: "/authz_map",
    message: /goes with authz: pdp/,
  },
  { what: "a method that no source maps", members: { authz: "pdp" }, path: "/methods", message: /no decision is mapped for GET/ },
  {
    what: "a map of another method",
    members: map("{ GET: { resource: pages, action: view_all }, POST: { resource: pages, action: view_all } }"),
    path: "/authz_map/POST",
    message: /not one of the row's methods/,
  },
  {
    what: "an unknown pair",
    members: map("{ GET: { resource: pages, action: burn } }"),
    path: "/authz_map/GET",
    message: /pages\/burn is not a pair/,
  },
  {
    what: "an id and an id_from",
    members: map('{ GET: { resource: pages, action: view, id: a, id_from: "{x}" } }'),
    path: "/authz_map/GET",
    message: /both/,
  },
  {
    what: "an id_from that takes nothing",
    members: map("{ GET: { resource: pages, action: view, id_from: a } }"),
    path: "/authz_map/GET/id_from",
    message: /captured value/,
  },
  {
    what: "an id_from of an unknown capture",
    members: map('{ GET: { resource: pages, action: view, id_from: "{y}" } }'),
    path: "/authz_map/GET/id_from",
    message: /\{y\} is not captured/,
  },
  {
    what: "a property of an unknown capture",
    members: map('{ GET: { resource: pages, action: view_all, props: { a: "{y}" } } }'),
    path: "/authz_map/GET/props/a",
    message: /\{y\} is not captured/,
  },
  {
    what: "a property of a body path that is none",
    members: map('{ GET: { resource: pages, action: view_all, props: { a: "$." } } }'),
    path: "/authz_map/GET/props/a",
    message: /like \$\.a\.b\[0\]/,
  },
  {
    what: "an unknown member of a mapping",
    members: map("{ GET: { resource: pages, action: view_all, when: x } }"),
    path: "/authz_map/GET/when",
    message: /not known here/,
  },
  {
    what: "a session stream that takes POST",
    members: { streaming: "true", methods: "[GET, POST]" },
    path: "/streaming",
    message: /GET alone/,
  },
  {
    what: "a stream of our own",
    members: { id: "one.handler", target_service: "internal", streaming: "true" },
    path: "/streaming",
    message: /upstream service/,
  },
  { what: "none on a catch-all", members: { path: "/*", auth: "none" }, path: "/auth", message: /catch-all/ },
  { what: "bearer members at a session row", members: { bearer: "{ scopes: [a] }" }, path: "/bearer", message: /goes with auth: bearer/ },
  { what: "no audience at all", members: { auth: "bearer", bearer: "{ audiences: [] }" }, path: "/bearer/audiences", message: /./ },
  {
    what: "an audience of an unknown capture",
    members: { auth: "bearer", bearer: '{ audiences: ["/{y}"] }' },
    path: "/bearer",
    message: /\{y\} is not captured/,
  },
  {
    what: "a resource that the gateway describes nowhere",
    members: { auth: "bearer", bearer: "{ resource: /a }" },
    path: "/bearer/resource",
    message: /no document of this gateway/,
  },
  {
    what: "CORS at a session row",
    members: { cors_origins: "[https://a.example]" },
    path: "/cors_origins",
    message: /never sent across origins/,
  },
  {
    what: "a CORS origin with a path",
    members: { auth: "bearer", cors_origins: "[https://a.example/x]" },
    path: "/cors_origins/0",
    message: /must be an origin/,
  },
  { what: "any origin", members: { auth: "bearer", cors_origins: '["*"]' }, path: "/cors_origins/0", message: /must be an origin/ },
  {
    what: "a host that is none of ours",
    members: { ...forward, hosts: "[wiki.example]" },
    path: "/hosts/0",
    message: /not the host of a public origin/,
  },
  { what: "a host twice", members: { ...forward, hosts: '["localhost:8080", "localhost:8080"]' }, path: "/hosts/1", message: /twice/ },
  {
    what: "a forward-auth row with a target",
    members: { ...forward, target_service: "crud" },
    path: "/target_service",
    message: /has none/,
  },
  {
    what: "a forward-auth row with an upstream path",
    members: { ...forward, upstream_path: "/x" },
    path: "/upstream_path",
    message: /has none/,
  },
  { what: "a forward-auth row by token", members: { ...forward, auth: "bearer" }, path: "/auth", message: /session or none/ },
  { what: "a forward-auth row that streams", members: { ...forward, streaming: "true" }, path: "/streaming", message: /has none/ },
  {
    what: "a forward-auth row that reads a body",
    members: { ...forward, methods: "[POST]", ...map('{ POST: { resource: pages, action: view_all, props: { a: "$.a" } } }') },
    path: "/authz_map/POST/props",
    message: /sees no body/,
  },
  { what: "csrf elsewhere than at forward-auth", members: { csrf: "origin" }, path: "/csrf", message: /hosts/ },
  { what: "csrf without a session", members: { ...forward, auth: "none", csrf: "origin" }, path: "/csrf", message: /auth: session/ },
  { what: "an unknown timeout", members: { timeouts: "{ read_ms: 5 }" }, path: "/timeouts/read_ms", message: /not known here/ },
  { what: "a timeout of 0", members: { timeouts: "{ total_ms: 0 }" }, path: "/timeouts/total_ms", message: /./ },
  { what: "a body limit below 0", members: { body_limit: "-1" }, path: "/body_limit", message: /./ },
  { what: "a content type in capitals", members: { content_types: "[Application/JSON]" }, path: "/content_types/0", message: /media type/ },
  { what: "a retry that is none", members: { retry: "always" }, path: "/retry", message: /must be never/ },
  { what: "a token policy of an unknown mode", members: { token_policy: "{ mode: all }" }, path: "/token_policy/mode", message: /./ },
  {
    what: "a token policy of a service of Sallyport that names another",
    members: { token_policy: "{ mode: on_behalf_of, service: pdp }" },
    path: "/token_policy/service",
    message: /target_service/,
  },
  {
    what: "a token policy at an internal row",
    members: { id: "one.handler", target_service: "internal", token_policy: "{ mode: on_behalf_of }" },
    path: "/token_policy",
    message: /upstream service/,
  },
  {
    what: "an audience that the file does not allow",
    members: { token_policy: "{ mode: on_behalf_of, audience: https://other }" },
    path: "/token_policy/audience",
    message: /audiences that this file allows/,
  },
  { what: "an unknown mark", members: { allow_encoded: '["%2f"]' }, path: "/allow_encoded/0", message: /./ },
  { what: "delete_body without DELETE", members: { delete_body: "true" }, path: "/delete_body", message: /DELETE/ },
  {
    what: "a placeholder in a text",
    members: { description: '"${CRUD_AUDIENCE}"' },
    path: "/description",
    message: /placeholders are not allowed/,
  },
  {
    what: "a placeholder deep in a row",
    members: map('{ GET: { resource: pages, action: view, id: "${CRUD_AUDIENCE}" } }'),
    path: "/authz_map/GET/id",
    message: /placeholders are not allowed/,
  },
  {
    what: "an unset variable in an audience",
    members: { auth: "bearer", bearer: '{ audiences: ["${NOT_SET}"] }' },
    path: "/bearer/audiences/0",
    message: /\$\{NOT_SET\} is not set/,
  },
  { what: "an unknown member", members: { colour: "red" }, path: "/colour", message: /not known here/ },
];

for (const { what, members, path, message } of cases)
  test(`a row with ${what} is an issue at its place`, async (t) => {
    const text = head + rowOf(members);
    const { issues } = await read(t, text);
    const found = issues.filter((issue) => issue.path === `/routes/0${path}` && message.test(issue.message));
    assert.equal(found.length, 1, issues.map(lineOf).join("\n"));
    const [issue] = found;
    assert.match(String(issue?.file), /routes\.yaml$/);
    // The place is on the line of the member, behind its name where it has a value; of a missing one, on the row.
    const member = path.split("/")[1] ?? "";
    const lines = text.split("\n");
    const at = lines.findIndex((line) => line.trim().startsWith(`${member}:`) || line.trim().startsWith(`- ${member}:`));
    assert.equal(issue?.line, member === "" || at === -1 ? 5 : at + 1, found.map(lineOf).join());
    assert.ok((issue?.column ?? 0) >= 5);
  });

const serviceCases: readonly (readonly [what: string, service: string, path: string, message: RegExp])[] = [
  ["no address", "{ base_urls: [] }", "/base_urls", /address/],
  ["what is no URL", "{ base_urls: [crud] }", "/base_urls/0", /not a URL/],
  ["another scheme", "{ base_urls: [ftp://h] }", "/base_urls/0", /http or https/],
  ["a user", "{ base_urls: [http://u:p@h] }", "/base_urls/0", /user or password/],
  ["a query", "{ base_urls: ['http://h?a'] }", "/base_urls/0", /query/],
  ["a link-local address", "{ base_urls: [http://169.254.169.254] }", "/base_urls/0", /link-local/],
  ["a mapped metadata address", "{ base_urls: ['http://[::ffff:a9fe:a9fe]'] }", "/base_urls/0", /link-local/],
  ["an integer for an address", "{ base_urls: [http://2852039166] }", "/base_urls/0", /four decimal numbers/],
  ["an unset variable", "{ base_urls: ['${NOT_SET}'] }", "/base_urls/0", /\$\{NOT_SET\} is not set/],
  ["an unset audience", "{ base_urls: [http://h], audience: '${NOT_SET}' }", "/audience", /\$\{NOT_SET\} is not set/],
  ["a certificate without key", "{ base_urls: [https://h], client_cert_file: /x }", "", /go together/],
  ["a pool of 0", "{ base_urls: [http://h], pool: 0 }", "/pool", /./],
  ["an unknown member", "{ base_urls: [http://h], port: 5 }", "/port", /not known here/],
];
for (const [what, service, path, message] of serviceCases)
  test(`a service with ${what} is an issue at its place`, async (t) => {
    const text = `version: 1\nservices:\n  far: ${service}\nroutes: []\n`;
    const { issues } = await read(t, text);
    const found = issues.filter((issue) => issue.path === `/services/far${path}` && message.test(issue.message));
    assert.equal(found.length, 1, issues.map(lineOf).join("\n"));
    assert.equal(found[0]?.line, 3);
    const name = path.split("/")[1];
    assert.ok((found[0]?.column ?? 0) >= (name === undefined ? 8 : `  far: ${service}`.indexOf(name) + 1), found.map(lineOf).join());
  });

const fileCases: readonly (readonly [what: string, text: string, issue: RegExp])[] = [
  ["another version", "version: 2\nroutes: []\n", /^routes\.yaml:1:10 \/version must be 1$/],
  ["no rows", "version: 1\n", /^routes\.yaml:1:1 \/routes /],
  ["an unknown part", "version: 1\nroutes: []\nrows: []\n", /^routes\.yaml:3:1 \/rows is not known here$/],
  [
    "a service called internal",
    "version: 1\nservices: { internal: { base_urls: [http://h] } }\nroutes: []\n",
    /^routes\.yaml:2:\d+ \/services\/internal is the name of the gateway's own handlers$/,
  ],
  [
    "a service in capitals",
    "version: 1\nservices:\n  Far: { base_urls: [http://h] }\nroutes: []\n",
    /^routes\.yaml:3:3 \/services\/Far must be 1-64/,
  ],
  [
    "an unset allowed audience",
    'version: 1\naudiences: ["${NOT_SET}"]\nroutes: []\n',
    /^routes\.yaml:2:13 \/audiences\/0 \$\{NOT_SET\} is not set/,
  ],
  ["a repeated key", "version: 1\nversion: 1\nroutes: []\n", /^routes\.yaml:2:1 +.*unique/],
  ["an anchor", "version: 1\nroutes: &a []\n", /^routes\.yaml:2:\d+ +anchors are not allowed$/],
  ["what is no YAML", "version: 1\nroutes: [\n", /^routes\.yaml:\d+:\d+ /],
];
for (const [what, text, issue] of fileCases)
  test(`a file with ${what} is an issue at its place`, async (t) => {
    const { issues } = await read(t, text);
    assert.ok(
      issues.map(lineOf).some((line) => issue.test(line)),
      issues.map(lineOf).join("\n"),
    );
  });

test("rows of overlapping hosts clash; a session and a bearer row of one path are the one pair that does not", async (t) => {
  const row = (id: string, more: string) => `  - { id: ${id}, path: "/a/{x}", methods: [GET, POST], ${more} }\n`;
  const served = "target_service: crud, preserve_path: true, authz: none";
  const hosted = (hosts: string) => `hosts: [${hosts}], auth: session, authz: none`;
  const sound = `${head}${row("a", `${served}, auth: session`)}${row("b", `${served}, auth: bearer`)}${row("c", hosted('"localhost:8080"'))}`;
  assert.deepEqual((await read(t, sound)).issues, []);
  const clashing = `${sound}${row("d", `${served}, auth: none`)}${row("e", hosted('"localhost:8080"'))}`;
  assert.deepEqual((await read(t, clashing)).issues.map(lineOf), [
    "routes.yaml:6:20 /routes/1/path row b: serves GET of the same paths as row a",
    "routes.yaml:8:20 /routes/3/path row d: serves GET of the same paths as row a",
    "routes.yaml:9:20 /routes/4/path row e: serves GET of the same paths as row c",
  ]);
});

test("a faulty row, service or mapping hides no issue of the others", async (t) => {
  const text = `version: 3
services:
  crud: { base_urls: ["http://u:p@h"], colour: red }
  far: { base_urls: [ftp://h] }
routes:
  - { id: A, path: /a, target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: none }
  - { id: b, path: /auth/b, target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: none }
  - { id: b, path: /c, target_service: away, upstream_path: "/{x}", methods: [GET], auth: session, authz: pdp }
`;
  const { issues } = await read(t, text, 'endpoint_map:\n  "/c": { GET: { resource: pages, action: burn } }\n  "/d/*/e": {}\nwhat: 1\n');
  assert.deepEqual(issues.map(lineOf).toSorted(), [
    "pdp.yaml:2:16 /endpoint_map/~1c/GET row b: pages/burn is not a pair that the decision point knows",
    "pdp.yaml:3:13 /endpoint_map/~1d~1*~1e may have * only as its whole last segment and {name} only as a whole segment",
    "pdp.yaml:4:1 /what is not known here",
    "routes.yaml:1:10 /version must be 1",
    "routes.yaml:3:40 /services/crud/colour is not known here",
    "routes.yaml:4:22 /services/far/base_urls/0 must be http or https",
    "routes.yaml:6:11 /routes/0/id row A: must be 1-64 of a-z 0-9 . _ - and begin with a letter",
    "routes.yaml:7:20 /routes/1/path row b: lies under a path that the gateway serves by itself",
    "routes.yaml:8:11 /routes/2/id row b: is used by another row",
    "routes.yaml:8:40 /routes/2/target_service row b: is not a key of services",
    "routes.yaml:8:61 /routes/2/upstream_path row b: {x} is not captured by the path",
  ]);
});

test("a faulty word of a row hides no issue of its others, and brings none that is not there", async (t) => {
  const text = `version: 1
services:
  crud: { base_urls: ["http://localhost:9"] }
routes:
  - { id: a, path: /a, target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: none }
  - { id: a, path: /x/../y, target_service: nowhere, methods: [FETCH], auth: sesion, authz: maybe, colour: red }
  - { id: c, path: /c/./d, target_service: nowhere, upstream_path: "/{z}", methods: [GET], auth: session, authz: none }
  - { id: 7, path: /d, target_service: internal, methods: [GET], auth: none, authz: none }
  - { id: e, path: /e, target_service: crud, preserve_path: true, methods: [POST], auth: 1, authz: pdp, rate: session, authz_map: { POST: { resource: pages, action: view } } }
  - { id: f, target_service: crud, upstream_path: "/{z}", methods: [GET], auth: session, authz: none }
`;
  const { issues } = await read(t, text);
  assert.deepEqual(issues.map(({ path, message }) => `${path} ${message}`).toSorted(), [
    "/routes/1 row a: needs exactly one of upstream_path and preserve_path",
    "/routes/1/auth row a: must be session, bearer or none",
    "/routes/1/authz row a: must be none or pdp",
    "/routes/1/colour row a: is not known here",
    "/routes/1/id row a: is used by another row",
    "/routes/1/methods/0 row a: must be one of GET, POST, PUT, PATCH, DELETE, OPTIONS",
    "/routes/1/path row a: is not in its canonical form: The path has a dot segment.",
    "/routes/1/target_service row a: is not a key of services",
    "/routes/2/path row c: is not in its canonical form: The path has a dot segment.",
    "/routes/2/target_service row c: is not a key of services",
    "/routes/3/id Invalid input: expected string, received number",
    "/routes/4/auth row e: must be session, bearer or none",
    "/routes/5/path row f: is required",
  ]);
});

test("what serves, though it is likely a mistake, is warned about", async (t) => {
  const bearer = rowOf({ auth: "bearer", cors_origins: "[https://a.example]" });
  const mapped = rowOf({ id: "b", path: '"/b/{x}"', authz: "pdp", methods: "[GET, POST]" });
  const pdp = 'validation_strict: false\nendpoint_map:\n  "/b/{x}": { GET: { resource: pages, action: view, id_from: "{x}" } }\n';
  const { issues, warnings } = await read(t, head + bearer + mapped, pdp);
  assert.deepEqual(issues, []);
  assert.deepEqual(warnings.map(lineOf), [
    "routes.yaml:9:14 /routes/0/methods row a: has cors_origins without OPTIONS: a browser asks first, and is refused",
    "pdp.yaml:3:20 /endpoint_map/~1b~1{x}/GET maps row b; prefer its authz_map",
    "routes.yaml:17:14 /routes/1/methods row b: no decision is mapped for POST",
  ]);
  const strict = await read(t, head + bearer + mapped, pdp.replace("false", "true"));
  assert.deepEqual(strict.issues.map(lineOf), ["routes.yaml:17:14 /routes/1/methods row b: no decision is mapped for POST"]);
});
