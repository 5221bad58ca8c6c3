import type { Caller } from "#authn/caller.ts";
import type { DecisionPoint } from "#pdp/decision-point.ts";
import type { Pep } from "#pdp/endpoints/parse-ask.ts";
import { askOfCaller } from "#pdp/endpoints/ask-of-caller.ts";
import type { Recorded } from "#pdp/records/record.ts";

/**
 * How much somebody may know of a decision: `house` a service of the house, with the tenant; `coarse` whoever asked, whom it
 * was about, who controls the agent; `own` who may have this one explained; `full` who may have all of the tenant's explained; `none`
 * anybody else, for whom it does not exist.
 */
export type ViewerClass = "none" | "coarse" | "own" | "full" | "house";

/** A service may with the scope. A person's token may carry it too, but what a person may is decided by the pairs. */
export const isServiceWithScope = (caller: Caller, scope: string): boolean =>
  (caller.sub.startsWith("service:") || caller.sub === caller.clientId) && caller.scopes.has(scope);

const isAuditor = (caller: Caller): boolean => isServiceWithScope(caller, "pdp.decisions.read");

/** The pairs that persons need, asked of the decision point itself; a foreign service needs the scope. */
export const createViewers = (decisionPoint: DecisionPoint, self: string) => {
  const allowed = async (caller: Caller, id: string | undefined): Promise<{ readonly one: boolean; readonly all: boolean }> => {
    const questions = [
      askOfCaller(caller, self, { type: "decisions", action: "view_all" }),
      ...(id === undefined ? [] : [askOfCaller(caller, self, { type: "decisions", action: "explain", id })]),
    ];
    const { verdicts } = await decisionPoint.evaluateMany(questions, "execute_all");
    return { all: verdicts[0]?.decision === true, one: verdicts[1]?.decision === true };
  };

  return {
    /** Whether the caller may see every decision of its tenant; `*` is every tenant. */
    seesAll: async (pep: Pep): Promise<boolean> => pep.isHouse || isAuditor(pep.caller) || (await allowed(pep.caller, undefined)).all,

    /** Does the same work whether or not there is such a decision. */
    classOf: async (pep: Pep, id: string, recorded: Recorded | undefined, controllers: readonly string[]): Promise<ViewerClass> => {
      const { caller } = pep;
      if (pep.isHouse) return recorded === undefined ? "none" : "house";
      const may = await allowed(caller, id);
      if (recorded === undefined) return "none";
      const isWithin = caller.tenant === "*" || caller.tenant === recorded.tenant;
      // Who holds more than one right has the larger one.
      if (isWithin && ((may.one && may.all) || isAuditor(caller))) return "full";
      if (caller.sub === recorded.pep) return "coarse";
      if (!isWithin) return "none";
      if (may.one) return "own";
      return caller.sub === recorded.subject || controllers.includes(caller.sub) ? "coarse" : "none";
    },
  };
};

export type Viewers = ReturnType<typeof createViewers>;
