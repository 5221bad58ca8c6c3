import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { Problem } from "#contract/problem.ts";
import { isBuiltInPath } from "#gateway/steps/built-in-path.ts";
import { canonicalise, guardMarks } from "#gateway/model/canonical-path.ts";
import { upstreamPath } from "#gateway/proxy/proxy.ts";
import { loadRoutes } from "#gateway/routes/load-routes.ts";
import { schemaActions } from "#pdp/bundle/schema-actions.ts";
import { capturesOf, type RouteTable } from "#gateway/routes/route-table.ts";
import { sharedDatabase, testGateway } from "#testing/gateway.ts";
import { percentDecode as decode, startApache, startNginx, startTomcat, type PathReading, type PathServer } from "#testing/path-servers.ts";
import { requireProgram } from "#testing/programs.ts";
import { readTargets } from "#testing/read-targets.ts";
import { targetArbitrary } from "#testing/target-arbitrary.ts";

// FUZZ_SEED and FUZZ_RUNS make another run, or a longer one, of the same.
const seed = Number(process.env["FUZZ_SEED"] ?? 20_260_801);
const numRuns = Number(process.env["FUZZ_RUNS"] ?? 150_000);

const prefixes = ["/public/", "/admin/", "/api/t/", "/api/b/", "/encoded/", "/semicolon/"] as const;
const rowOf = (prefix: string): string => prefix.slice(1, -1).replace("/", "-");
const allowed: Readonly<Record<string, string>> = { "/encoded/": ', allow_encoded: ["%2F"]', "/semicolon/": ', allow_encoded: [";"]' };
const routes = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
${prefixes
  .map(
    (prefix) =>
      `  - { id: ${rowOf(prefix)}, path: "${prefix}*", target_service: crud, upstream_path: "/${rowOf(prefix)}/{path}", methods: [GET], auth: none, authz: none${allowed[prefix] ?? ""} }`,
  )
  .join("\n")}
`;

const database = sharedDatabase();
let table: RouteTable;
before(async () => {
  const folder = await mkdtemp(join(tmpdir(), "fuzz-"));
  const [routesFile, pdpConfigFile] = [join(folder, "routes.yaml"), join(folder, "pdp.yaml")];
  await Promise.all([writeFile(routesFile, routes), writeFile(pdpConfigFile, "{}\n")]);
  const variables = { CRUD_SERVICE_URL: "http://localhost:8083", CRUD_AUDIENCE: "http://localhost:8083" };
  const files = { routesFile, pdpConfigFile, variables, handlers: [], internalAudiences: [], publicHosts: new Set<string>() };
  ({ table } = await loadRoutes({ ...files, isBuiltIn: isBuiltInPath, schemaActions }));
  after(() => rm(folder, { recursive: true }));
});

/** A target that a row serves. */
interface Served {
  readonly raw: string;
  /** What is matched, decided and logged. */
  readonly canonical: string;
  /** What the upstream is sent. */
  readonly forwarded: string;
  readonly prefix: string;
}

/** The checks of the pipeline that read a target: `undefined` where one of them refuses, or no row matches. */
const serve = (raw: string): Served | undefined => {
  try {
    const target = canonicalise(raw);
    assert.deepEqual(canonicalise(target.path + target.query), target, "the form of a form is itself");
    const hit = isBuiltInPath(target.path) ? undefined : table.find(target.path);
    const [route] = hit?.routes ?? [];
    if (hit === undefined || route === undefined) return undefined;
    guardMarks(target, route.row.allow_encoded);
    const prefix = route.pattern.text.slice(0, -1);
    return { raw, prefix, canonical: target.path + target.query, forwarded: upstreamPath(route, capturesOf(route, hit.captured)) };
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    return undefined;
  }
};

const withoutQuery = (target: string): string => target.split("?")[0] ?? "";
/** Where a row opts in to what readers take in several ways, they agree on the rest: merged slashes, no path parameters. */
const plain = (path: string, prefix: string): string =>
  prefix === "/semicolon/" ? path.replace(/;[^/]*/g, "") : prefix === "/encoded/" ? path.replace(/\/{2,}/g, "/") : path;
const resourceOf = (path: string): string => prefixes.find((prefix) => path.startsWith(prefix)) ?? "/";

const resolveDots = (path: string): string => {
  const out: string[] = [];
  for (const segment of path
    .replace(/\\/g, "/")
    .replace(/\/{2,}/g, "/")
    .slice(1)
    .split("/")) {
    if (segment === "..") out.pop();
    else if (segment !== ".") out.push(segment);
  }
  return `/${out.join("/")}`;
};
const dropParameters = (path: string): string => path.replace(/;[^/]*/g, "");

/** Readers that exist in the wild, each with its own idea of a path. */
const readers: Readonly<Record<string, (target: string) => string>> = {
  "a WHATWG URL": (target) => decode(new URL(`http://sallyport.internal${target}`).pathname),
  "one that decodes once": (target) => resolveDots(decode(withoutQuery(target))),
  "one that decodes twice": (target) => resolveDots(decode(decode(withoutQuery(target)))),
  "one that resolves before it decodes": (target) => decode(resolveDots(withoutQuery(target))),
  "one that drops parameters, then decodes": (target) => resolveDots(decode(dropParameters(withoutQuery(target)))),
  "one that decodes, then drops parameters": (target) => resolveDots(dropParameters(decode(withoutQuery(target)))),
};

