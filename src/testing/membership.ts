import type { TestContext } from "node:test";
import { readSettings, type SettingsOf } from "#contract/setting.ts";
import { createChange } from "#events/changes/create-change.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { Change } from "#events/changes/change.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import type { Service } from "#http/service.ts";
import { seedDemo } from "#demo/world.ts";
import { membershipSettings } from "#membership/config.ts";
import { seedBuiltIns } from "#membership/seed/built-in-nodes.ts";
import type { GraphReader } from "#membership/graph/graph-reader.ts";
import { putEdge, type EdgeDraft } from "#membership/graph/put-edge.ts";
import { putNode, type NodeDraft } from "#membership/graph/put-node.ts";
import { createSqlReader } from "#membership/graph/sql-reader.ts";
import { createWriteGraph, type WriteGraph } from "#membership/graph/write.ts";
import type { SignInRules } from "#membership/sign-ins/settle-person.ts";
import { createMembership } from "#membership/service.ts";
import type { Obligation } from "#contract/authzen.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import { whyRefused } from "#pdp-client/obligations.ts";
import { statement, type Database } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics, type Metrics } from "#telemetry/metrics.ts";
import { cleanUp } from "./clean-up.ts";
import { testDatabase } from "./database.ts";
import { doneOnce } from "./first-state.ts";
import { testAudiences, testIdentity, type TestIdentity } from "./identity.ts";
import { sharedInFile } from "./shared.ts";

/** Modules whose tables a graph needs. */
export const graphModules = ["events", "membership"] as const;

