import type { Caller } from "#authn/caller.ts";
import type { HouseIdentity } from "#authn/house-identity.ts";
import { Problem } from "#contract/problem.ts";
import type { SearchReply, searchPage } from "#contract/searches.ts";
import type { z } from "zod";
import type { Inbound } from "#gateway/front-door/inbound.ts";
import { guardContentType } from "#gateway/read-body.ts";
import type { Recognised } from "#gateway/recognise.ts";
import { sizeFault } from "./item-size.ts";
import { withDefaults } from "./parse-evaluations.ts";
import { callerRefusals, type AskPoint, type PointAnswer, type PointCall } from "#pdp/ask-point/ask-point.ts";
import { readEvaluation, readEvaluations, readSearch, type Semantic } from "#pdp/ask-point/point-answers.ts";

/** What would widen an answer if it were believed: only the house's own services may say it. */
const reserved = ["could", "agent", "approval", "tool", "facts"] as const;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const guardContexts = (body: Readonly<Record<string, unknown>>, items: readonly unknown[]): void => {
  const contexts = [body["context"], ...items.map((item) => (isObject(item) ? item["context"] : undefined))];
  const used = reserved.filter((name) => contexts.some((context) => isObject(context) && Object.hasOwn(context, name)));
  if (used.length === 0) return;
  throw new Problem("reserved_context_member", {
    errors: used.map((name) => ({ path: `/context/${name}`, message: "may only be set by the house" })),
  });
};

/** Enforcement points of their own speak the standard to the decision point, through the gateway. */
export const isEnforcementPoint = (who: Recognised): who is Extract<Recognised, { readonly kind: "bearer" }> =>
  who.kind === "bearer" && who.caller.scopes.has("authzen.pep");

/** What is not sent as JSON is 415 to a browser; to an enforcement point it is 400, as at the decision point itself. */
export const guardJson = (inbound: Inbound, who: Recognised): void => {
  try {
    guardContentType(inbound, ["application/json"]);
  } catch (error) {
    if (!isEnforcementPoint(who)) throw error;
    throw new Problem("invalid_request", { errors: [{ path: "header.content-type", message: "must be application/json" }] });
  }
};

export interface TransparentParts {
  readonly askPoint: AskPoint;
  readonly identity: HouseIdentity;
  readonly pdpAudience: string;
  readonly limits: { readonly items: number; readonly itemBytes: number };
}

type Call = Pick<PointCall<unknown>, "correlationId" | "requestId" | "signal">;

/** What the client sent: read, and byte for byte. */
export interface SentBody {
  readonly value: unknown;
  readonly bytes: Uint8Array;
}

const requireObject = (value: unknown): Readonly<Record<string, unknown>> => {
  if (isObject(value)) return value;
  throw new Problem("invalid_request", { errors: [{ path: "", message: "must be an object" }] });
};

/** The facade's limit of an item holds whoever asks: the decision point has only one of the whole body. */
const guardSizes = (asked: readonly (readonly [path: string, item: unknown])[], limitBytes: number): void => {
  const errors = asked.flatMap(([path, item]) => {
    if (!isObject(item)) return [];
    const { subject, action, resource, context } = item;
    const properties = [subject, action, resource].map((entity) => (isObject(entity) ? entity["properties"] : undefined));
    const message = sizeFault([...properties, context], limitBytes);
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
export const createTransparent = (parts: TransparentParts) => {
  const tokenOf = (caller: Caller): Promise<string> =>
    parts.identity.onBehalfOf(parts.pdpAudience, {
      sub: caller.sub,
      tenant: caller.tenant,
      scopes: caller.scopes,
      actors: caller.actors,
      amr: caller.amr,
      ...(caller.clientId === undefined ? {} : { clientId: caller.clientId }),
    });
  const pass = async <T>(caller: Caller, sent: SentBody, call: Call & Pick<PointCall<T>, "path" | "read">): Promise<PointAnswer<T>> =>
    parts.askPoint({
      ...call,
      authorization: `Bearer ${await tokenOf(caller)}`,
      passes: callerRefusals,
      body: new Uint8Array(sent.bytes),
    });

  return {
    evaluate: async (form: "evaluation" | "evaluations", caller: Caller, sent: SentBody, call: Call): Promise<PointAnswer<unknown>> => {
      const body = requireObject(sent.value);
      const items = form === "evaluations" && Array.isArray(body["evaluations"]) ? (body["evaluations"] as readonly unknown[]) : [];
      if (items.length > parts.limits.items)
        throw new Problem("too_many_evaluations", { detail: `At most ${parts.limits.items} in one call.` });
      guardContexts(body, items);
      guardSizes(
        items.length === 0 ? [["", body]] : items.map((item, index) => [`/evaluations/${index}`, withDefaults(item, body)]),
        parts.limits.itemBytes,
      );
      if (items.length === 0) {
        const missing = ["subject", "action", "resource"].filter((name) => !isObject(body[name]));
        if (missing.length > 0)
          throw new Problem("invalid_request", { errors: missing.map((name) => ({ path: `/${name}`, message: "is missing" })) });
        // A batch without items is asked as what it is: the decision point alone says what else is wrong with it.
        const one = await pass(caller, sent, { ...call, path: `/access/v1/${form}`, read: readEvaluation });
        return { ...one, value: one.value[0] };
      }
      const read = readEvaluations(items.length, semanticOf(body));
      const many = await pass(caller, sent, { ...call, path: "/access/v1/evaluations", read });
      return { ...many, value: { evaluations: many.value } };
    },
    search: async (
      kind: "subject" | "resource" | "action",
      caller: Caller,
      sent: SentBody,
      call: Call,
    ): Promise<PointAnswer<SearchReply>> => {
      const body = requireObject(sent.value);
      guardContexts(body, []);
      guardSizes([["", body]], parts.limits.itemBytes);
      const searched = kind === "action" ? undefined : body[kind];
      const type = isObject(searched) ? searched["type"] : undefined;
      const { limit } = (isObject(body["page"]) ? body["page"] : {}) as z.infer<typeof searchPage>;
      const read = readSearch(kind, typeof type === "string" ? type : undefined, typeof limit === "number" ? limit : MOST_RESULTS);
      return pass(caller, sent, { ...call, path: `/access/v1/search/${kind}`, read });
    },
  };
};

/** A page without a limit has as many as its token says, which only the decision point can read. */
const MOST_RESULTS = 1000;
