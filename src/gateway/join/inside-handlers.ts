import { Problem } from "#contract/problem.ts";
import type { Decider } from "#decide/decider.ts";
import { createPointAsker } from "#decide/ask-point.ts";
import type { EndByDecision } from "#gateway/end-by-decision.ts";
import { createPointBreaker } from "#decide/point-breaker.ts";
import { createFacade } from "#gateway/facade/facade.ts";
import { createSearchFacade } from "#gateway/facade/search.ts";
import { createDeadLetters } from "#events/relay/dead-letters.ts";
import { byInsideRow } from "#gateway/inside/inside-rows.ts";
import { answerExplain, answerReload } from "#gateway/inside/own-routes.ts";
import { createOutbox } from "#gateway/inside/outbox.ts";
import { createSessionList, requireSession } from "#gateway/inside/session-list.ts";
import type { HealthCheck } from "#gateway/inside/health-checks.ts";
import { createStreamHealth } from "#gateway/inside/stream-health.ts";
import type { ExplainRoute } from "#gateway/routes-explained/explain-route.ts";
import type { InsideHandler } from "#gateway/serve-route.ts";
import type { GatewayParts } from "#gateway/gateway-parts.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import type { OpenedSessions } from "./open-sessions.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { ReloadRoutes } from "#gateway/routes-in-force/reload-routes.ts";
import type { RoutesInForce } from "#gateway/routes-in-force/routes-in-force.ts";

/** What does not answer by then is down. */
const CRUD_ANSWER_MS = 2000;

export const createInsideHandlers = (
  parts: GatewayParts,
  opened: {
    readonly routes: RoutesInForce;
    readonly reload: ReloadRoutes;
    readonly explain: ExplainRoute;
    readonly sessions: OpenedSessions;
    readonly streams: Pick<OpenStreams, "registry" | "rightChanges">;
    readonly requireLiving: (record: SessionRecord) => Promise<number>;
    readonly decider: Decider;
    readonly endByDecision: EndByDecision;
    readonly answersCrud: HealthCheck;
  },
): ReadonlyMap<string, InsideHandler> => {
  const { config } = parts;
  const { sessions, cookies } = opened.sessions;
  const facadeParts = {
    ...parts,
    decider: opened.decider,
    askPoint: createPointAsker({
      pdp: opened.routes.peerOf("pdp"),
      timeoutMs: config.pdpTimeoutMs,
      breaker: createPointBreaker(parts.now),
    }),
    pdpAudience: parts.audiences.pdp,
    endByDecision: opened.endByDecision,
    limits: {
      items: config.evaluationItems,
      itemBytes: config.evaluationItemBytes,
      bodyBytes: config.evaluationBodyBytes,
      depth: config.evaluationDepth,
    },
  };
  const facade = createFacade(facadeParts);
  const search = createSearchFacade(facadeParts);
  const streamHealth = createStreamHealth({
    bus: parts.bus,
    isEmbedded: parts.database.kind === "pglite",
    ...opened.streams,
    requireLiving: opened.requireLiving,
    isUpstreamUp: () =>
      opened.answersCrud(AbortSignal.timeout(CRUD_ANSWER_MS)).then(
        () => true,
        () => false,
      ),
    now: parts.now,
  });
  const sessionList = createSessionList({ ...parts, decider: opened.decider, sessions, cookies });
  const deadLetters = createDeadLetters({ ...parts, told: () => parts.backlog?.told() });
  const outbox = createOutbox({ ...parts, deadLetters, decider: opened.decider });
  return byInsideRow<InsideHandler>({
    evaluation: facade("evaluation"),
    evaluations: facade("evaluations"),
    searchSubject: search("subject"),
    searchResource: search("resource"),
    searchAction: search("action"),
    streamHealth: (call) => streamHealth(call, requireSession(call).record),
    listSessions: sessionList.list,
    endSession: sessionList.endOne,
    endSessionsOf: sessionList.endOf,
    explain: (call) => answerExplain({ explain: opened.explain, decider: opened.decider }, call),
    reload: (call) => answerReload(opened.reload, call),
    listOutbox: outbox.list,
    retryOutbox: outbox.retry,
    dropOutbox: outbox.drop,
    notThere: async () => {
      throw new Problem("not_found");
    },
  });
};
