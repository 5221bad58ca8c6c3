import { evaluate, evaluateMany, type EvaluationReply } from "#contract/authzen.ts";
import { Problem, type Fault } from "#contract/problem.ts";
import type { BodyOf } from "#contract/endpoint.ts";
import { answer, type Call, type Router } from "#http/serve.ts";
import { createTurns } from "#http/turns.ts";
import type { Caller } from "#authn/caller.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Ask, DecisionPoint, Semantic, Verdict } from "#pdp/decision-point.ts";
import { isMetHere } from "#pdp/obligations.ts";
import { pairOf } from "#pdp/pairs.ts";
import { formatDecisionId } from "#pdp/records/decision-id.ts";
import type { DecisionLog } from "#pdp/records/decision-log.ts";
import { ApprovalTaken } from "#pdp/records/record-taking.ts";
import type { MakeOffer } from "#pdp/requests/offer.ts";
import type { Shadow } from "#pdp/shadow/shadow.ts";
import { askOfBody, guardContext, isAsk, parseAsk, type Pep } from "./parse-ask.ts";

export interface EvaluationParts {
  readonly decisionPoint: DecisionPoint;
  readonly records: DecisionLog;
  /** What decides beside, once this has been answered. */
  readonly shadow: Pick<Shadow, "offer">;
  readonly makeOffer: MakeOffer;
  readonly nextDecisionId: () => string;
  readonly pepOf: (caller: Caller) => Pep;
  readonly batchMaxItems: number;
  readonly answerDetail: "coarse" | "none";
  readonly metrics: Metrics;
  readonly now: () => Date;
}

/** Milliseconds of reading a large batch, or of answering it, after which others have a turn. */
const SLICE_MS = 2;

/** Tries of a call whose approvals other calls keep taking. */
const MOST_TRIES = 3;

type Item = Ask | readonly Fault[];

/**
 * Whether it is asked to know what to show, not because somebody did something: what a page or a list asks of all its parts at once,
 * to leave out those that are not permitted. A batch that ends at its first denial is one act; so is whatever is asked alone.
 */
const isForShowing = ({ action, vouched }: Ask, batch: boolean, semantic: Semantic): boolean =>
  vouched.showing === true || vouched.could || (batch && semantic === "execute_all" && action.startsWith("view"));

