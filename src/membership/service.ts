import type { Authenticate } from "#authn/authenticate.ts";
import type { Caller } from "#authn/caller.ts";
import type { HouseSecrets } from "#authn/seal.ts";
import type { SettingsOf } from "#contract/setting.ts";
import type { Change } from "#events/change.ts";
import type { LiveBus } from "#events/live-bus.ts";
import { createRouter } from "#http/serve.ts";
import type { Service } from "#http/service.ts";
import type { Decider } from "#pdp/decide.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { noTracing, type Tracing } from "#telemetry/tracing.ts";
import type { membershipSettings } from "./config.ts";
import { createCursors } from "./cursor.ts";
import { serveBudgets } from "./budgets/serve-budgets.ts";
import { serveDelegations } from "./delegations/serve-delegations.ts";
import { serveDiagnostics } from "./diagnostics/serve-diagnostics.ts";
import { houseWorld } from "./graph/house-nodes.ts";
import { seedWorld } from "./graph/seed.ts";
import { tracedReader } from "./graph/traced-reader.ts";
import { createSqlReader } from "./graph/sql-reader.ts";
import { createWriteGraph } from "./graph/write.ts";
import { serveIdentityNodes } from "./identity-nodes/serve-identity-nodes.ts";
import { createBudgetTeller } from "./meter/budget-teller.ts";
import { serveReservations } from "./meter/serve-reservations.ts";
import { servePip } from "./pip/serve-pip.ts";
import type { MembershipRoom } from "./room.ts";
import { createSweeper } from "./sweeper.ts";

export interface MembershipParts {
  readonly config: SettingsOf<typeof membershipSettings>;
  readonly database: Database;
  readonly change: Change;
  /** For `stream_seq` of lists; without it they carry none. */
  readonly bus?: Pick<LiveBus, "head">;
  readonly authenticate: Authenticate;
  readonly decider: Decider;
  /** Seals list cursors. */
  readonly secrets: HouseSecrets;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Traces; none unless given. */
  readonly tracing?: Tracing;
  readonly now: () => Date;
  readonly environment: "dev" | "test" | "production";
  readonly version: string;
}

/** The identity graph, its questions and its money. Migrations have run; the house's own nodes are put in if they are not there. */
export const createMembership = async (parts: MembershipParts): Promise<Service> => {
  const { database, change, config, log, metrics, now } = parts;
  const write = createWriteGraph({ change, metrics });
  const dataScope = {
    unknownType: config.dataScopeUnknownType,
    refused: (why: string) => log.error("row_filter_refused", { why }),
  };
  const { tracing = noTracing } = parts;
  const reader = tracedReader(createSqlReader({ database, dataScope }), tracing);
  await seedWorld(write, houseWorld, {
    actor: "service:membership",
    source: "sync",
    correlationId: "house-nodes",
    reason: "The house itself",
  });
  metrics.set("membership_graph_version", {}, Number((await reader.version()).version));

  const router = createRouter<Caller>({
    ...(parts.tracing === undefined ? {} : { tracing: parts.tracing }),
    name: "membership",
    authenticate: parts.authenticate,
    log,
    validateReplies: parts.environment !== "production",
  });
  const teller = createBudgetTeller({ change, log });
  const room: MembershipRoom = {
    router,
    config,
    database,
    reader,
    write,
    decider: parts.decider,
    cursors: createCursors(parts),
    teller,
    dataScope,
    bus: parts.bus,
    log,
    metrics,
    tracing,
    now,
    version: parts.version,
  };
  servePip(room);
  serveIdentityNodes(room);
  serveDiagnostics(room);
  // Before the delegations: `/reservations` and `/spend` are no delegation's id.
  serveReservations(room);
  serveBudgets(room);
  serveDelegations(room);
  const sweeper = createSweeper({ database, write, teller, log, everyMs: config.delegationSweepMs });

  return {
    name: "membership",
    fetch: (request) => router.fetch(request),
    ready: async () =>
      database.ready().then(
        () => [],
        () => ["database"],
      ),
    [Symbol.asyncDispose]: async () => {
      await sweeper.stop();
      await teller.stop();
    },
  };
};
