import { Problem } from "#contract/problem.ts";
import type { Decider } from "#pdp/decide.ts";
import { createPointAsker } from "#pdp/ask-point/ask-point.ts";
import { createEndByDecision } from "#gateway/end-by-decision.ts";
import { createBreaker } from "#pdp/ask-point/breaker.ts";
import { createFacade } from "#gateway/facade/facade.ts";
import type { SearchKind } from "#gateway/facade/parse-search.ts";
import { createSearchFacade } from "#gateway/facade/search.ts";
import { answerExplain, answerReload } from "#gateway/inside/own-routes.ts";
import { createSessionList } from "#gateway/inside/session-list.ts";
import type { HealthCheck } from "#gateway/inside/health-checks.ts";
import { createStreamHealth } from "#gateway/inside/stream-health.ts";
import type { ExplainRoute } from "#gateway/routes-explained/explain-route.ts";
import type { InsideHandler, RouteCall } from "#gateway/serve-route.ts";
import type { GatewayParts } from "#gateway/service.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import type { OpenedSessions } from "./open-sessions.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { ReloadRoutes } from "./reload-routes.ts";
import type { RoutesInForce } from "./routes-in-force.ts";

/** Rows of the table that the gateway answers by itself: a row with `target_service: internal` has one of these ids. */
export const insideIds = [
  "access.evaluation",
  "access.evaluation.bearer",
  "access.evaluations",
  "access.evaluations.bearer",
  "access.search.subject",
  "access.search.subject.bearer",
  "access.search.resource",
  "access.search.resource.bearer",
  "access.search.action",
  "access.search.action.bearer",
  "pdp.evaluation",
  "pdp.evaluation.bearer",
  "pdp.evaluations",
  "pdp.evaluations.bearer",
  "pdp.search.subject",
  "pdp.search.subject.bearer",
  "pdp.search.resource",
  "pdp.search.resource.bearer",
  "pdp.search.action",
  "pdp.search.action.bearer",
  "streams.health",
  "sessions.list",
  "sessions.end",
  "sessions.end_of",
  "routes.explain",
  "routes.explain.bearer",
  "routes.reload",
  "routes.reload.bearer",
  "crud.events",
  "membership.pip",
] as const;
type InsideId = (typeof insideIds)[number];

/** What does not answer by then is down. */
const CRUD_ANSWER_MS = 2000;

/** What has another address, or is for services alone. */
const notThere: InsideHandler = async () => {
  throw new Problem("not_found");
};

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
): Readonly<Record<InsideId, InsideHandler>> => {
  const { config } = parts;
  const { sessions, cookies } = opened.sessions;
  const facadeParts = {
    ...parts,
    decider: opened.decider,
    askPoint: createPointAsker({
      pdp: opened.routes.peerOf("pdp"),
      timeoutMs: config.pdpTimeoutMs,
      breaker: createBreaker(parts.now),
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
  const explain: InsideHandler = (call) => answerExplain({ explain: opened.explain, decider: opened.decider }, call);
  const reload: InsideHandler = (call) => answerReload(opened.reload, call);
  const sessionList = createSessionList({
    ...parts,
    decider: opened.decider,
    sessions,
    cookies,
    publicOrigin: parts.publicOrigins[0] ?? "",
  });
  const evaluation: InsideHandler = ({ inbound, who }) => facade("evaluation", inbound, who);
  const evaluations: InsideHandler = ({ inbound, who }) => facade("evaluations", inbound, who);
  const searches =
    (kind: SearchKind): InsideHandler =>
    ({ inbound, who }) =>
      search(kind, inbound, who);
  return {
    "access.evaluation": evaluation,
    "access.evaluation.bearer": evaluation,
    "access.evaluations": evaluations,
    "access.evaluations.bearer": evaluations,
    "access.search.subject": searches("subject"),
    "access.search.subject.bearer": searches("subject"),
    "access.search.resource": searches("resource"),
    "access.search.resource.bearer": searches("resource"),
    "access.search.action": searches("action"),
    "access.search.action.bearer": searches("action"),
    "pdp.evaluation": evaluation,
    "pdp.evaluation.bearer": evaluation,
    "pdp.evaluations": evaluations,
    "pdp.evaluations.bearer": evaluations,
    "pdp.search.subject": searches("subject"),
    "pdp.search.subject.bearer": searches("subject"),
    "pdp.search.resource": searches("resource"),
    "pdp.search.resource.bearer": searches("resource"),
    "pdp.search.action": searches("action"),
    "pdp.search.action.bearer": searches("action"),
    "streams.health": (call) => streamHealth(call, sessionOf(call)),
    "sessions.list": sessionList.list,
    "sessions.end": sessionList.endOne,
    "sessions.end_of": sessionList.endOf,
    "routes.explain": explain,
    "routes.explain.bearer": explain,
    "routes.reload": reload,
    "routes.reload.bearer": reload,
    "crud.events": notThere,
    "membership.pip": notThere,
  };
};
