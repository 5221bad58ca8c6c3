import type { Caller } from "#authn/model/caller.ts";
import { isObject } from "#contract/is-object.ts";
import { Problem } from "#contract/problem.ts";
import type { SearchReply, searchPage } from "#contract/searches.ts";
import type { z } from "zod";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import type { Asked, BodyLimits } from "./authzen-answer.ts";
import { requireObject, type FacadeLimits } from "./parse-evaluations.ts";
import { MAX_RESULTS, type SearchKind } from "./parse-search.ts";
import { createItemSizes, sizeIssue } from "./item-size.ts";
import { guardContexts } from "#pdp-client/internal-context.ts";
import { withDefaults } from "#pdp-client/item-defaults.ts";
import { callerRefusals, type AskPoint, type PointAnswer, type PointCall } from "#pdp-client/ask-point.ts";
import { readEvaluation, readEvaluations, readSearch, type Semantic } from "#pdp-client/point-answers.ts";

/** What both kinds of questions need, whoever asks them. */
export interface FacadeParts extends Pick<GatewayParts, "identity" | "metrics"> {
  readonly askPoint: AskPoint;
  readonly pdpAudience: string;
  readonly limits: FacadeLimits & BodyLimits;
}

/** The facade's limit of an item holds whoever asks: the decision point has only one of the whole body. */
const guardSizes = (asked: readonly (readonly [path: string, item: unknown])[], limitBytes: number): void => {
  const sizeOf = createItemSizes();
  const errors = asked.flatMap(([path, item]) => {
    if (!isObject(item)) return [];
    const { subject, action, resource, context } = item;
    const properties = [subject, action, resource].map((entity) => (isObject(entity) ? entity["properties"] : undefined));
    const message = sizeIssue(sizeOf([...properties, context]), limitBytes);
    return message === undefined ? [] : [{ path, message }];
  });
  if (errors.length > 0) throw new Problem("invalid_request", { errors });
};

const semanticOf = (body: Readonly<Record<string, unknown>>): Semantic => {
  const sent = isObject(body["options"]) ? body["options"]["evaluations_semantic"] : undefined;
  return sent === "deny_on_first_deny" || sent === "permit_on_first_permit" ? sent : "execute_all";
};

/**
 * An enforcement point of its own: its bytes go to the decision point as they are, with a token in its own name, so that
 * its tenant and scopes bound the answer there. The answer is checked like any other and passed on in the standard's form.
 */
export const createTransparent = (parts: FacadeParts) => {
  const tokenOf = (caller: Caller): Promise<string> =>
    parts.identity.onBehalfOf(parts.pdpAudience, {
      sub: caller.sub,
      tenant: caller.tenant,
      scopes: caller.scopes,
      actors: caller.actors,
      amr: caller.amr,
      clientId: caller.clientId,
    });
  const pass = async <T>(caller: Caller, asked: Asked, to: Pick<PointCall<T>, "path" | "read">): Promise<PointAnswer<T>> =>
    parts.askPoint({
      ...asked.call,
      ...to,
      authorization: `Bearer ${await tokenOf(caller)}`,
      passes: callerRefusals,
      body: asked.bytes,
    });

  return {
    evaluate: async (form: "evaluation" | "evaluations", caller: Caller, asked: Asked): Promise<PointAnswer<unknown>> => {
      const body = requireObject(asked.value);
      const items = form === "evaluations" && Array.isArray(body["evaluations"]) ? (body["evaluations"] as readonly unknown[]) : [];
      if (items.length > parts.limits.items)
        throw new Problem("too_many_evaluations", { detail: `At most ${parts.limits.items} in one call.` });
      guardContexts(body);
      guardSizes(
        items.length === 0 ? [["", body]] : items.map((item, index) => [`/evaluations/${index}`, withDefaults(item, body)]),
        parts.limits.itemBytes,
      );
      if (items.length === 0) {
        const missing = ["subject", "action", "resource"].filter((name) => !isObject(body[name]));
        if (missing.length > 0)
          throw new Problem("invalid_request", { errors: missing.map((name) => ({ path: `/${name}`, message: "is missing" })) });
        // A batch without items is asked as what it is: the decision point alone says what else is wrong with it.
        const one = await pass(caller, asked, { path: `/access/v1/${form}`, read: readEvaluation });
        return { ...one, value: one.value[0] };
      }
      const read = readEvaluations(items.length, semanticOf(body));
      const many = await pass(caller, asked, { path: "/access/v1/evaluations", read });
      return { ...many, value: { evaluations: many.value } };
    },
    search: async (kind: SearchKind, caller: Caller, asked: Asked): Promise<PointAnswer<SearchReply>> => {
      const body = requireObject(asked.value);
      guardContexts(body);
      guardSizes([["", body]], parts.limits.itemBytes);
      const searched = kind === "action" ? undefined : body[kind];
      const type = isObject(searched) ? searched["type"] : undefined;
      const { limit } = (isObject(body["page"]) ? body["page"] : {}) as z.infer<typeof searchPage>;
      const read = readSearch(kind, typeof type === "string" ? type : undefined, typeof limit === "number" ? limit : MAX_RESULTS);
      return pass(caller, asked, { path: `/access/v1/search/${kind}`, read });
    },
  };
};
