import type { Caller } from "#authn/caller.ts";
import type { HouseIdentity } from "#authn/house-identity.ts";
import { Problem } from "#contract/problem.ts";
import type { FacadeForm } from "./facade.ts";
import type { createPointAsker, PointCall } from "./ask-decision-point.ts";

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

/**
 * An enforcement point of its own: its bytes go to the decision point as they are, with a token in its own name, so that
 * its tenant bounds the answer there. The answer is checked like any other and passed on in the standard's form.
 */
export const passThrough = async (
  form: FacadeForm,
  body: unknown,
  bytes: Uint8Array,
  caller: Caller,
  call: Omit<PointCall, "path" | "body" | "wanted" | "authorization">,
  parts: {
    readonly askPoint: ReturnType<typeof createPointAsker>;
    readonly identity: HouseIdentity;
    readonly pdpAudience: string;
    readonly limits: { readonly items: number };
  },
): Promise<{ readonly value: unknown; readonly headers: Readonly<Record<string, string>> }> => {
  if (!isObject(body)) throw new Problem("invalid_request", { errors: [{ path: "", message: "must be an object" }] });
  const evaluations = form === "evaluations" && Array.isArray(body["evaluations"]) ? (body["evaluations"] as readonly unknown[]) : [];
  if (evaluations.length > parts.limits.items)
    throw new Problem("too_many_evaluations", { detail: `At most ${parts.limits.items} in one call.` });
  guardContexts(body, evaluations);
  const isMany = evaluations.length > 0;
  if (!isMany && !isObject(body["subject"]))
    throw new Problem("invalid_request", { errors: [{ path: "/subject", message: "is missing" }] });
  const semantic = isObject(body["options"]) ? body["options"]["evaluations_semantic"] : undefined;
  const authorization = `Bearer ${await parts.identity.onBehalfOf(parts.pdpAudience, {
    sub: caller.sub,
    tenant: caller.tenant,
    scopes: caller.scopes,
    actors: caller.actors,
    amr: caller.amr,
    ...(caller.clientId === undefined ? {} : { clientId: caller.clientId }),
  })}`;
  const answer = await parts.askPoint({
    ...call,
    authorization,
    passRefusals: true,
    path: isMany ? "/access/v1/evaluations" : "/access/v1/evaluation",
    body: new Uint8Array(bytes),
    wanted: { count: isMany ? evaluations.length : 1, mayBeFewer: semantic !== undefined && semantic !== "execute_all" },
  });
  return { value: isMany ? { evaluations: answer.items } : answer.items[0], headers: answer.headers };
};
