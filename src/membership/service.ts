import { bodyShareOf, type Caller } from "#authn/model/caller.ts";
import { createMetricsReader } from "#authn/callers/metrics-reader.ts";
import type { ServiceParts } from "#authn/callers/service-parts.ts";
import type { SettingsOf } from "#contract/setting.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import { withOwnPages } from "#http/ops-endpoints.ts";
import { isScimPath } from "#http/scim-refusal.ts";
import { createRouter } from "#http/serve.ts";
import type { Service } from "#http/service.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import { noTracing } from "#telemetry/tracing.ts";
import type { membershipSettings } from "./config.ts";
import { createSealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { serveCredentials } from "./credentials/serve-credentials.ts";
import { serveBudgets } from "./budgets/serve-budgets.ts";
import { serveDataScopeRules } from "./data-scope/serve-data-scope-rules.ts";
import { serveDelegations } from "./delegations/serve-delegations.ts";
import { serveDiagnostics } from "./diagnostics/serve-diagnostics.ts";
import { serveGraphChanges } from "./graph-edit/serve-graph-changes.ts";
import { serveGraphEdit } from "./graph-edit/serve-graph-edit.ts";
import { serveAgents } from "./governance/serve-agents.ts";
import { serveGovernance } from "./governance/serve-governance.ts";
import { seedBuiltIns } from "./seed/built-in-nodes.ts";
import { tracedReader } from "./graph/traced-reader.ts";
import { createFeed } from "./graph/index/feed.ts";
import { createIndexReader } from "./graph/index/index-reader.ts";
import { createSqlReader } from "./graph/sql-reader.ts";
import { createWriteGraph } from "./graph/write.ts";
import { serveIdentityNodes } from "./identity-nodes/serve-identity-nodes.ts";
import { createBudgetNotifier } from "./ledger/budget-notifier.ts";
import { serveReservations } from "./ledger/serve-reservations.ts";
import { servePip } from "./pip/serve-pip.ts";
import { servePolicyBindings } from "./registry/serve-policy-bindings.ts";
import { serveRegistry } from "./registry/serve-registry.ts";
import { anybody } from "./graph/remaining-holders.ts";
import { serveRoles } from "./roles/serve-roles.ts";
import { serveScimTokens } from "./scim/scim-tokens.ts";
import { createScim } from "./scim/serve-scim.ts";
import type { MembershipContext } from "./context/context.ts";
import { serveTransfer } from "./transfer/serve-transfer.ts";
import { serveLinks } from "./sign-ins/serve-links.ts";
import { serveSignIns } from "./sign-ins/serve-sign-ins.ts";
import type { SignInRules } from "./sign-ins/settle-person.ts";
import { createSweeper } from "./sweeper.ts";

export interface MembershipParts extends ServiceParts {
  readonly config: SettingsOf<typeof membershipSettings>;
  /** Who somebody may become who signs in; subjects are node ids unless given. */
  readonly signIns?: SignInRules;
  /** Where Sallyport is reached: what SCIM's addresses may begin with, beside this service's own. */
  readonly publicOrigins?: readonly string[];
  /** For `stream_seq` of lists; without it they carry none. */
  readonly bus?: Pick<LiveBus, "head">;
  readonly pdpClient: PdpClient;
  /** Whether a secret URI lies at a place of the platform; none does unless given. */
  readonly isPlatformSecret?: (uri: string) => boolean;
  readonly version: string;
}

/** The identity graph, its questions and its money. Migrations have run; Sallyport's own nodes are put in if they are not there. */
export const createMembership = async (parts: MembershipParts): Promise<Service> => {
  const { database, change, config, log, metrics, now } = parts;
  const dataScope = {
    unknownType: config.dataScopeUnknownType,
    refused: (why: string) => log.error("row_filter_refused", { why }),
  };
  const { tracing = noTracing } = parts;
  await seedBuiltIns(createWriteGraph({ change, metrics }));
  const sql = createSqlReader({ database, dataScope });
  const feed =
    config.reader === "sql"
      ? undefined
      : await createFeed({ database, log, metrics, pollMs: config.graphPollMs, boundMs: config.graphStalenessBoundMs });
  const reader = tracedReader(feed === undefined ? sql : createIndexReader({ feed, sql, database, dataScope }), tracing);
  const signIns = parts.signIns ?? { ...anybody, system: "oidc", groups: new Map() };
  const write = createWriteGraph({ change, metrics, written: feed?.written, signIns, isPlatformSecret: parts.isPlatformSecret });
  metrics.set("membership_graph_version", {}, Number((await reader.version()).version));

  const router = createRouter<Caller>({
    shareOf: bodyShareOf,
    tracing: parts.tracing,
    name: "membership",
    authenticate: parts.authenticate,
    log,
    validateReplies: parts.environment !== "production",
  });
  const notifier = createBudgetNotifier({ change, log });
  const sweeper = createSweeper({ database, write, notifier, log, everyMs: config.delegationSweepMs, logDays: config.graphLogDays, now });
  const context: MembershipContext = {
    ...parts,
    router,
    reader,
    feed,
    write,
    cursors: createSealedCursors<string>({ ...parts, purpose: "membership.cursor" }),
    notifier,
    sweeper,
    dataScope,
    bus: parts.bus,
    tracing,
  };
  servePip(context);
  serveIdentityNodes(context);
  serveDiagnostics(context);
  serveGraphEdit(context);
  serveGraphChanges(context);
  serveRegistry(context);
  servePolicyBindings(context);
  serveDataScopeRules(context);
  serveTransfer(context);
  serveGovernance(context);
  serveAgents(context);
  serveLinks(context, signIns);
  serveCredentials(context);
  serveSignIns(context, signIns);
  serveRoles(context);
  serveScimTokens(context);
  // Before the delegations: `/reservations` and `/spend` are no delegation's id.
  serveReservations(context);
  serveBudgets(context);
  serveDelegations(context);
  const scim = createScim(context, parts.publicOrigins ?? []);

  const { lacks = () => [] } = parts;
  const ready = (): Promise<readonly string[]> => database.ready().then(lacks, () => ["database", ...lacks()]);
  return {
    name: "membership",
    fetch: withOwnPages((request, pathname) => (isScimPath(pathname) ? scim(request) : router.fetch(request)), {
      ready,
      metrics,
      isListed: parts.isScraperListed ?? (() => false),
      requireReader: createMetricsReader(parts.authenticate),
    }),
    ready,
    [Symbol.asyncDispose]: async () => {
      await sweeper.stop();
      await notifier.stop();
      await feed?.[Symbol.asyncDispose]();
    },
  };
};
