import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestContext } from "node:test";
import type { Peer } from "#contract/ask.ts";
import type { MaskedPlace } from "#contract/masked-places.ts";
import type { ReplyOf, SentBody } from "#contract/endpoint.ts";
import type { replayTools } from "#contract/replay-tools.ts";
import { Problem, type ProblemCode } from "#contract/problem.ts";
import { readSettings } from "#contract/setting.ts";
import { crudSettings } from "#crud/config.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import { noServers, type AllowedServers } from "#crud/servers/allowed-servers.ts";
import { openServers } from "#crud/servers/open-servers.ts";
import { createCrud, type CrudParts, type CrudService } from "#crud/service.ts";
import { createPeopleDirectory, type PeopleDirectory } from "#demo/people-directory.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { BusFrame, BusSubscribe, StreamEvent } from "#events/streams/live-bus.ts";
import { listenService, type Listening } from "#http/listen.ts";
import type { Decision } from "#pdp-client/obligations.ts";
import type { Principal, EvaluationQuery, PdpClient } from "#pdp-client/pdp-client.ts";
import type { Database } from "#store/database.ts";
import { createLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { cleanUp } from "./clean-up.ts";
import { testDatabase } from "./database.ts";
import { testEvents } from "./events.ts";
import { testAudiences, testIdentity, type TestIdentity, type TestTokenOf } from "./identity.ts";
import { refusalBy } from "./membership.ts";
import { json, membershipPeer, readAsked, refuse, type Asked, type MembershipDouble } from "./membership-double.ts";

/** What tests look at in a JSON-RPC answer. */
export interface RpcBody {
  readonly id: string | number | null;
  readonly result: {
    readonly content: { readonly type: string; readonly text: string }[];
    readonly tools: { readonly name: string }[];
    readonly nextCursor?: string;
    readonly _meta?: Readonly<Record<string, readonly MaskedPlace[]>>;
  };
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data: {
      readonly code: string;
      readonly correlation_id: string;
      readonly call_id?: string;
      readonly decision_id?: string;
      readonly retry_after_s?: number;
      readonly errors?: { readonly path: string; readonly message: string }[];
      readonly step_up?: { readonly level: string; readonly max_age_s: number; readonly url: string };
    };
  };
}

/** A text is the reason of a denial, obligations are those of a permit; `down`: the decision point does not answer. */
export type Verdict = boolean | string | ((ask: EvaluationQuery) => boolean) | Pick<Decision, "obligations" | "moment">;

export interface CrudInstance {
  readonly crud: CrudService;
  readonly identity: TestIdentity;
  readonly people: PeopleDirectory;
  readonly membership: MembershipDouble;
  readonly asked: {
    membership: Asked[];
    secrets: Asked[];
    decisions: { principal: Principal; ask: EvaluationQuery }[];
    /** Each batch as it was sent, `<type>:<action>` by item. */
    batches: (readonly string[])[];
    /** What would be decided of tools that change. */
    replays: SentBody<typeof replayTools>[];
  };
  /** Verdict by `type:action` or `type:action id`; absent = permitted. */
  readonly verdicts: Map<string, Verdict>;
  readonly obligations: { id: string; type: string; properties?: Record<string, unknown> }[];
  readonly entries: {
    phase: "open" | "close" | "single";
    actId?: string;
    draft: Partial<EntryDraft>;
    outcome?: string;
    code?: string;
    data?: unknown;
  }[];
  readonly lines: Record<string, unknown>[];
  /** Names of the statements that were run, a transaction as `transaction`. */
  readonly statements: string[];
  readonly database: Database;
  /** The real one of `realEvents`; else what only runs the work. */
  readonly change: CrudParts["change"];
  readonly dataFolder: string;
  /** `silent`: it does not answer. */
  secrets: { value: unknown; status: "ok" | "silent" | ProblemCode };
  audit: { isDown: boolean; isSlow: boolean };
  /** Raises the tenant's configuration stream. */
  moved(tenant: string): void;
  /** A request with a token of this person. */
  request(
    path: string,
    options?: {
      as?: Partial<TestTokenOf>;
      body?: unknown;
      method?: string;
      headers?: Record<string, string>;
      signal?: AbortSignal;
      raw?: string;
    },
  ): Promise<Response>;
  rpc(body: unknown, options?: { as?: Partial<TestTokenOf>; path?: string }): Promise<{ status: number; headers: Headers; body: RpcBody }>;
  token(as?: Partial<TestTokenOf>): Promise<string>;
  listen(): Promise<Listening>;
}

