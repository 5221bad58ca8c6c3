// `npm run fuzz`: generated requests, right and wrong ones, to every endpoint of the published OpenAPI documents.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { personScopes } from "#authn/model/scopes.ts";
import type { ServiceName } from "#contract/endpoint.ts";
import { endpointTable, type EndpointRow } from "#contract/endpoints.ts";
import { portOffsets } from "#app/model/addresses.ts";
import { signInPerson } from "../e2e/sign-in.ts";
import { startTestInstance } from "../e2e/test-instance.ts";
import { fuzzDocument, type FuzzRun } from "./fuzz/fuzz-document.ts";
import { startFuzzIssuer } from "./fuzz/issuer.ts";
import { openSchemathesis } from "./fuzz/schemathesis.ts";
import { requireOptions } from "./options.ts";
import { findFreePorts } from "#testing/free-port.ts";

const services = ["pdp", "crud", "membership", "secrets", "gateway"] as const satisfies readonly ServiceName[];
const USAGE = 64;

const { values } = requireOptions(
  `npm run fuzz [-- --only SERVICES] [--seed N] [--examples N]

Starts an instance of its own and sends it generated requests from every document in docs/reference/openapi with Schemathesis.
What is answered must be documented: status, content type, body; bad input is refused, good input taken, no credential ignored.

  --only SERVICES  these documents alone, e.g. pdp,secrets
  --seed N         another choice of requests; 1 unless given
  --examples N     generated requests an operation, besides the systematic ones; 20 unless given
`,
  { only: { type: "string" }, seed: { type: "string", default: "1" }, examples: { type: "string", default: "20" } },
);
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const whole = (name: "seed" | "examples"): number => {
  const given = Number(values[name]);
  if (Number.isSafeInteger(given) && given > 0) return given;
  say(`--${name} must be a positive whole number.`);
  process.exit(USAGE);
};
const seed = whole("seed");
const examples = whole("examples");
const only: readonly string[] = typeof values["only"] === "string" ? values["only"].split(",") : services;
const unknown = only.filter((name) => !services.some((known) => known === name));
if (unknown.length > 0) {
  say(`--only: no service ${unknown.join(", ")}; there are ${services.join(", ")}.`);
  process.exit(USAGE);
}

const program = openSchemathesis(say);
if (program === undefined) {
  say("NO PYTHON 3.11 WITH venv: the fuzz of the OpenAPI documents is skipped.");
  process.exit(process.env["REQUIRE_REAL"] === "1" ? 1 : 0);
}

type Credential = Pick<FuzzRun, "token" | "session">;

const persons: ReadonlySet<string> = new Set(personScopes);
/** No person may have what it asks for. */
const isForServices = ({ endpoint: { scope = [] } }: EndpointRow): boolean => scope.length > 0 && !scope.some((one) => persons.has(one));

const signIn = async (origin: string): Promise<NonNullable<FuzzRun["session"]>> => {
  const { cookie, headers } = await signInPerson(origin, "ada");
  const { cookie: _cookie, "content-type": _type, ...own } = headers;
  const cut = cookie.indexOf("=");
  return { name: cookie.slice(0, cut), value: cookie.slice(cut + 1), headers: own };
};

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop.abort());

const folder = mkdtempSync(join(tmpdir(), "sallyport-fuzz-"));
try {
  await using issuer = await startFuzzIssuer();
  const port = await findFreePorts();
  const environment = {
    BEARER_ISSUERS: `http://localhost:${port + 1},${issuer.url}`,
    // With it records name secrets, by which they are looked for.
    TENANT_SALT: "0123456789abcdef0123456789abcdef",
    LOG_LEVEL: "error",
  };
  const instance = await startTestInstance({ port, environment });
  let passed = 0;
  let failed = 0;
  const fuzz = async (service: ServiceName, operations: readonly string[], credential: Credential): Promise<void> => {
    if (operations.length === 0 || stop.signal.aborted) return;
    const url = `http://localhost:${port + portOffsets[service]}`;
    const result = await fuzzDocument({ program, service, url, folder, seed, examples, operations, signal: stop.signal, ...credential });
    passed += result.passed;
    failed += result.failed;
  };
  try {
    for (const service of services) {
      if (!only.includes(service)) continue;
      const rows = endpointTable.filter((row) => row.endpoint.service === service);
      const names = (wanted: (row: EndpointRow) => boolean): readonly string[] => rows.filter(wanted).map(({ name }) => name);
      if (service === "gateway") {
        await fuzz(
          service,
          names(() => true),
          { session: await signIn(instance.origin) },
        );
        continue;
      }
      const audience = `http://localhost:${port + portOffsets[service]}`;
      await fuzz(
        service,
        names((row) => !isForServices(row)),
        { token: await issuer.token(audience, "person") },
      );
      await fuzz(service, names(isForServices), { token: await issuer.token(audience, "service") });
    }
  } finally {
    if (failed > 0) say(instance.output().slice(-10_000));
    await instance.stop();
  }
  say(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 && !stop.signal.aborted ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
