import { evaluateMany, type EvaluationReply } from "#contract/authzen.ts";
import { Problem } from "#contract/problem.ts";
import { isHeaderText } from "#http/problem-body.ts";
import type { Principal } from "#pdp-client/pdp-client.ts";
import { pairOf } from "#pdp-client/pairs.ts";
import type { EndByDecision } from "#gateway/steps/end-by-decision.ts";
import type { PointCall } from "#pdp-client/ask-point.ts";
import { completeItem, type Completed } from "./complete-item.ts";
import { parseEvaluation, parseEvaluations, type Entry, type FacadeAsk, type FacadeItem } from "./parse-evaluations.ts";
import { answerFacade, isEnforcementPoint, type Asked, type Asking } from "./authzen-answer.ts";
import { isLast, readEvaluation, readEvaluations } from "#pdp-client/point-answers.ts";
import { createTransparent, type FacadeParts } from "./transparent.ts";

export type FacadeForm = "evaluation" | "evaluations";

/** An entry with what the decision point is asked for it, or the answer that needs no asking. */
type Prepared = { readonly entry: Entry } & ({ readonly completed: Completed } | { readonly local: EvaluationReply });

/** Keys become members of an answer; a prototype must never be among them. */
const byKey = (rows: readonly (readonly [string, EvaluationReply])[]): Record<string, EvaluationReply> => {
  const map = Object.create(null) as Record<string, EvaluationReply>;
  for (const [key, value] of rows) Object.defineProperty(map, key, { value, enumerable: true });
  return map;
};

const notEvaluated: EvaluationReply = { decision: false, context: { reason: "not_evaluated" } };

/**
 * AuthZEN for the browser and for bearers: the subject is always the caller. A bearer with scope `authzen.pep` is an
 * enforcement point of its own and speaks to the decision point directly, with its own rights and no others.
 */
export const createFacade = (parts: FacadeParts & { readonly endByDecision: EndByDecision }) => {
  const transparent = createTransparent(parts);
  const count = (event: string) => parts.metrics.count("bff_security_events_total", { event_type: event, severity: "info" });

  const prepare = (entry: Entry, principal: Principal, correlationId: string, showing: boolean): Prepared => {
    if (typeof entry.item === "string")
      return { entry, local: { decision: false, context: { error: { status: 400, message: entry.item } } } };
    if (entry.item.hasSubject) count("authz_subject_override");
    const completed = completeItem(entry.item, principal, correlationId, showing);
    if (completed.dropped.length > 0) count("authz_context_override");
    return { entry, completed };
  };

  const observe = (entry: Entry, decided: EvaluationReply | undefined): void => {
    const item = entry.item as FacadeItem;
    const isKnown = typeof entry.item !== "string" && pairOf(item.resource.type, item.action.name) !== undefined;
    const labels = isKnown ? { resource: item.resource.type, action: item.action.name } : { resource: "other", action: "other" };
    parts.metrics.count("bff_authz_requests_total", {
      ...labels,
      decision: decided === undefined ? "error" : decided.decision ? "allow" : "deny",
    });
  };

  /** Sends what must be asked and puts the answers where they belong; the rest after a short circuit stays out. */
  const decide = async (
    prepared: readonly Prepared[],
    ask: FacadeAsk,
    call: Pick<PointCall<unknown>, "authorization" | "correlationId" | "requestId" | "signal">,
  ) => {
    const semantic = ask.form === "single" ? "execute_all" : ask.semantic;
    const firstLocal = prepared.findIndex((item) => "local" in item);
    const reach = semantic === "deny_on_first_deny" && firstLocal !== -1 ? firstLocal : prepared.length;
    const questions = prepared.slice(0, reach).flatMap((item) => ("completed" in item ? [item.completed.question] : []));
    const isOne = ask.form === "single";
    const got =
      questions.length === 0
        ? { value: [], headers: {} }
        : await parts.askPoint({
            ...call,
            path: isOne ? "/access/v1/evaluation" : "/access/v1/evaluations",
            body: JSON.stringify(isOne ? questions[0] : { evaluations: questions, options: { evaluations_semantic: semantic } }),
            read: isOne ? readEvaluation : readEvaluations(questions.length, semantic),
          });
    const decided: EvaluationReply[] = [];
    const left = [...got.value];
    for (const item of prepared) {
      const one = "local" in item ? item.local : left.shift();
      if (one === undefined) break;
      decided.push(one);
      if (isLast(semantic, one)) break;
    }
    if (left.length > 0) throw new Problem("pdp_bad_answer", { cause: "more than was asked" });
    return { decided, headers: got.headers };
  };

  const present = (ask: FacadeAsk, decided: readonly EvaluationReply[]): unknown => {
    const plain = ({ decision, context }: EvaluationReply, key?: string) => ({ decision, context, key });
    if (ask.form === "single") return plain(decided[0] as EvaluationReply, ask.entry.key);
    const rows = ask.entries.map((entry, index) => [entry.key, plain(decided[index] ?? notEvaluated)] as const);
    const keyed = rows.flatMap(([key, one]) => (key === undefined ? [] : [[key, one] as const]));
    const results = byKey(keyed);
    if (ask.form === "object") return { evaluations: results, results };
    const evaluations = decided.map((one, index) => plain(one, ask.entries[index]?.key));
    return keyed.length === 0 ? { evaluations } : { evaluations, results };
  };

  const answer = async (form: FacadeForm, asked: Asked) => {
    const { who, call } = asked;
    if (isEnforcementPoint(who)) return transparent.evaluate(form, who.caller, asked);
    const ask = form === "evaluation" ? parseEvaluation(asked.value, parts.limits) : parseEvaluations(asked.value, parts.limits);
    const entries = ask.form === "single" ? [ask.entry] : ask.entries;
    // A browser draws its page by the answers; what it then does is decided where it is done.
    const prepared = entries.map((entry) => prepare(entry, who.principal, call.correlationId, who.kind === "session"));
    const started = performance.now();
    try {
      const authorization = `Bearer ${await parts.identity.asService(parts.pdpAudience, ["authzen.pep"])}`;
      const { decided, headers } = await decide(prepared, ask, { ...call, authorization });
      for (const [index, entry] of entries.entries()) if (decided[index] !== undefined) observe(entry, decided[index]);
      // The browser is told what was decided; its next call finds no session.
      const obligations = decided.flatMap((one) => one.context?.obligations ?? []);
      await parts.endByDecision(who.kind === "session" ? who.record : undefined, obligations, call.correlationId);
      const decisionId = ask.form === "single" ? decided[0]?.context?.decision_id : undefined;
      return {
        value: present(ask, decided),
        headers: { ...headers, ...(isHeaderText(decisionId) ? { "x-decision-id": decisionId } : {}) },
      };
    } catch (error) {
      for (const entry of entries) observe(entry, undefined);
      throw error;
    } finally {
      parts.metrics.observe("bff_authz_latency_seconds", { resource: "evaluations" }, (performance.now() - started) / 1000);
    }
  };

  return (form: FacadeForm) =>
    (asking: Asking): Promise<Response> =>
      answerFacade(asking, { ...parts.limits, members: form === "evaluation" ? undefined : evaluateMany.maxMembers }, (asked) =>
        answer(form, asked),
      );
};
