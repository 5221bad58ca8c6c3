import { isService } from "#authn/model/actor-kind.ts";
import type { Caller } from "#authn/model/caller.ts";
import { Problem } from "#contract/problem.ts";
import { createAskRights, type Right, type Standing } from "#pdp/rights/ask-rights.ts";
import type { Pep } from "#pdp/model/parse-ask.ts";
import { createRequirePair, type RequirePairParts } from "#pdp/rights/require-pair.ts";
import type { Recorded } from "#pdp/records/record.ts";

/**
 * How much somebody may know of a decision: `internal` a service of Sallyport, with the tenant; `coarse` whoever asked, whom it
 * was about, who controls the agent; `own` who may have this one explained; `full` who may have all of the tenant's explained; `none`
 * anybody else, for whom it does not exist.
 */
export type ViewerClass = "none" | "coarse" | "own" | "full" | "internal";

/** A service may with the scope. A person's token may carry it too, but what a person may is decided by the pairs. */
export const isServiceWithScope = (caller: Caller, scope: string): boolean => isService(caller) && caller.scopes.has(scope);

const isAuditor = (caller: Caller): boolean => isServiceWithScope(caller, "pdp.decisions.read");

const viewAll: Right = { type: "decisions", action: "view_all" };

/** From little to much. */
const classes: readonly ViewerClass[] = ["none", "coarse", "own", "full"];

/** The pairs that persons need, asked of the decision point itself; a foreign service needs the scope. */
export const createViewers = (parts: RequirePairParts) => {
  const askRights = createAskRights(parts);
  const requirePair = createRequirePair(parts);

  const standing = async ({ caller, isInternal }: Pep): Promise<Standing> =>
    isInternal || isAuditor(caller) ? "granted" : ((await askRights(caller, [viewAll]))[0] ?? "denied");

  return {
    /**
     * Whether the caller may see every decision of its tenant; `*` is every tenant. Says no where a fresh strong sign-in is wanting: for
     * an answer that stands without it and only shows less.
     */
    seesAll: async (pep: Pep): Promise<boolean> => (await standing(pep)) === "granted",

    /** As `seesAll`, for an answer that would leave things out unsaid: throws `step_up_required` where a sign-in would bring them. */
    guardSight: async (pep: Pep, correlationId: string): Promise<boolean> => {
      const found = await standing(pep);
      if (found === "step_up") await requirePair(pep.caller, viewAll, correlationId);
      return found !== "denied";
    },

    /** Why somebody who knows of a decision may not do `wanted` with it: refused by a decision of its own. Always throws. */
    refuse: async ({ caller }: Pep, id: string, correlationId: string, wanted: "own" | "full"): Promise<never> => {
      await requirePair(caller, { ...viewAll, action: "explain", id }, correlationId);
      if (wanted === "full") await requirePair(caller, viewAll, correlationId);
      throw new Problem("access_denied");
    },

    /**
     * Does the same work whether or not there is such a decision. Whose decision it is gets what is known of it without another sign-in,
     * down to `wanted`; anybody whom a fresh strong one would show more is told so with `step_up_required`, of an unknown id too.
     */
    classOf: async (
      pep: Pep,
      id: string,
      recorded: Recorded | undefined,
      controllers: readonly string[],
      correlationId: string,
      wanted: "coarse" | "own" | "full" = "coarse",
    ): Promise<ViewerClass> => {
      const { caller } = pep;
      if (pep.isInternal) return recorded === undefined ? "none" : "internal";
      const explain: Right = { ...viewAll, action: "explain", id };
      const [all = "denied", one = "denied"] = await askRights(caller, [viewAll, explain]);
      const isWithin = recorded !== undefined && (caller.tenant === "*" || caller.tenant === recorded.tenant);
      const isParty = caller.sub === recorded?.pep || (isWithin && (caller.sub === recorded.subject || controllers.includes(caller.sub)));
      const classBy = (mayAll: boolean, mayOne: boolean): ViewerClass => {
        // Who holds more than one right has the larger one.
        if (isWithin && ((mayOne && mayAll) || isAuditor(caller))) return "full";
        if (caller.sub === recorded?.pep) return "coarse";
        if (isWithin && mayOne) return "own";
        return isParty ? "coarse" : "none";
      };
      const now = classBy(all === "granted", one === "granted");
      if (classes.indexOf(now) >= classes.indexOf(isParty ? wanted : "full")) return now;
      if (one === "step_up") await requirePair(caller, explain, correlationId);
      if (all === "step_up") await requirePair(caller, viewAll, correlationId);
      return classBy(all !== "denied", one !== "denied");
    },
  };
};

export type Viewers = ReturnType<typeof createViewers>;
