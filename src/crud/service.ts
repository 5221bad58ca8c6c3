import { randomUUID } from "node:crypto";
import type { Peer } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";
import { crudHealth } from "#contract/tools.ts";
import { startWorkflow } from "#contract/workflows.ts";
import { startInterval } from "#http/interval.ts";
import type { Authenticate } from "#authn/callers/authenticate.ts";
import { bodyShareOf, requireScope, type Caller } from "#authn/model/caller.ts";
import type { ServiceIdentity } from "#authn/keys/service-identity.ts";
import { createMetricsReader } from "#authn/callers/metrics-reader.ts";
import { createSealer, deriveKey, type InstanceSecrets } from "#authn/sealing/seal.ts";
import type { Recorder, Settle } from "#events/audit/entry.ts";
import { logOf } from "#events/audit/leaf.ts";
import type { References } from "#events/audit/references.ts";
import type { Change } from "#events/changes/change.ts";
import { postNotice } from "#events/model/notice.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import { createTtlCache } from "#http/ttl-cache.ts";
import { withOwnPages } from "#http/ops-endpoints.ts";
import { createRouter } from "#http/serve.ts";
import { createShares } from "#http/shares.ts";
import type { Service } from "#http/service.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import { ceilingOf, type CrudConfig } from "./config.ts";
import { openConfigStore } from "./configs/config-store.ts";
import { openConfigKinds } from "./configs/kinds/config-kinds.ts";
import { createFindNode } from "./configs/find-node.ts";
import { createOwnerCheck } from "./configs/kinds/system-owner.ts";
import { createPreview } from "./configs/preview-impact.ts";
import { createToolRegistrar } from "./configs/register-tools.ts";
import { createConfigPublisher, type PublisherParts } from "./configs/publish-config.ts";
import { serveArchive } from "./configs/serve-archive.ts";
import { serveConfigs } from "./configs/serve-configs.ts";
import { serveDifferences } from "./configs/serve-differences.ts";
import { serveDefinitions } from "./configs/serve-definitions.ts";
import { serveKillSwitches } from "./configs/serve-kill-switches.ts";
import { serveImports } from "./imports/serve-imports.ts";
import { loadToolsDocument } from "./documents/tools-document.ts";
import { loadUiDocument } from "./documents/ui-document.ts";
import { sweepKeys } from "./mcp/call/steps/idempotency.ts";
import { createSettlements } from "./mcp/call/settlements.ts";
import { createCatalogueKeeper, type CatalogueKeeper } from "./mcp/catalogue-store.ts";
import { createContractDialect } from "./mcp/contract-dialect.ts";
import { createFindTool } from "./mcp/find-tool.ts";
import { createHealthTool } from "./mcp/health-tool.ts";
import { MAX_LISTS } from "./mcp/list-tools.ts";
import { openKillSwitches } from "./tools/kill-switches.ts";
import { createInternalChecks, isUp } from "./mcp/internal-checks.ts";
import { createSealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { settleDeadCall, type DeadAct } from "./mcp/recover.ts";
import { serveExecute } from "./mcp/serve-execute.ts";
import type { ExplainParts } from "./mcp/explain-tool.ts";
import { serveExplanation } from "./mcp/serve-explanation.ts";
import { createDefinitions } from "./mcp/definitions.ts";
import { createSources } from "./connectors/sources.ts";
import { serveSecretUses } from "./configs/secret-uses.ts";
import type { StartWorkflow } from "./workflows/definition/workflow-tool.ts";
import { openWorkflows } from "./runs/open-workflows.ts";
import { serveRuns } from "./workflows/serve/serve-runs.ts";
import { serveTasks } from "./workflows/serve/serve-tasks.ts";
import { createSimulateWorkflow } from "./runs/simulate-workflow.ts";
import { serveWorkflows, createWorkflowStart } from "./runs/serve-workflows.ts";
import { serveForms } from "./forms/serve-forms.ts";
import { createValueSeals } from "./model/sealed-values.ts";
import { createPlacedForms } from "./forms/definition/placed-forms.ts";
import { createRunTools } from "./workflows/serve/run-tools.ts";
import { createPlacedWorkflows } from "./workflows/definition/placed-workflows.ts";
import { readTaskDetail } from "./workflows/tasks/list-tasks.ts";
import { createPlacedChannels } from "./notifications/placed-channels.ts";
import { createNotifications, type NotificationsContext } from "./notifications/notifications.ts";
import { serveChoice } from "./notifications/serve-choice.ts";
import { isNoticeSettled } from "./workflows/tasks/notice-settled.ts";
import { createStandardEndpoint } from "./mcp/standard/endpoint.ts";
import { createListChanges } from "./mcp/standard/list-changes.ts";
import type { Watch } from "./mcp/protocol-log.ts";
import { createToolService, scopes, type ToolServiceParts } from "./mcp/tool-service.ts";
import { serveStreams } from "./configs/streams.ts";
import type { AllowedServers } from "./servers/allowed-servers.ts";
import type { Placeholders } from "./systems/placeholders.ts";
import { serveUiConfig } from "./configs/ui-config.ts";

export interface CrudParts {
  readonly config: CrudConfig;
  /** Each may hold `systems/`, `tools.yaml` and `ui.yaml`; what a later one says is added. */
  readonly configFolders: readonly string[];
  readonly dataFolder: string;
  /** Settings that a system's file may name, e.g. `DEMO_UPSTREAM_URL`; a known one without a value switches its systems off. */
  readonly placeholders: Placeholders;
  /** What systems may start as a child. */
  readonly servers: AllowedServers;
  /** Ports of this deployment that no system may dial; the demo upstream's is not among them. */
  readonly internalPorts: ReadonlySet<number>;
  /** Every tenant of Sallyport now. */
  readonly tenants: () => Promise<readonly string[]>;
  /** The operator's tenant; `undefined`: there is none yet. */
  readonly operator: () => Promise<string | undefined>;
  /** Whose place a secret URI names: a tenant's, or `platform`; nobody's unless given. */
  readonly secretOwner?: (uri: string) => string | undefined;
  readonly database: Database;
  readonly change: Change;
  readonly recorder: Recorder & { readonly references: References };
  readonly bus: LiveBus;
  readonly authenticate: Authenticate;
  readonly identity: ServiceIdentity;
  readonly pdpClient: PdpClient;
  readonly peers: { readonly membership: Peer; readonly secrets: Peer };
  /** Each service's address, which is the audience of its tokens. */
  readonly audiences: { readonly crud: string; readonly membership: string; readonly secrets: string };
  /** Issuers whose tokens open the tool protocol; shown to clients that look for where to sign in. */
  readonly authorizationServers: readonly string[];
  /** OAuth clients that are no agents and may still use the tool protocol. */
  readonly firstPartyClients: readonly string[];
  readonly instanceSecrets: InstanceSecrets;
  /** Absent: notifications are left to other processes. `maxAttempts`: before one is a dead letter. */
  readonly notifications?: Pick<NotificationsContext, "maxAttempts" | "everyMs">;
  readonly publicOrigin: string;
  readonly environment: "dev" | "test" | "production";
  /** Whether an address may read the metrics without a token; this machine always may. */
  readonly isScraperListed?: (address: string) => boolean;
  /** What stands against its readiness besides its own parts; nothing unless given. */
  readonly lacks?: () => readonly string[];
  readonly version: string;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Traces; none unless given. */
  readonly tracing?: Tracing;
  readonly now: () => Date;
}

export interface CrudService extends Service {
  /** For the recorder's recovery: settles what a dead process held for one of its tool calls; leaves other acts alone. */
  settleDead(act: DeadAct): ReturnType<Settle>;
  /** Whether a call is a step of a workflow that was begun and has no outcome yet. */
  isOpenStep(callId: string): Promise<boolean>;
  /** Closes what dead processes left open. Called once all services answer; answers how many acts there were. */
  recover(): Promise<number>;
  readonly catalogue: CatalogueKeeper;
}

const SWEEP_MS = 600_000;

/** Systems, tools, the tool protocol in both dialects, live streams of configuration and activity. Throws `StartIssues`. */
export const createCrud = async (parts: CrudParts): Promise<CrudService> => {
  const { config, log, metrics, now, change, database, pdpClient, tenants, peers, audiences } = parts;
  const stop = new AbortController();
  const publicUrl = config.publicUrl ?? parts.publicOrigin;
  const isProduction = parts.environment === "production";
  const ceiling = ceilingOf(config, parts.environment);
  const membershipParts = { membership: peers.membership, membershipAudience: audiences.membership, identity: parts.identity };
  const secretParts = {
    secrets: peers.secrets,
    secretsAudience: audiences.secrets,
    identity: parts.identity,
    pdpClient,
    secretOwner: parts.secretOwner,
  };

  const [layer, uiDocument] = await Promise.all([loadToolsDocument(parts.configFolders.slice(1)), loadUiDocument(parts.configFolders)]);
  let toolsDocument = layer;
  // Sources may change before the catalogue that is made of them is there.
  const hooks: { rebuild: () => void; start: StartWorkflow } = {
    rebuild: () => {},
    start: () => Promise.reject(new Problem("not_startable")),
  };
  const answerShares = createShares({ total: config.maxAnswerBytes, perKey: config.maxAnswerBytes / 4 });
  const sources = createSources({
    ...parts,
    answerShares,
    ...membershipParts,
    ceiling,
    requiresTls: isProduction,
    withLoopback: !config.loopbackOnlyHealth,
    definitions: createDefinitions({ change, database, tenants }),
    lingerMs: config.callTimeoutMs,
    changed: () => hooks.rebuild(),
  });
  const systems = () => (store.degraded.length === 0 && sources.external.every((system) => system.isUp) ? "up" : "down");
  const health = createHealthTool({ version: parts.version, checks: createInternalChecks({ ...peers, database, systems }) });
  const find = createFindTool({ scope: scopes.list, parts: () => toolServiceParts });
  const placed = createPlacedWorkflows();
  const forms = createPlacedForms();
  const channels = createPlacedChannels();
  const catalogue = createCatalogueKeeper({
    builtIn: {
      health,
      find,
      ...createRunTools(
        () => ({ ...workflows.context, findDocument: workflows.documents.find }),
        (asked, by) => simulate(asked, by),
      ),
    },
    tools: () => sources.tools,
    external: () => sources.external,
    workflows: () => (config.loopbackOnlyHealth ? [] : placed.tools),
    document: () => toolsDocument,
    maxTools: config.maxTools,
    log,
    metrics,
  });
  const findNode = createFindNode(membershipParts);
  const store = await openConfigStore({
    database,
    change,
    kinds: openConfigKinds({
      sources,
      catalogue,
      ownerIssues: createOwnerCheck(findNode),
      secretOwner: parts.secretOwner ?? (() => undefined),
      layer,
      hold: (document) => (toolsDocument = document),
      held: () => toolsDocument,
      placed,
      start: (document, call) => hooks.start(document, call),
      forms,
      hasForm: (id, tenant) => forms.find(id, tenant) !== undefined,
      channels,
      ceiling,
      internalPorts: parts.internalPorts,
    }),
    catalogue,
    folders: parts.configFolders,
    mode: config.configMode,
    requiresIfMatch: config.configRequireIfMatch,
    operator: parts.operator,
    tenants,
    raised: async () => void (await Promise.all(sources.external.map((system) => system.recheck()))),
    log,
  });
  hooks.rebuild = () => catalogue.rebuild();
  catalogue.rebuild();

  const { references } = parts.recorder;
  const subjectRef: Watch["subjectRef"] = ({ tenant, sub }) => references.refOf(database, logOf(tenant), sub).catch(() => undefined);
  const kills = await openKillSwitches({ database, change, log, now });
  const cursorsOf = { secrets: parts.instanceSecrets, now };
  /** Of the protocol's own events, which a development instance shows where it shows no line for each request. */
  const protocolLog = log.child({}, config.protocolLogLevel);
  const settlements = createSettlements({ ...membershipParts, database, log });
  const toolServiceParts: ToolServiceParts = {
    ...parts,
    ...config,
    log: protocolLog,
    ...membershipParts,
    ...secretParts,
    kills,
    settlements,
    answerShares,
    subjectRef,
    publicOrigin: publicUrl,
    digestKey: deriveKey(parts.instanceSecrets[0], "crud.digest.v1"),
    replySealer: createSealer(parts.instanceSecrets, "crud.tool-reply"),
    decided: createTtlCache(MAX_LISTS, now),
    cursor: createSealedCursors<string>({ ...cursorsOf, purpose: "crud.page-cursor", lifeMinutes: 15 }),
    answerCursor: createSealedCursors<number>({ ...cursorsOf, purpose: "crud.answer-cursor", lifeMinutes: 15 }),
    node: randomUUID(),
    stopping: stop.signal,
    catalogue,
  };
  const toolService = createToolService(toolServiceParts);
  const workflows = await openWorkflows({
    ...toolServiceParts,
    config,
    store,
    placed,
    change,
    bus: parts.bus,
    seals: createValueSeals(async () => createSealer(parts.instanceSecrets, "crud.workflow-values")),
    formSchema: async (tenant, form) => forms.find(form, tenant)?.schema,
    notify: postNotice,
  });
  hooks.start = workflows.start;
  const router = createRouter<Caller>({
    shareOf: bodyShareOf,
    tracing: parts.tracing,
    name: "crud",
    authenticate: parts.authenticate,
    log,
    validateReplies: !isProduction,
    maxBodyBytes: config.maxBodyBytes,
  });

  const watch: Watch = { log: protocolLog, metrics, subjectRef };
  createContractDialect(router, { ...watch, toolService, maxBodyBytes: config.maxBodyBytes });
  serveExecute(router, { ...watch, toolService });
  const toolsOf: PublisherParts["toolsOf"] = (system, tenant) =>
    [...catalogue.snapshot.tools.values(), ...placed.hidden].filter(
      (tool) => `${tool.provider}.${tool.instance}` === system && tool.tenants?.includes(tenant) !== false,
    );
  const graphParts = { ...membershipParts, pdpClient, toolsOf };
  const register = createToolRegistrar(graphParts);
  const systemOf: ExplainParts["systemOf"] = (system, tenant) => store.list("system", tenant).find(({ name }) => name === system)?.prepared;
  const publisher = createConfigPublisher({
    store,
    pdpClient,
    cursors: createSealedCursors<string>({ ...cursorsOf, purpose: "crud.config-cursor" }),
    toolsOf,
    external: () => sources.external,
    register,
    previewImpact: createPreview(graphParts),
    secretParts,
  });
  const simulate = createSimulateWorkflow({ ...toolServiceParts, toolService, publisher, workflows });
  const { context, documents } = workflows;
  const shared = { ...context, bus: parts.bus, sealing: cursorsOf };
  // Before the endpoints of one workflow: `runs` names none.
  serveRuns(router, {
    ...shared,
    findDocument: documents.find,
    currentDocument: (name, tenant) => documents.serving(name, tenant).document,
  });
  serveTasks(router, shared);
  const startByForm = createWorkflowStart({ database, workflows, toolService });
  // Before the objects of configuration: `/forms/schema` is no form.
  serveForms(router, {
    catalogue,
    workflows: placed,
    forms,
    pdpClient,
    isForeign: ({ provider, instance }) => sources.external.some(({ name }) => name === `${provider}.${instance}`),
    taskForm: (task, by) => readTaskDetail(workflows.context, { task, by }),
    execute: { ...watch, toolService },
    cursors: toolServiceParts.answerCursor,
    now,
    start: (start, by) => {
      requireScope(by.caller, startWorkflow.scope ?? []);
      return startByForm({ ...start, wait: 0 }, by);
    },
  });
  serveConfigs(router, publisher, kills);
  serveDifferences(router, publisher);
  serveArchive(router, publisher);
  serveWorkflows(router, {
    database,
    bus: parts.bus,
    pdpClient,
    publisher,
    placed,
    workflows,
    toolService,
    simulate,
    cursors: createSealedCursors<string>({ ...cursorsOf, purpose: "crud.workflow-cursor" }),
  });
  serveImports(router, { publisher, database, internalPorts: parts.internalPorts, ceiling, answerShares, stopping: stop.signal });
  serveDefinitions(router, { store, pdpClient, groups: membershipParts, database, change, tenants, toolsOf, register });
  serveKillSwitches(router, { kills, pdpClient, now, catalogue, store, findNode });
  serveExplanation(router, { ...toolServiceParts, systemOf });
  serveUiConfig(router, uiDocument, membershipParts);
  serveSecretUses(router, { store, pdpClient });
  serveStreams(router, { ...parts, ...membershipParts, store, references, stopping: stop.signal });
  router.serve(crudHealth, async () => ({
    status: "ok",
    version: parts.version,
    tools: catalogue.snapshot.tools.size,
    degraded: store.degraded.length,
  }));
  const changes = createListChanges({ ...toolServiceParts, kills, bus: parts.bus });
  const standard = createStandardEndpoint(router, {
    ...parts,
    ...config,
    ...watch,
    toolService,
    changes,
    publicUrl,
    ownUrl: audiences.crud,
  });
  serveChoice(router, { database });
  const isSettled: NotificationsContext["isSettled"] = (notice, since) => isNoticeSettled(database, notice, since);
  const notifications =
    parts.notifications === undefined
      ? undefined
      : createNotifications({ ...parts, ...membershipParts, ...secretParts, ...parts.notifications, channels, isSettled });
  const sweep = startInterval({
    everyMs: SWEEP_MS,
    work: () => sweepKeys(database),
    failed: (cause) => log.warn("tool_keys_sweep_failed", { cause }),
  });
  let ended: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    stop.abort();
    changes[Symbol.dispose]();
    await workflows[Symbol.asyncDispose]();
    await notifications?.[Symbol.asyncDispose]();
    await standard[Symbol.asyncDispose]();
    await kills[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    await sources[Symbol.asyncDispose]();
    await settlements[Symbol.asyncDispose]();
    await sweep[Symbol.asyncDispose]();
  };
  const ready = async (): Promise<readonly string[]> => [
    ...((await isUp(database.ready())) === "up" ? [] : ["database"]),
    ...(parts.lacks?.() ?? []),
  ];
  const settleDead: Settle = async (act) => ((await workflows.isOpenStep(act.actId)) ? "left" : settleDeadCall(act, toolServiceParts));

  return {
    name: "crud",
    fetch: withOwnPages(router.fetch, {
      ready,
      metrics,
      isListed: parts.isScraperListed ?? (() => false),
      requireReader: createMetricsReader(parts.authenticate),
    }),
    ready,
    settleDead,
    isOpenStep: workflows.isOpenStep,
    recover: async () => {
      const count = await parts.recorder.recover(settleDead);
      if (count > 0) log.warn("acts_recovered", { count });
      return count;
    },
    catalogue,
    [Symbol.asyncDispose]: () => (ended ??= end()),
  };
};