export const peopleTools = ["people.demo.get_employee", "people.demo.list_employees", "people.demo.update_salary"] as const;
export const API_KEY = "people-key-0123456789";

/** What the decision point of the tests finds among its records. */
export const replayed: ReplyOf<typeof replayTools> = {
  evaluated: 3,
  unchanged: 2,
  newly_allowed: 0,
  newly_denied: 1,
  changed: 0,
  not_replayable: 0,
  complete: true,
  examples: [
    {
      decision_id: "d_9",
      tool: "staff.book.get_one",
      before: { decision: true },
      after: {
        decision: false,
        reason: "definition_drifted",
      },
    },
  ],
};

const deciderDouble = (
  instance: Pick<CrudInstance, "verdicts" | "obligations">,
  asked: Pick<CrudInstance["asked"], "decisions" | "batches" | "replays">,
): PdpClient => {
  let number = 0;
  const one = (principal: Principal, ask: EvaluationQuery): Decision => {
    asked.decisions.push({ principal, ask });
    // Unless a test says otherwise callers are administrators of their tenant, and the folders are theirs to reload.
    const usual = ask.type !== "deployment" || ask.action === "reload_config";
    const said =
      instance.verdicts.get(`${ask.type}:${ask.action} ${ask.id ?? "*"}`) ?? instance.verdicts.get(`${ask.type}:${ask.action}`) ?? usual;
    const verdict = typeof said === "function" ? said(ask) : said;
    if (verdict === "down") throw new Problem("decision_unavailable");
    const decisionId = `d_${++number}`;
    if (typeof verdict === "object") return { decision: true, decisionId, ...verdict };
    if (typeof verdict === "string") return { decision: false, decisionId, reason: verdict, obligations: [] };
    return {
      decision: verdict,
      decisionId,
      ...(verdict ? {} : { reason: "not_granted" }),
      obligations: verdict && ask.action === "tools/call" ? instance.obligations : [],
    };
  };
  const decideMany: PdpClient["decideMany"] = async (principal, asks, _correlationId, semantic) => {
    const answers: Decision[] = [];
    asked.batches.push(asks.map((ask) => `${ask.type}:${ask.action}`));
    for (const ask of asks) {
      const decided = one(principal, ask);
      answers.push(decided);
      if (semantic === "deny_on_first_deny" && !decided.decision) break;
    }
    return answers;
  };
  return {
    decide: async (principal, ask) => one(principal, ask),
    decideMany,
    refusal: refusalBy,
    gained: async () => new Set(),
    replayTools: async (body) => {
      asked.replays.push(body);
      return replayed;
    },
    require: async (principal, ask) => {
      const decided = one(principal, ask);
      const refusal = refusalBy(principal, decided);
      if (refusal !== undefined) throw refusal;
      return decided;
    },
  };
};

