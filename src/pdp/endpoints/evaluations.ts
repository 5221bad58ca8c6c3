import { evaluate, evaluateMany, type EvaluationReply } from "#contract/authzen.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { answer, type Call, type Router } from "#http/serve.ts";
import { createYielding } from "#http/yielding.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { DecidedBatch, Verdict } from "#pdp/engine/decision-point.ts";
import { isMetHere } from "#pdp/engine/obligations.ts";
import { isLast, type Semantic } from "#pdp-client/point-answers.ts";
import { withDefaults } from "#pdp-client/item-defaults.ts";
import { pairOf } from "#pdp-client/pairs.ts";
import { formatDecisionId } from "#pdp/records/decision-id.ts";
import { ApprovalTaken } from "#pdp/records/record-taking.ts";
import type { CallDraft } from "#pdp/records/record.ts";
import type { MakeOffer } from "#pdp/requests/offer.ts";
import type { Shadow } from "#pdp/lifecycle/shadow/shadow.ts";
import type { Serving } from "#pdp/context/serving.ts";
import { askOfBody, createAskParser, guardSaid, isAsk, type Pep } from "#pdp/model/parse-ask.ts";

export interface EvaluationParts extends Pick<Serving, "decisionPoint" | "records" | "nextDecisionId" | "pepOf" | "metrics" | "now"> {
  /** What decides beside, once this has been answered. */
  readonly shadow: Pick<Shadow, "offer">;
  readonly makeOffer: MakeOffer;
  readonly batchMaxItems: number;
  readonly answerDetail: "coarse" | "none";
}

/** Milliseconds of reading a large batch, or of answering it, after which others have a turn. */
const SLICE_MS = 2;

/** Tries of a call whose approvals other calls keep taking. */
const MAX_TRIES = 3;

type Item = Ask | readonly Issue[];

/**
 * Whether it is asked to know what to show, not because somebody did something: what a page or a list asks of all its parts at once,
 * to leave out those that are not permitted. A batch that ends at its first denial is one act; so is whatever is asked alone.
 */
const isForShowing = ({ action, vouched }: Ask, batch: boolean, semantic: Semantic): boolean =>
  vouched.showing === true || vouched.could || (batch && semantic === "execute_all" && action.startsWith("view"));

/**
 * What is no act of anybody and leaves no record: what a list asks of each of its tools, beside the one record that it was asked
 * for; and what Sallyport asks again by itself, as long as it is permitted. What takes an approval is always recorded.
 */
const isUnrecorded = ({ ask: { vouched }, decision, approval }: Verdict, batch: boolean): boolean =>
  approval === undefined && ((batch && vouched.could) || (vouched.background === true && decision));

