import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { getDecision, type DecisionRecord } from "#contract/decisions.ts";
import { Problem } from "#contract/problem.ts";
import { readSettings } from "#contract/setting.ts";
import { bodyShareOf, type Caller } from "#authn/model/caller.ts";
import { createLiveBus } from "#events/streams/live-bus.ts";
import type { Recorder } from "#events/audit/entry.ts";
import { createRecorder } from "#events/audit/recorder.ts";
import type { Change } from "#events/changes/change.ts";
import { createChange } from "#events/changes/create-change.ts";
import { createRouter } from "#http/serve.ts";
import type { Service } from "#http/service.ts";
import type { EvaluationQuery, PdpClient } from "#pdp-client/pdp-client.ts";
import { whyRefused, type Decision } from "#pdp-client/obligations.ts";
import { secretsSettings } from "#secrets/config.ts";
import type { Environment } from "#contract/setting.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";
import { createYamlProvider } from "#secrets/providers/yaml/yaml-provider.ts";
import type { SecretsParts } from "#secrets/pipeline/secrets-context.ts";
import { createSecrets } from "#secrets/service.ts";
import { statement, type Database } from "#store/database.ts";
import { createLog } from "#telemetry/log.ts";
import { createMetrics, type Metrics } from "#telemetry/metrics.ts";
import { testDatabase } from "./database.ts";
import { testAudiences, testIdentity, type TestIdentity } from "./identity.ts";
import { atEndOfProcess } from "./shared.ts";

/** What the decision point was asked, and what it shall say. */
export interface Asked {
  readonly sub: string;
  readonly tenant: string;
  readonly agent: string | undefined;
  readonly ask: EvaluationQuery;
}
export type Rule = (asked: Asked) => boolean | Partial<Decision> | Problem;

