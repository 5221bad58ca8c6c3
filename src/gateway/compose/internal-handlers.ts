import { Problem } from "#contract/problem.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import { createPointClient } from "#pdp-client/ask-point.ts";
import type { EndByDecision } from "#gateway/steps/end-by-decision.ts";
import { createPointBreaker } from "#pdp-client/point-breaker.ts";
import { createFacade } from "#gateway/authzen/authzen.ts";
import { createSearchFacade } from "#gateway/authzen/search.ts";
import { createDeadLetters } from "#events/relay/dead-letters.ts";
import { byInsideRow } from "#gateway/routes/internal-rows.ts";
import { answerExplain, answerReload } from "#gateway/internal/own-routes.ts";
import { createOutbox } from "#gateway/internal/outbox.ts";
import { createSessionList, requireSession } from "#gateway/internal/session-list.ts";
import type { HealthCheck } from "#gateway/internal/health-checks.ts";
import { createStreamHealth } from "#gateway/internal/stream-health.ts";
import { createWaiting } from "#gateway/internal/waiting.ts";
import type { ExplainRoute } from "#gateway/explain-routes/explain-route.ts";
import type { InternalHandler } from "#gateway/steps/route-call.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import type { OpenedSessions } from "./open-sessions.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { ReloadRoutes } from "#gateway/active-routes/reload-routes.ts";
import type { RoutesInForce } from "#gateway/active-routes/active-routes.ts";

/** What does not answer by then is down. */
const CRUD_ANSWER_MS = 2000;

export const createInternalHandlers = (
  parts: GatewayParts,
  opened: {
    readonly routes: RoutesInForce;
    readonly reload: ReloadRoutes;
    readonly explain: ExplainRoute;
    readonly sessions: OpenedSessions;
    readonly streams: Pick<OpenStreams, "registry" | "rightChanges">;
    readonly requireLiving: (record: SessionRecord) => Promise<number>;
    readonly pdpClient: PdpClient;
    readonly endByDecision: EndByDecision;
    readonly answersCrud: HealthCheck;
  },
): ReadonlyMap<string, InternalHandler> => {
  const { config } = parts;
  const { sessions, cookies } = opened.sessions;
  const facadeParts = {
    ...parts,
    pdpClient: opened.pdpClient,
    askPoint: createPointClient({
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
  const sessionList = createSessionList({ ...parts, pdpClient: opened.pdpClient, sessions, cookies });
  const deadLetters = createDeadLetters({ ...parts, notify: () => parts.backlog?.notify() });
  const outbox = createOutbox({ ...parts, deadLetters, pdpClient: opened.pdpClient });
  const waiting = createWaiting({ ...parts, pdpClient: opened.pdpClient, peerOf: opened.routes.peerOf });
  return byInsideRow<InternalHandler>({
    evaluation: facade("evaluation"),
    evaluations: facade("evaluations"),
    searchSubject: search("subject"),
    searchResource: search("resource"),
    searchAction: search("action"),
    streamHealth: (call) => streamHealth(call, requireSession(call).record),
    waiting,
    listSessions: sessionList.list,
    endSession: sessionList.endOne,
    endSessionsOf: sessionList.endOf,
    explain: (call) => answerExplain({ explain: opened.explain, pdpClient: opened.pdpClient }, call),
    reload: (call) => answerReload(opened.reload, call),
    listOutbox: outbox.list,
    retryOutbox: outbox.retry,
    dropOutbox: outbox.drop,
    notThere: async () => {
      throw new Problem("not_found");
    },
  });
};