/** The two evaluation endpoints of the standard: parse, decide, record, answer; nothing is answered that is not recorded. */
export const serveEvaluations = (router: Router<Caller>, parts: EvaluationParts): void => {
  const count = ({ ask, decision, cached = false }: Verdict): void => {
    const known = pairOf(ask.resource.type, ask.action) !== undefined || ask.action === "tools/list";
    parts.metrics.count("pdp_decisions_total", {
      type: known ? ask.resource.type : "other",
      action: known ? ask.action : "other",
      decision: String(decision),
      cached: String(cached),
    });
  };

  /** Decides and records the asks among the items; answers in their order. An approval that another call used first is none. */
  const decideItems = async (
    items: readonly Item[],
    semantic: Semantic,
    batch: boolean,
    call: Pick<Call<unknown, Caller>, "caller" | "request" | "correlationId">,
    triesLeft = MOST_TRIES - 1,
  ): Promise<{ readonly replies: EvaluationReply[]; readonly headers: { readonly "x-decision-id": string } }> => {
    const started = performance.now();
    const callId = parts.nextDecisionId();
    const pep = parts.pepOf(call.caller);
    const firstFault = items.findIndex((item) => !isAsk(item));
    const reach = semantic === "deny_on_first_deny" && firstFault !== -1 ? firstFault : items.length;
    const asks = items.slice(0, reach).filter(isAsk);
    const decided = asks.length === 0 ? undefined : await parts.decisionPoint.evaluateMany(asks, semantic);
    const verdicts = new Map(decided?.verdicts.map((verdict) => [verdict.ask, verdict]));
    const requestId = call.request.headers.get("x-request-id");
    const decidedAt = parts.now();
    if (decided !== undefined) {
      const recorded = parts.records.record({
        callId,
        batch,
        decidedAt,
        pep: call.caller.sub,
        fallbackTenant: call.caller.tenant === "*" ? (asks[0]?.subject.tenant ?? "*") : call.caller.tenant,
        policyVersion: decided.policyVersion,
        graphVersion: decided.graphVersion,
        latencyUs: Math.round((performance.now() - started) * 1000),
        ...(requestId === null ? {} : { requestId }),
        correlationId: call.correlationId,
        items: items.flatMap((item, index) => {
          const verdict = isAsk(item) ? verdicts.get(item) : undefined;
          return verdict === undefined ? [] : [{ index, verdict, showing: isForShowing(verdict.ask, batch, semantic) }];
        }),
      });
      try {
        await recorded;
      } catch (error) {
        if (error instanceof ApprovalTaken && triesLeft > 0) return decideItems(items, semantic, batch, call, triesLeft - 1);
        throw error;
      }
      decided.verdicts.forEach(count);
      const shadowed = items.flatMap((item, index) => {
        const verdict = isAsk(item) ? verdicts.get(item) : undefined;
        return verdict === undefined ? [] : [{ decisionId: formatDecisionId({ callId, ...(batch ? { index } : {}) }), verdict }];
      });
      parts.shadow.offer(shadowed, parts.now());
    }
    parts.metrics.observe("pdp_decision_seconds", { batch: String(batch) }, (performance.now() - started) / 1000);

    const replies: EvaluationReply[] = [];
    const turn = createTurns(SLICE_MS);
    for (const [index, item] of items.entries()) {
      const verdict = isAsk(item) ? verdicts.get(item) : undefined;
      if (isAsk(item) && verdict === undefined) break;
      const reply =
        verdict === undefined
          ? errorReply(item as readonly Fault[])
          : await verdictReply(verdict, formatDecisionId({ callId, ...(batch ? { index } : {}) }), decidedAt, pep);
      replies.push(reply);
      const others = index + 1 < items.length ? turn() : undefined;
      if (others !== undefined) await others;
      if ((semantic === "deny_on_first_deny" && !reply.decision) || (semantic === "permit_on_first_permit" && reply.decision)) break;
    }
    return { replies, headers: { "x-decision-id": callId } };
  };

  const verdictReply = async (verdict: Verdict, decisionId: string, decidedAt: Date, pep: Pep): Promise<EvaluationReply> => {
    const asked = verdict.obligations.filter((obligation) => !isMetHere(obligation));
    const obligations = asked.length === 0 ? {} : { obligations: asked };
    const offer = verdict.request === undefined ? undefined : await parts.makeOffer(verdict, decisionId, decidedAt);
    if (parts.answerDetail === "none" && !pep.isHouse) {
      const context = { ...obligations, ...offer };
      return Object.keys(context).length === 0 ? { decision: verdict.decision } : { decision: verdict.decision, context };
    }
    return {
      decision: verdict.decision,
      context: {
        decision_id: decisionId,
        ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
        ...obligations,
        ...offer,
      },
    };
  };

  const decideSingle = async (
    { context, action }: { readonly context?: unknown; readonly action?: unknown },
    readAsk: (pep: Pep) => Item,
    call: Call<unknown, Caller>,
  ) => {
    const pep = parts.pepOf(call.caller);
    guardContext(pep, [context], [action]);
    const ask = readAsk(pep);
    if (!isAsk(ask)) throw new Problem("invalid_request", { errors: ask });
    const { replies, headers } = await decideItems([ask], "execute_all", false, call);
    const [reply] = replies;
    if (reply === undefined) throw new Problem("engine_failed", { cause: "no verdict" });
    return answer(reply, { headers });
  };

  router.serve(evaluate, (call) => decideSingle(call.body, (pep) => askOfBody(call.body, pep), call as Call<unknown, Caller>));

  router.serve(evaluateMany, async (call) => {
    const sent = call.body;
    const { evaluations } = sent;
    if (evaluations !== undefined && !Array.isArray(evaluations)) {
      throw new Problem("invalid_request", { errors: [{ path: "/evaluations", message: "must be an array" }] });
    }
    if (evaluations === undefined || evaluations.length === 0)
      return decideSingle(sent, (pep) => parseAsk(sent, pep), call as Call<unknown, Caller>);
    if (evaluations.length > parts.batchMaxItems)
      throw new Problem("too_many_evaluations", { detail: `At most ${parts.batchMaxItems} in one call.` });
    const pep = parts.pepOf(call.caller);
    const whole = evaluations.map((item) => withDefaults(item, sent));
    guardContext(
      pep,
      whole.map((item) => memberOf(item, "context")),
      whole.map((item) => memberOf(item, "action")),
    );
    const turn = createTurns(SLICE_MS);
    const items: Item[] = [];
    for (const item of whole) {
      items.push(parseAsk(item, pep));
      const others = items.length < whole.length ? turn() : undefined;
      if (others !== undefined) await others;
    }
    const semantic = sent.options?.evaluations_semantic ?? "execute_all";
    const { replies, headers } = await decideItems(items, semantic, true, call as Call<unknown, Caller>);
    return answer({ evaluations: replies }, { headers });
  });
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const memberOf = (item: unknown, name: string): unknown => (isObject(item) ? item[name] : undefined);

/** What names an entity: an item that leaves it out means the default's. */
const naming: Readonly<Record<string, readonly string[]>> = {
  subject: ["type", "id"],
  action: ["name"],
  resource: ["type", "id"],
  context: [],
};

/**
 * An item's member takes the place of the whole default; nothing is merged deeper but the members that name an entity
 * (certification scenario of the standard, 3.2.7).
 */
const withDefaults = (item: unknown, defaults: BodyOf<typeof evaluateMany>): unknown => {
  if (!isObject(item)) return item;
  const whole: Record<string, unknown> = { ...item };
  for (const [member, names] of Object.entries(naming)) {
    const standard = memberOf(defaults, member);
    const own = whole[member];
    if (own === undefined && standard !== undefined) whole[member] = standard;
    else if (isObject(own) && isObject(standard))
      whole[member] = {
        ...Object.fromEntries(names.flatMap((name) => (standard[name] === undefined ? [] : [[name, standard[name]]]))),
        ...own,
      };
  }
  return whole;
};

const errorReply = (faults: readonly Fault[]): EvaluationReply => ({
  decision: false,
  context: { error: { status: 400, message: faults.map((fault) => `${fault.path} ${fault.message}`.trim()).join("; ") } },
});