const assertSame = (reader: string, target: string, reading: PathReading, served: Served, path: string): void => {
  const said = `${reader} reads ${JSON.stringify(target)} of ${JSON.stringify(served.raw)}`;
  assert.equal(plain(reading.path, served.prefix), plain(path, served.prefix), said);
  assert.equal(reading.resource, resourceOf(path), said);
};

/** By the target as it was written: what was generated twice is compared once. */
const servedTargets = new Map<string, Served>();
let refused = 0;

test(`attack 1-12: ${numRuns} targets (seed ${seed}): every reader sees the resource whose row decided, or the target is refused`, () => {
  const property = fc.property(targetArbitrary, (raw) => {
    const taken = serve(raw);
    if (taken === undefined) {
      refused += 1;
      return;
    }
    const path = decode(withoutQuery(taken.canonical));
    assert.equal(resourceOf(path), taken.prefix);
    for (const [name, read] of Object.entries(readers)) {
      for (const target of [taken.raw, taken.canonical]) {
        const reading = read(target);
        assertSame(name, target, { path: reading, resource: resourceOf(reading) }, taken, path);
      }
      assert.equal(plain(read(taken.forwarded), taken.prefix), plain(decode(taken.forwarded), taken.prefix), `${name} at the upstream`);
    }
    servedTargets.set(raw, taken);
  });
  fc.assert(property, { seed, numRuns, endOnFailure: false });
});

test("attack 1-12: a good share is served on every row, and a good share refused, so that the comparison says something", (t) => {
  const served = [...servedTargets.values()];
  t.diagnostic(`seed ${seed}: ${served.length} distinct served, ${refused} refused`);
  assert.ok(served.length >= numRuns / 5, `${served.length} served`);
  assert.ok(refused >= numRuns / 5, `${refused} refused`);
  for (const prefix of prefixes) assert.ok(served.filter((one) => one.prefix === prefix).length >= numRuns / 200, prefix);
  assert.ok(served.filter((one) => one.raw !== one.canonical).length >= numRuns / 100, "changed by the canonical form");
});

/** Every target that was served, as the client wrote it, as it was decided, and as it is forwarded. */
const compare = async (server: PathServer): Promise<void> => {
  const asked = [...servedTargets.values()].flatMap((one) => [one.raw, one.canonical, one.forwarded].map((target) => ({ one, target })));
  const readings = await readTargets(
    server,
    asked.map(({ target }) => target),
  );
  for (const [index, { one, target }] of asked.entries()) {
    const reading = readings[index];
    assert.ok(reading, `${server.name} refuses ${JSON.stringify(target)}`);
    assertSame(server.name, target, reading, one, decode(withoutQuery(target === one.forwarded ? target : one.canonical)));
  }
};

for (const [name, start] of [
  ["nginx", startNginx],
  ["apache2", startApache],
  ["tomcat10", startTomcat],
] as const)
  test(`attack 1-12: ${name} reaches the same resource and path for every target that is served`, async (t) => {
    const program =
      name === "nginx" ? requireProgram(t, "nginx") : name === "apache2" ? requireProgram(t, "apache2") : requireProgram(t, "tomcat10");
    if (program !== undefined) await compare(await start(t, program, prefixes));
  });

test("attack 1-12: over the wire the gateway does with a target what its checks say", async (t) => {
  const made = await testGateway(t, {
    database: await database(),
    routes,
    peers: { crud: async (request) => new Response(null, { headers: { "x-forwarded-target": request.url } }) },
  });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const gateway: PathServer = {
    name: "the gateway",
    port,
    read: (status, headers) => {
      const path = /^x-forwarded-target: http:\/\/crud\.internal(\S*)/im.exec(headers)?.[1];
      return status === 200 && path !== undefined ? { resource: "", path: withoutQuery(path) } : undefined;
    },
  };
  // A space or a line end in a target makes another request line of it: that is framing, not a path.
  const sample = fc.sample(targetArbitrary, { seed, numRuns: 4000 }).filter((raw) => !/[ \r\n]/.test(raw));
  const readings = await readTargets(gateway, sample, "localhost:8080");
  for (const [index, raw] of sample.entries()) assert.equal(readings[index]?.path, serve(raw)?.forwarded, JSON.stringify(raw));
});