export interface PublishedEvent {
  readonly type: string;
  readonly tenant: string;
  readonly kind: string | null;
  readonly visible_to: readonly string[] | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The demo world's graph on a database, written through the real change; audit drafts are kept for the test to see. */
export interface GraphWorld {
  readonly database: Database;
  readonly change: Change;
  readonly write: WriteGraph;
  readonly reader: GraphReader;
  readonly metrics: Metrics;
  readonly entries: readonly EntryDraft[];
  /** Events of live streams, oldest first. */
  published(): Promise<readonly PublishedEvent[]>;
  put(...drafts: readonly (NodeDraft | EdgeDraft)[]): Promise<void>;
  /** SQL as a test needs it, e.g. to let time pass for a row. */
  sql<Row>(text: string): Promise<readonly Row[]>;
}

const PUBLISHED = statement<PublishedEvent>(
  "testing.told",
  "select type, tenant, kind, visible_to, data from events.outbox where stream is not null order by seq",
);

/** `demo: false` leaves only Sallyport's own nodes. */
export const graphWorld = async (database: Database, options: { readonly demo?: boolean } = {}): Promise<GraphWorld> => {
  const entries: EntryDraft[] = [];
  const metrics = createMetrics();
  const change = createChange({
    database,
    bus: { announce: () => {} },
    recorder: {
      writeIn: async (_sql, drafts) => {
        entries.push(...drafts);
        return [];
      },
      ended: () => {},
    },
  });
  const write = createWriteGraph({ change, metrics });
  const seeded = await doneOnce(database, options.demo === false ? "empty" : "demo", async () => {
    await seedBuiltIns(write);
    if (options.demo !== false) await seedDemo({ change, metrics, now: () => new Date() });
    return [...entries];
  });
  entries.splice(0, entries.length, ...structuredClone(seeded));
  let count = 0;
  return {
    database,
    change,
    write,
    metrics,
    reader: createSqlReader({ database, dataScope: { unknownType: "tenants", refused: () => {} } }),
    entries,
    published: () => database.run(PUBLISHED),
    put: async (...drafts) => {
      await write({ actor: "person:ada", source: "api", correlationId: "test", tenantId: null, roles: "platform" }, async (tx) => {
        for (const draft of drafts) await ("src" in draft ? putEdge(tx, draft) : putNode(tx, draft));
        return { value: undefined };
      });
    },
    sql: (text) => database.run(statement(`testing.sql.${++count}`, text)),
  };
};

/** What a decision double is asked. */
export interface Asked {
  readonly sub: string;
  readonly agent: string | undefined;
  readonly type: string;
  readonly action: string;
  readonly id: string | undefined;
}
export type Rule = (asked: Asked) => boolean | string | { readonly obligations: readonly Obligation[] };

/** As the decider of Sallyport refuses, for a caller of the present. */
export const refusalBy: PdpClient["refusal"] = (principal, decided, { publicOrigin = "http://localhost:8080", ...here } = {}) =>
  whyRefused(decided, principal, { ...here, publicOrigin, now: new Date() });

/** A decider that answers by a rule (text = a denial with that reason, obligations = a permit with them) and remembers what it was asked. */
const deciderBy = (rule: Rule): { readonly pdpClient: PdpClient; readonly asked: readonly Asked[] } => {
  const asked: Asked[] = [];
  const decideMany: PdpClient["decideMany"] = async (principal, asks) =>
    asks.map((ask) => {
      const seen = { sub: principal.sub, agent: principal.agent, type: ask.type, action: ask.action, id: ask.id };
      asked.push(seen);
      const said = rule(seen);
      return {
        decision: said === true || typeof said === "object",
        decisionId: `d_${asked.length}`,
        ...(typeof said === "string" ? { reason: said } : {}),
        obligations: typeof said === "object" ? said.obligations : [],
      };
    });
  const decide: PdpClient["decide"] = async (principal, ask, correlationId) => {
    const [decided] = await decideMany(principal, [ask], correlationId);
    if (decided === undefined) throw new Error("one ask, one decision");
    return decided;
  };
  return {
    asked,
    pdpClient: {
      decide,
      decideMany,
      refusal: refusalBy,
      gained: async () => new Set(),
      replayTools: async () => undefined,
      require: async (principal, ask, correlationId) => {
        const decided = await decide(principal, ask, correlationId);
        const refusal = refusalBy(principal, decided);
        if (refusal !== undefined) throw refusal;
        return decided;
      },
    },
  };
};

export interface ServedWorld extends GraphWorld {
  readonly service: Service;
  readonly asked: readonly Asked[];
  /** A request as somebody; `as` is a person's login, an agent `ben+hr-assistant`, a service `service:pdp`, or `undefined` for nobody. */
  call(as: string | undefined, method: string, path: string, more?: CallMore): Promise<Reply>;
}
export interface CallMore {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly scopes?: readonly string[];
  /** The reply is no JSON. */
  readonly asText?: true;
}
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // Tests look into bodies of many shapes.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

const settings = (environment: Record<string, string>): SettingsOf<typeof membershipSettings> => {
  // Tests write rows behind the change log's back, where the graph in memory does not look.
  const { values, issues } = readSettings(membershipSettings, { DELEGATION_SWEEP_MS: "3600000", MEMBERSHIP_READER: "sql", ...environment });
  if (issues.length > 0) throw new Error(JSON.stringify(issues));
  return values;
};

export interface ServeOptions {
  readonly rule?: Rule;
  /** In place of the rule: one that asks a decision point of the test. */
  readonly pdpClient?: PdpClient;
  readonly environment?: Record<string, string>;
  readonly signIns?: SignInRules;
  readonly now?: () => Date;
  readonly bus?: Pick<LiveBus, "head">;
  /** Whose keys are trusted; own ones unless given. */
  readonly identity?: TestIdentity;
}

/** The membership service over the demo world, with real tokens and a decider by rule (all of a tenant's own permitted unless given). */
export const servedWorld = async (t: Pick<TestContext, "after">, database: Database, options: ServeOptions = {}): Promise<ServedWorld> => {
  const world = await graphWorld(database);
  const identity = options.identity ?? testIdentity();
  const { pdpClient, asked } = deciderBy(options.rule ?? (({ type }) => type !== "deployment"));
  const service = await createMembership({
    config: settings(options.environment ?? {}),
    ...(options.signIns === undefined ? {} : { signIns: options.signIns }),
    publicOrigins: ["https://gate.example"],
    database,
    change: world.change,
    ...(options.bus === undefined ? {} : { bus: options.bus }),
    authenticate: identity.authenticateFor(testAudiences.membership),
    pdpClient: options.pdpClient ?? pdpClient,
    secrets: identity.secrets,
    log: silentLog,
    metrics: world.metrics,
    now: options.now ?? (() => new Date()),
    environment: "test",
    version: "test",
    // As the demo's TENANT_ALLOWED_MOUNTS has it.
    isPlatformSecret: (uri) => uri.startsWith("yaml://secret/people/"),
  });
  cleanUp(t, () => service[Symbol.asyncDispose]());
  const scopesOfAll = ["membership.read", "membership.delegate"];
  const tokenOf = (as: string, scopes: readonly string[] | undefined): Promise<string> => {
    if (as.startsWith("service:"))
      return identity
        .identityOf(as.slice("service:".length) as "pdp")
        .asService(testAudiences.membership, scopes ?? ["pip.read", "membership.budget", "membership.read"]);
    const [login = "", agent] = as.split("+");
    return identity.tokenFor({
      sub: `person:${login}`,
      tenant: login === "eve" ? "tenant:globex" : "tenant:acme",
      scopes: scopes ?? scopesOfAll,
      ...(agent === undefined ? {} : { agent: `agent:${agent}` }),
    });
  };
  return {
    ...world,
    service,
    asked,
    call: async (as, method, path, more = {}) => {
      const headers = new Headers(more.headers);
      if (as !== undefined) headers.set("authorization", `Bearer ${await tokenOf(as, more.scopes)}`);
      if (more.body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
      const response = await service.fetch(
        new Request(`http://localhost:8084${path}`, {
          method,
          headers,
          ...(more.body === undefined ? {} : { body: typeof more.body === "string" ? more.body : JSON.stringify(more.body) }),
        }),
      );
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: more.asText === true ? text : text === "" ? undefined : JSON.parse(text),
      };
    },
  };
};

/** One for all tests of a file that change nothing in it. Call it while they are being declared. */
export const sharedWorld = (options: ServeOptions = {}): (() => Promise<ServedWorld>) =>
  sharedInFile(async (t) => servedWorld(t, await testDatabase(t, graphModules), options));