/** The tool server on the shipped configuration and a real people directory; membership, decisions and secrets are recorded. */
export const crudInstance = async (
  t: Pick<TestContext, "after">,
  options: {
    readonly settings?: Record<string, string>;
    readonly tenants?: readonly string[];
    /** Whose place a secret URI names. */
    readonly secretOwner?: (uri: string) => string | undefined;
    /** Another instance whose database this one shares, as a second process would. */
    readonly beside?: Pick<CrudInstance, "database">;
    readonly configFolder?: string;
    /** In place of what `servers.yaml` allows: nothing (`none`), or everything, none of which can be started (`away`). */
    readonly servers?: "none" | "away";
    readonly now?: () => Date;
    /** The real bus, recorder and changes instead of recorded ones. */
    readonly realEvents?: boolean;
    /** In place of the double, which it may ask: a membership of the test, to which these keys are known. */
    readonly membership?: (identity: TestIdentity, double: Peer) => Promise<Peer>;
    /** In place of the verdicts: one that asks a decision point of the test. */
    readonly pdpClient?: PdpClient;
  } = {},
): Promise<CrudInstance> => {
  const now = options.now ?? (() => new Date());
  const configFolder = options.configFolder ?? fileURLToPath(new URL("../../config/", import.meta.url));
  const dataFolder = await mkdtemp(join(tmpdir(), "sallyport-crud-"));
  cleanUp(t, () => rm(dataFolder, { recursive: true, force: true }));
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "debug",
    service: "crud",
    version: "0.0.0",
    environment: "test",
    write: (line) => void lines.push(JSON.parse(line)),
  });
  const statements: string[] = [];
  const opened = options.beside?.database ?? (await testDatabase(t, options.realEvents === true ? ["events", "crud"] : ["crud"]));
  const database: Database = {
    ...opened,
    run: (text, values) => {
      statements.push(text.name);
      return opened.run(text, values);
    },
    transaction: (work, more) => {
      statements.push("transaction");
      return opened.transaction(work, more);
    },
  };
  const events = options.realEvents === true ? await testEvents(t, database, { service: "crud" }) : undefined;
  const identity = testIdentity({ now });
  const people = createPeopleDirectory({ apiKey: () => API_KEY, now, log });
  const upstream = await people.listen({ port: 0 });
  cleanUp(t, () => upstream.close(0));
  const membership: MembershipDouble = {
    capabilities: peopleTools,
    chain: [{ audience: "https://people.demo", scopes: ["people.read", "people.write"] }],
    dataScope: { tenant_ids: ["tenant:acme"], row_filter_sql: "tenant_id IN ('tenant:acme')", column_mask: {} },
    reserve: "ok",
    argumentSchemas: [],
    groups: ["group:people-ops"],
    owners: ["group:people-ops", "group:platform-admins", "group:x", "person:ada", "person:ben", "role:administrator"],
    reservations: new Map(),
    settled: [],
    released: [],
    lost: [],
    affected: [],
    isDown: false,
  };
  const asked: CrudInstance["asked"] = { membership: [], secrets: [], decisions: [], batches: [], replays: [] };
  const membershipDouble = membershipPeer(membership, asked.membership);
  const entries: CrudInstance["entries"] = [];
  const verdicts = new Map<string, Verdict>();
  const obligations: CrudInstance["obligations"] = [];
  const audit = { isDown: false, isSlow: false };
  const secrets: CrudInstance["secrets"] = { value: API_KEY, status: "ok" };
  const readers = new Map<string, Set<() => void>>();
  const requireAudit = (): void => {
    if (audit.isDown) throw new Problem("audit_unavailable");
  };
  const config = readSettings(crudSettings, options.settings ?? {}).values;
  const configFolders = [configFolder, join(configFolder, "demo")];
  const away: AllowedServers = {
    check: () => [],
    launch: () => {
      throw new UpstreamError(new Problem("upstream_error"), "not_sent");
    },
  };
  const serversOf = {
    none: async () => noServers,
    away: async () => away,
    allowed: async () => (await openServers({ config, environment: "test", configFolders, dataFolder })).servers,
  };
  const parts: CrudParts = {
    config,
    configFolders,
    dataFolder,
    servers: await serversOf[options.servers ?? "allowed"](),
    placeholders: { DEMO_UPSTREAM_URL: `http://127.0.0.1:${upstream.port}` },
    internalPorts: new Set([8080, 8081, 8082, 8083, 8084, 8085]),
    tenants: async () => options.tenants ?? ["tenant:acme", "tenant:globex"],
    operator: async () => "tenant:acme",
    ...(options.secretOwner === undefined ? {} : { secretOwner: options.secretOwner }),
    database,
    change: (work) => database.transaction(async (sql) => (await work(sql)).result),
    recorder: {
      open: async (draft, actId = "none") => {
        requireAudit();
        entries.push({ phase: "open", actId, draft });
        return {
          actId,
          close: async (outcome, data, more) => {
            entries.push({ phase: "close", actId, draft, outcome, data, ...(more?.code === undefined ? {} : { code: more.code }) });
            return audit.isSlow ? "pending" : "closed";
          },
        };
      },
      one: async (draft) => {
        requireAudit();
        entries.push({
          phase: "single",
          draft,
          outcome: draft.outcome,
          ...(draft.code === undefined ? {} : { code: draft.code }),
          ...(draft.actId === undefined ? {} : { actId: draft.actId }),
        });
      },
      recover: async () => 0,
      references: {
        refOf: async (_sql: unknown, tenant: string, subject: string) =>
          `sr1.${createHash("sha256").update(`${tenant} ${subject}`).digest("base64url").slice(0, 22)}`,
      } as never,
    },
    bus: {
      subscribe: async function* ({ tenant, signal }: BusSubscribe): AsyncGenerator<BusFrame> {
        const held = readers.get(tenant) ?? new Set();
        readers.set(tenant, held);
        let seq = 0n;
        let wake = (): void => undefined;
        const moved = (): void => {
          seq += 1n;
          wake();
        };
        held.add(moved);
        signal?.addEventListener("abort", () => wake(), { once: true });
        yield { kind: "start", seq: 0n, replaying: false };
        for (let reported = 0n; signal?.aborted !== true;) {
          if (reported < seq) yield { kind: "event", event: { seq: ++reported, kind: "graph" } as StreamEvent };
          else await new Promise<void>((resolve) => (wake = resolve));
        }
        held.delete(moved);
      },
    } as unknown as CrudParts["bus"],
    authenticate: identity.authenticate,
    identity: identity.identityOf("crud"),
    pdpClient: options.pdpClient ?? deciderDouble({ verdicts, obligations }, asked),
    peers: {
      membership: (await options.membership?.(identity, membershipDouble)) ?? membershipDouble,
      secrets: async (request) => {
        const seen = await readAsked(request);
        if (seen.path === "/health") return json({ status: "ok" });
        asked.secrets.push(seen);
        if (secrets.status === "silent") return new Promise(() => {});
        if (secrets.status !== "ok") return refuse(secrets.status);
        if (seen.path.endsWith("/keys")) return json({ uri: seen.query["uri"], keys: ["api_key"], nodes: [] });
        return json({ uri: seen.query["uri"], value: secrets.value, cached: false, audit_id: "a1", keep_seconds: 30 });
      },
    },
    audiences: testAudiences,
    authorizationServers: ["http://localhost:8081"],
    firstPartyClients: ["sallyport-web"],
    ...(options.realEvents === true ? { notifications: { maxAttempts: 2, everyMs: 50 } } : {}),
    instanceSecrets: identity.secrets,
    publicOrigin: "http://localhost:8080",
    environment: "test",
    version: "0.0.0-test",
    log,
    metrics: createMetrics(),
    now,
  };
  const crud = await createCrud(events === undefined ? parts : { ...parts, ...events });
  cleanUp(t, () => crud[Symbol.asyncDispose]());
  const token: CrudInstance["token"] = (as = {}) =>
    identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: ["mcp.tools.discovery", "mcp.tools.invoke"], ...as });
  const request: CrudInstance["request"] = async (path, more = {}) => {
    const headers = new Headers({ authorization: `Bearer ${await token(more.as)}`, ...more.headers });
    const body = more.raw ?? (more.body === undefined ? undefined : JSON.stringify(more.body));
    if (body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
    return crud.fetch(
      new Request(`http://sallyport.internal${path}`, {
        method: more.method ?? (body === undefined ? "GET" : "POST"),
        headers,
        ...(body === undefined ? {} : { body }),
        ...(more.signal === undefined ? {} : { signal: more.signal }),
      }),
    );
  };
  return {
    crud,
    identity,
    people,
    membership,
    asked,
    verdicts,
    obligations,
    entries,
    lines,
    statements,
    database,
    change: (events ?? parts).change,
    dataFolder,
    secrets,
    audit,
    moved: (tenant) => {
      for (const moved of readers.get(tenant) ?? []) moved();
    },
    request,
    rpc: async (body, more = {}) => {
      const response = await request(more.path ?? "/mcp/jsonrpc", { body, ...(more.as === undefined ? {} : { as: more.as }) });
      return { status: response.status, headers: response.headers, body: (await response.json()) as RpcBody };
    },
    token,
    listen: () => listenService((incoming) => crud.fetch(incoming), { port: 0, hosts: ["127.0.0.1"] }),
  };
};

/** ben's agent, as its token names it. */
export const agent = { agent: "agent:hr-assistant" } as const;