/** The two evaluation endpoints of the standard: parse, decide, record, answer; nothing that somebody did is answered unrecorded. */
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
    triesLeft = MAX_TRIES - 1,
  ): Promise<{ readonly replies: EvaluationReply[]; readonly headers: { readonly "x-decision-id": string } }> => {
    const started = performance.now();
    const callId = parts.nextDecisionId();
    const pep = parts.pepOf(call.caller);
    const firstIssue = items.findIndex((item) => !isAsk(item));
    const reach = semantic === "deny_on_first_deny" && firstIssue !== -1 ? firstIssue : items.length;
    const asks = items.slice(0, reach).filter(isAsk);
    const decided = asks.length === 0 ? undefined : await parts.decisionPoint.evaluateMany(asks, semantic);
    const verdicts = new Map(decided?.verdicts.map((verdict) => [verdict.ask, verdict]));
    const requestId = call.request.headers.get("x-request-id");
    const decidedAt = parts.now();
    const kept: CallDraft["items"][number][] = [];
    for (const [index, item] of items.entries()) {
      const verdict = isAsk(item) ? verdicts.get(item) : undefined;
      if (verdict === undefined || isUnrecorded(verdict, batch)) continue;
      kept.push({ index, verdict, showing: isForShowing(verdict.ask, batch, semantic) });
    }
    if (decided !== undefined && kept.length > 0) {
      const recorded = parts.records.record({
        callId,
        batch,
        decidedAt,
        pep: call.caller.sub,
        fallbackTenant: call.caller.tenant === "*" ? (asks[0]?.subject.tenant ?? "*") : call.caller.tenant,
        policyVersion: decided.policyVersion,
        graphVersion: decided.graphVersion,
        latencyUs: Math.round((performance.now() - started) * 1000),
        requestId: requestId ?? undefined,
        correlationId: call.correlationId,
        items: kept,
      });
      try {
        await recorded;
      } catch (error) {
        if (error instanceof ApprovalTaken && triesLeft > 0) return decideItems(items, semantic, batch, call, triesLeft - 1);
        throw error;
      }
      parts.shadow.offer(
        kept.map(({ index, verdict }) => ({ decisionId: formatDecisionId({ callId, index: batch ? index : undefined }), verdict })),
        parts.now(),
      );
    }
    decided?.verdicts.forEach(count);
    parts.metrics.observe("pdp_decision_seconds", { batch: String(batch) }, (performance.now() - started) / 1000);

    const replies: EvaluationReply[] = [];
    const turn = createYielding(SLICE_MS);
    for (const [index, item] of items.entries()) {
      const verdict = isAsk(item) ? verdicts.get(item) : undefined;
      if (isAsk(item) && verdict === undefined) break;
      const reply =
        verdict === undefined
          ? errorReply(item as readonly Issue[])
          : await verdictReply(verdict, formatDecisionId({ callId, index: batch ? index : undefined }), decidedAt, pep, decided);
      replies.push(reply);
      const others = index + 1 < items.length ? turn() : undefined;
      if (others !== undefined) await others;
      if (isLast(semantic, reply)) break;
    }
    return { replies, headers: { "x-decision-id": callId } };
  };

  const verdictReply = async (
    verdict: Verdict,
    decisionId: string,
    decidedAt: Date,
    pep: Pep,
    decided: Partial<Pick<DecidedBatch, "moment" | "policyVersion">> = {},
  ): Promise<EvaluationReply> => {
    const asked = verdict.obligations.filter((obligation) => !isMetHere(obligation));
    const obligations = asked.length === 0 ? {} : { obligations: asked };
    const offer = verdict.request === undefined ? undefined : await parts.makeOffer(verdict, decisionId, decidedAt);
    if (parts.answerDetail === "none" && !pep.isInternal) {
      const context = { ...obligations, ...offer };
      return Object.keys(context).length === 0 ? { decision: verdict.decision } : { decision: verdict.decision, context };
    }
    return {
      decision: verdict.decision,
      context: {
        decision_id: decisionId,
        reason: verdict.reason,
        ...(pep.isInternal && verdict.ask.resource.type === "mcp_server" ? { moment: decided.moment } : {}),
        ...(pep.isInternal && verdict.ask.resource.type === "secret" ? { policy_version: decided.policyVersion } : {}),
        ...obligations,
        ...offer,
      },
    };
  };

  const decideSingle = async (readAsk: (pep: Pep) => Item, call: Call<unknown, Caller>) => {
    const pep = parts.pepOf(call.caller);
    guardSaid(pep, call.body, [call.body]);
    const ask = readAsk(pep);
    if (!isAsk(ask)) throw new Problem("invalid_request", { errors: ask });
    const { replies, headers } = await decideItems([ask], "execute_all", false, call);
    const [reply] = replies;
    if (reply === undefined) throw new Problem("engine_failed", { cause: "no verdict" });
    return answer(reply, { headers });
  };

  router.serve(evaluate, (call) => decideSingle((pep) => askOfBody(call.body, pep), call as Call<unknown, Caller>));

  router.serve(evaluateMany, async (call) => {
    const sent = call.body;
    const { evaluations } = sent;
    if (evaluations === undefined || evaluations.length === 0)
      return decideSingle((pep) => createAskParser(pep)(sent), call as Call<unknown, Caller>);
    if (evaluations.length > parts.batchMaxItems)
      throw new Problem("too_many_evaluations", { detail: `At most ${parts.batchMaxItems} in one call.` });
    const pep = parts.pepOf(call.caller);
    const whole = evaluations.map((item) => withDefaults(item, sent));
    guardSaid(pep, sent, whole);
    const parseAsk = createAskParser(pep);
    const turn = createYielding(SLICE_MS);
    const items: Item[] = [];
    for (const item of whole) {
      items.push(parseAsk(item));
      const others = items.length < whole.length ? turn() : undefined;
      if (others !== undefined) await others;
    }
    const semantic = sent.options?.evaluations_semantic ?? "execute_all";
    const { replies, headers } = await decideItems(items, semantic, true, call as Call<unknown, Caller>);
    return answer({ evaluations: replies }, { headers });
  });
};

const errorReply = (issues: readonly Issue[]): EvaluationReply => ({
  decision: false,
  context: { error: { status: 400, message: issues.map((issue) => `${issue.path} ${issue.message}`.trim()).join("; ") } },
});
