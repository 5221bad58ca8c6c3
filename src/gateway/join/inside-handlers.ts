import { Problem } from "#contract/problem.ts";
import type { Decider } from "#decide/decider.ts";
import { createPointAsker } from "#decide/ask-point.ts";
import { createEndByDecision } from "#gateway/end-by-decision.ts";
import { createPointBreaker } from "#decide/point-breaker.ts";
import { createFacade, type FacadeForm } from "#gateway/facade/facade.ts";
import type { SearchKind } from "#gateway/facade/parse-search.ts";
import { createSearchFacade } from "#gateway/facade/search.ts";
import { createDeadLetters } from "#events/relay/dead-letters.ts";
import { byInsideRow } from "#gateway/inside/inside-rows.ts";
import { answerExplain, answerReload } from "#gateway/inside/own-routes.ts";
import { createOutbox } from "#gateway/inside/outbox.ts";
import { createSessionList } from "#gateway/inside/session-list.ts";
import type { HealthCheck } from "#gateway/inside/health-checks.ts";
import { createStreamHealth } from "#gateway/inside/stream-health.ts";
import type { ExplainRoute } from "#gateway/routes-explained/explain-route.ts";
import type { InsideHandler, RouteCall } from "#gateway/serve-route.ts";
import type { GatewayParts } from "#gateway/gateway-parts.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import type { OpenedSessions } from "./open-sessions.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { ReloadRoutes } from "#gateway/routes-in-force/reload-routes.ts";
import type { RoutesInForce } from "#gateway/routes-in-force/routes-in-force.ts";

/** What does not answer by then is down. */
const CRUD_ANSWER_MS = 2000;

const sessionOf = ({ who }: RouteCall) => {
  if (who.kind !== "session") throw new Problem("session_required");
  return who.record;
};

export const createInsideHandlers = (
  parts: GatewayParts,
  opened: {
    readonly routes: RoutesInForce;
    readonly reload: ReloadRoutes;
    readonly explain: ExplainRoute;
    readonly sessions: OpenedSessions;
    readonly streams: Pick<OpenStreams, "registry" | "rightChanges">;
    readonly requireLiving: (record: SessionRecord) => Promise<void>;
    readonly decider: Decider;
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
    endByDecision: createEndByDecision(sessions),
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
  const outbox = createOutbox({ ...parts, deadLetters });
  const evaluating =
    (form: FacadeForm): InsideHandler =>
    ({ inbound, who }) =>
      facade(form, inbound, who);
  const searching =
    (kind: SearchKind): InsideHandler =>
    ({ inbound, who }) =>
      search(kind, inbound, who);
  return byInsideRow<InsideHandler>({
    evaluation: evaluating("evaluation"),
    evaluations: evaluating("evaluations"),
    searchSubject: searching("subject"),
    searchResource: searching("resource"),
    searchAction: searching("action"),
    streamHealth: (call) => streamHealth(call, sessionOf(call)),
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