export interface TestSecrets {
  readonly metrics: Metrics;
  readonly service: Service;
  readonly provider: SecretProvider;
  readonly path: string;
  readonly identity: TestIdentity;
  readonly asked: Asked[];
  readonly lines: string[];
  /** Calls that reached the provider's values, by name. */
  readonly touched: string[];
  rule: Rule;
  readonly records: Map<string, Partial<DecisionRecord>>;
  clock: number;
  send(who: Parameters<TestIdentity["tokenFor"]>[0] | "crud" | "nobody", method: string, path: string, more?: SendMore): Promise<Response>;
  /** Audit entries of the category `secret`, oldest first. */
  entries(): Promise<readonly Record<string, unknown>[]>;
  events(): Promise<readonly { type: string; tenant: string; data: Record<string, unknown> }[]>;
  readonly database: Database;
  readonly change: Change;
}
export interface SendMore {
  readonly body?: unknown;
  readonly raw?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const LEAVES = statement<{ leaf: Uint8Array }>("testing.secret_leaves", "select leaf from events.audit_queue order by entry_id");
const EVENTS = statement<{ type: string; tenant: string; data: Record<string, unknown> }>(
  "testing.secret_events",
  "select type, tenant, data from events.outbox order by seq",
);

/** As long as the database that holds what it wrapped. */
const kek = randomBytes(32);
let shared: Promise<Database> | undefined;

/** One database for all tests of a process, emptied for each: making one takes longer than any of them. */
const sharedDatabase = (): Promise<Database> => {
  shared ??= testDatabase({ after: atEndOfProcess }, ["events", "secrets"]);
  return shared;
};

/**
 * The secrets service on a real file, the real recorder and outbox, real tokens. The decision point is a port here: a
 * rule says what it answers, and everything it was asked is kept.
 */
export const testSecrets = async (
  t: TestContext,
  options: {
    readonly settings?: Readonly<Record<string, string>>;
    readonly environment?: Environment;
    /** In place of the rule: a real decision point, and the identity whose tokens it knows. */
    readonly parts?: Partial<Pick<SecretsParts, "pdpClient" | "peers" | "pdpTimeoutMs" | "tracing">>;
    readonly identity?: TestIdentity;
    /** What an earlier service of this file has left stays. */
    readonly keepsRecords?: boolean;
    /** Random unless given. */
    readonly instanceSecrets?: SecretsParts["secrets"];
    /** Providers beside the file's. */
    readonly more?: readonly SecretProvider[];
    /** Around the service's own database, for what a test does between two statements. */
    readonly wrap?: (database: Database) => Database;
    /** Around the recorder of its acts. */
    readonly wrapRecorder?: (recorder: Recorder) => Recorder;
    /** In place of the file's. */
    readonly providers?: readonly SecretProvider[];
  } = {},
): Promise<TestSecrets> => {
  const environment = options.environment ?? "test";
  const folder = await mkdtemp(join(tmpdir(), "sallyport-secrets-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "secrets.yaml");
  const database = await sharedDatabase();
  if (options.keepsRecords !== true)
    await database.script(
      "delete from events.audit_queue; delete from events.outbox; delete from secrets.move; delete from secrets.change; delete from secrets.keyed_answer; delete from secrets.intent; delete from secrets.store_position",
    );
  const metrics = createMetrics();
  const lines: string[] = [];
  const log = createLog({ level: "trace", service: "secrets", version: "0", environment, write: (line) => void lines.push(line) });
  const asked: Asked[] = [];
  const touched: string[] = [];
  const records = new Map<string, Partial<DecisionRecord>>();
  const made = { rule: (() => true) as Rule, clock: Date.now() };
  const now = () => new Date(made.clock);
  const identity = options.identity ?? testIdentity({ now });
  const recorder = await createRecorder({ database, writerId: randomUUID(), service: "secrets", log, metrics, now, kek });
  t.after(() => recorder[Symbol.asyncDispose]());
  const bus = await createLiveBus({ database, log, metrics, pollMs: 200 });
  t.after(() => bus[Symbol.asyncDispose]());
  const change = createChange({ database, recorder, bus });

  const decideMany: PdpClient["decideMany"] = async (principal, asks, _correlationId, semantic) => {
    const answers: Decision[] = [];
    for (const [index, ask] of asks.entries()) {
      const one = { sub: principal.sub, tenant: principal.tenant, agent: principal.agent, ask };
      asked.push(one);
      const said = made.rule(one);
      if (said instanceof Problem) throw said;
      const decided = {
        decision: true,
        decisionId: `dec-${asked.length}-${index}`,
        obligations: [],
        ...(typeof said === "boolean" ? { decision: said } : said),
      };
      answers.push(decided);
      if (!decided.decision && semantic === "deny_on_first_deny") break;
    }
    return answers;
  };
  const pdpClient: PdpClient = {
    decideMany,
    decide: async (principal, ask, correlationId) => (await decideMany(principal, [ask], correlationId))[0]!,
    refusal: (principal, decided, { publicOrigin = "http://localhost:8080", ...here } = {}) =>
      whyRefused(decided, principal, { ...here, publicOrigin, now: now() }),
    require: async (principal, ask, correlationId) => {
      const decided = await pdpClient.decide(principal, ask, correlationId);
      const refusal = pdpClient.refusal(principal, decided);
      if (refusal !== undefined) throw refusal;
      return decided;
    },
    replayTools: async () => undefined,
    gained: async () => {
      throw new Error("not asked here");
    },
  };

  const pdp = createRouter<Caller>({
    name: "pdp",
    shareOf: bodyShareOf,
    authenticate: identity.authenticateFor(testAudiences.pdp),
    log,
    validateReplies: true,
  });
  pdp.serve(getDecision, async ({ params, caller }) => {
    if (caller.sub !== "service:secrets" || !caller.isInternalService) throw new Problem("access_denied");
    const record = records.get(params.id);
    if (record === undefined) throw new Problem("not_found");
    return {
      decision_id: params.id,
      decided_at: now().toISOString(),
      decision: true,
      sentence: "",
      tenant: "tenant:acme",
      pep: "service:crud",
      action: "tools/call",
      resource: { type: "tool", id: "people.demo.list_employees" },
      requestable: false,
      ...record,
    };
  });

  const inner = await createYamlProvider({ path, environment: "test", log, now });
  const provider: SecretProvider = {
    ...inner,
    read: async (ref) => {
      touched.push(`read ${ref.canonical}`);
      return inner.read(ref);
    },
    keys: async (ref) => {
      touched.push(`keys ${ref.canonical}`);
      return inner.keys(ref);
    },
    write: async (ref, change, expect) => {
      touched.push(`write ${ref.canonical}`);
      return inner.write(ref, change, expect);
    },
  };
  const { values, issues } = readSettings(secretsSettings, {
    TENANT_ALLOWED_MOUNTS:
      '{"tenant:acme":["yaml://secret","vaultA+kv2://kv-a","vaultB+kv2://kv-b"],"tenant:globex":["vaultA+kv2://kv-globex"]}',
    ...options.settings,
  });
  if (issues.length > 0) throw new Error(JSON.stringify(issues));
  const service = await createSecrets({
    config: values,
    database: options.wrap?.(database) ?? database,
    secrets: options.instanceSecrets ?? [randomBytes(32)],
    providers: options.providers ?? [provider, ...(options.more ?? [])],
    authenticate: identity.authenticateFor(testAudiences.secrets),
    identity: identity.identityOf("secrets"),
    pdpClient,
    peers: { pdp: pdp.fetch },
    audiences: testAudiences,
    pdpTimeoutMs: 10_000,
    recorder: { ...(options.wrapRecorder?.(recorder) ?? recorder), references: recorder.references },
    bus,
    change,
    publicOrigin: "http://localhost:8080",
    environment,
    findOperator: async () => "tenant:acme",
    log,
    metrics,
    now,
    ...options.parts,
  });

  return Object.assign(made, {
    metrics,
    service,
    provider,
    path,
    identity,
    asked,
    lines,
    touched,
    records,
    database,
    change,
    send: async (who: Parameters<TestSecrets["send"]>[0], method: string, target: string, more: SendMore = {}) => {
      const token =
        who === "nobody"
          ? undefined
          : who === "crud"
            ? await identity.identityOf("crud").asService(testAudiences.secrets, ["secrets.read"])
            : await identity.tokenFor(who, testAudiences.secrets);
      const body = more.raw ?? (more.body === undefined ? undefined : JSON.stringify(more.body));
      return service.fetch(
        new Request(`${testAudiences.secrets}${target}`, {
          method,
          headers: {
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(body === undefined ? {} : { "content-type": "application/json" }),
            ...more.headers,
          },
          ...(body === undefined ? {} : { body }),
        }),
      );
    },
    entries: async () =>
      (await database.run(LEAVES))
        .map(({ leaf }) => JSON.parse(Buffer.from(leaf).toString("utf8")) as Record<string, unknown>)
        .filter((entry) => entry["category"] === "secret"),
    events: () => database.run(EVENTS).then((rows) => [...rows]),
  });
};
