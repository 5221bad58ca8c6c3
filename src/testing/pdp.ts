import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Assurance } from "#authn/model/assurance.ts";
import { readSettings, type SettingsOf } from "#contract/setting.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { Change } from "#events/changes/change.ts";
import type { Service } from "#http/service.ts";
import { readCandidates } from "#membership/graph/sql-candidates.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";
import { factsIf } from "#membership/pip/facts-if.ts";
import { pdpSettings } from "#pdp/config.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";

import type { CandidateSource } from "#pdp/facts/candidate-source.ts";
import { createExaminer, type Examiner } from "#pdp/lifecycle/examine/examiner.ts";
import { createPdp, type PdpParts } from "#pdp/service.ts";
import type { Database } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics, type Metrics } from "#telemetry/metrics.ts";
import { cleanUp } from "./clean-up.ts";
import { testDatabase } from "./database.ts";
import { kafkaInUse, testEvents } from "./events.ts";
import { testAudiences, testIdentity, type TestIdentity } from "./identity.ts";
import { graphWorld, type GraphWorld } from "./membership.ts";
import { atEndOfProcess, sharedInFile } from "./shared.ts";

/** Modules whose tables a decision point over the demo world needs. */
export const pdpModules = ["events", "membership", "pdp"] as const;

/** Facts by the graph reader itself, without membership's service between. */
export const readerFacts = (world: GraphWorld): FactSource => ({
  gather: async (asks) => {
    const { version, value } = await world.reader.facts(wholeGraph, asks);
    return { graphVersion: Number(version), facts: value };
  },
  ready: async () => true,
  gatherIf: async (asks, change) => {
    const body = { ...change, asks: [...asks] };
    const { version, value } = await factsIf(world.database, wholeGraph, body, { unknownType: "tenants", refused: () => {} });
    return { graphVersion: Number(version), ...value };
  },
});

/** What searches look at, by the graph itself. */
const readerCandidates = (database: Database): CandidateSource => ({
  list: async (ask) => (await readCandidates(database, wholeGraph, ask)).value,
});

export interface PdpWorld {
  readonly service: Service;
  readonly world: GraphWorld;
  readonly identity: TestIdentity;
  readonly database: Database;
  readonly metrics: Metrics;
  /** Audit entries of decisions, in order. */
  readonly entries: readonly EntryDraft[];
  readonly clock: { now: Date };
  /** POST of a body, or GET without one, with a token of this holder. */
  ask(path: string, token: string | undefined, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
  serviceToken(service?: "gateway" | "crud" | "secrets" | "membership"): Promise<string>;
  personToken(login: string, more?: { readonly agent?: string; readonly acr?: Assurance; readonly authTime?: number }): Promise<string>;
}

const demoPolicies = fileURLToPath(new URL("../../config/demo/policies/", import.meta.url));
export const pdpConfig = (environment: Readonly<Record<string, string>> = {}): SettingsOf<typeof pdpSettings> => {
  const { values, issues } = readSettings(pdpSettings, {
    PDP_CONFIG_FILE: "/nonexistent/pdp.yaml",
    PDP_MORE_POLICIES: demoPolicies,
    PDP_RECORD_WINDOW_MS: "0",
    ...environment,
  });
  if (issues.length > 0) throw new Error(JSON.stringify(issues));
  return values;
};

let examinerOfProcess: Examiner | undefined;
atEndOfProcess(() => examinerOfProcess?.[Symbol.asyncDispose]());

/** One thread for all worlds of a process: starting another takes seconds of a processor, for the engine is compiled anew. */
const sharedExaminer = (): Examiner => {
  if (process.env["NODE_TEST_CONTEXT"] === undefined) return createExaminer();
  examinerOfProcess ??= createExaminer();
  return { ask: examinerOfProcess.ask, [Symbol.asyncDispose]: async () => {} };
};

export interface PdpWorldOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly parts?: Partial<PdpParts>;
  /** Stands between the decision point and the database, to break it. */
  readonly change?: (inner: Change) => Change;
  /** Audit entries go through the real recorder instead of a list. */
  readonly realAudit?: boolean;
  /** Whose keys are trusted; own ones unless given. */
  readonly identity?: TestIdentity;
  /** Instead of an embedded one of its own. */
  readonly database?: Database;
  /** Another decision point over the same database, as after a restart. */
  readonly over?: PdpWorld;
}

/** The decision point over the real graph of the demo world, on an embedded database; closed when the test ends. */
export const pdpWorld = async (t: Pick<TestContext, "after">, options: PdpWorldOptions = {}): Promise<PdpWorld> => {
  const database = options.over?.database ?? options.database ?? (await testDatabase(t, pdpModules));
  const world = options.over?.world ?? (await graphWorld(database));
  const clock = options.over?.clock ?? { now: new Date() };
  const now = () => clock.now;
  const identity = options.over?.identity ?? options.identity ?? testIdentity({ now });
  const change = options.realAudit === true ? (await testEvents(t, database, { sink: kafkaInUse })).change : world.change;
  const metrics = createMetrics();
  const service = await createPdp({
    config: pdpConfig(options.settings),
    database,
    change: options.change === undefined ? change : options.change(change),
    authenticate: identity.authenticateFor(testAudiences.pdp),
    identity: identity.identityOf("pdp"),
    peers: { membership: async () => new Response(null, { status: 503 }) },
    audiences: testAudiences,
    publicOrigin: "http://localhost:8080",
    secrets: identity.secrets,
    log: silentLog,
    metrics,
    now,
    environment: "test",
    facts: readerFacts(world),
    candidates: readerCandidates(database),
    follow: { isWarmed: false },
    examiner: options.parts?.examiner ?? sharedExaminer(),
    ...options.parts,
  });
  cleanUp(t, () => service[Symbol.asyncDispose]().catch(() => {}));
  return {
    service,
    world,
    identity,
    database,
    metrics,
    entries: world.entries,
    clock,
    ask: (path, token, body, headers = {}) =>
      service.fetch(
        new Request(`http://localhost:8082${path}`, {
          method: body === undefined ? "GET" : "POST",
          headers: {
            ...(body === undefined ? {} : { "content-type": "application/json" }),
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...headers,
          },
          ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
        }),
      ),
    serviceToken: (from = "gateway") => identity.identityOf(from).asService(testAudiences.pdp, ["authzen.pep"]),
    personToken: (login, more = {}) =>
      identity.tokenFor({
        sub: `person:${login}`,
        tenant: login === "eve" ? "tenant:globex" : "tenant:acme",
        scopes: ["openid"],
        ...more,
      }),
  };
};

/** One for all tests of a file that change nothing in it. Call it while they are being declared. */
export const sharedPdpWorld = (options: PdpWorldOptions = {}): (() => Promise<PdpWorld>) => sharedInFile((t) => pdpWorld(t, options));
