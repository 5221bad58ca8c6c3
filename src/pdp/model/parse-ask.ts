import { isObject } from "#contract/is-object.ts";
import { shownCall, type ShownCall } from "#contract/access-requests.ts";
import type { z } from "zod";
import { action, resource, subject, type evaluationRequest } from "#contract/authzen.ts";
import { microFromUsd } from "#contract/ids.ts";
import { issueOfJson } from "#contract/json-members.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { issuesOf } from "#contract/shape-issues.ts";
import type { Caller } from "#authn/model/caller.ts";
import { guardContexts } from "#pdp-client/internal-context.ts";
import { vouchesNothing, type Ask, type Properties, type Vouched } from "#pdp/model/ask.ts";

/** Who asks, as far as reading the request depends on it. */
export interface Pep {
  readonly caller: Caller;
  /** A service of Sallyport that may vouch for circumstances. */
  readonly isInternal: boolean;
}

/** One for all, so that items without any are known to say the same. */
const nothing: Properties = Object.freeze({});
const objectOf = (value: unknown): Properties => (isObject(value) ? value : nothing);
const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
/** An id, or an object with one. */
const idOf = (value: unknown): string | undefined => textOf(isObject(value) ? value["id"] : value);
const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((item) => typeof item === "string") : []);

/** Control characters and lone surrogates: neither the graph nor the records can hold them. */
const isPlain = (text: string): boolean => text.isWellFormed() && !/\p{Cc}/u.test(text);

/** A tenant that nobody has is recorded as it was stated, and looked for by it. */
const MAX_TENANT = 256;

const agentsOf = (context: Properties): readonly string[] => {
  const { agent } = context;
  const ids = (Array.isArray(agent) ? agent : [agent]).map(idOf);
  return ids.filter((id) => id !== undefined);
};

const costOf = (properties: Properties, issues: Issue[]): number => {
  const cost = properties["cost_usd"];
  if (cost === undefined) return 0;
  try {
    return Number(microFromUsd(typeof cost === "number" ? cost : Number.NaN));
  } catch {
    issues.push({ path: "/resource/properties/cost_usd", message: "must be an amount in USD" });
    return 0;
  }
};

const callOf = (context: Properties, issues: Issue[]): ShownCall | undefined => {
  if (context["shown_call"] === undefined) return undefined;
  const parsed = shownCall.safeParse(context["shown_call"]);
  if (parsed.success) return parsed.data;
  issues.push(...issuesOf(parsed.error, ["context", "shown_call"]));
  return undefined;
};

const vouchedOf = (context: Properties, properties: Properties, issues: Issue[]): Vouched => {
  const scopes = textsOf(context["scopes"]);
  const could = context["could"] === true;
  const tool = objectOf(context["tool"]);
  const toolId = textOf(tool["id"]);
  const decisionId = textOf(tool["decision_id"]);
  const delegationId = idOf(context["delegation"]);
  const resourceTenant = textOf(properties["tenant"]);
  const approvalId = idOf(context["approval"]);
  const argumentsDigest = textOf(context["arguments_digest"]);
  const definitionDigest = textOf(context["definition_digest"]) ?? textOf(properties["definition_digest"]);
  const call = callOf(context, issues);
  return {
    could,
    ...(context["showing"] === true ? { showing: true } : {}),
    ...(context["background"] === true ? { background: true } : {}),
    toolsScope: scopes.includes("mcp.tools.discovery") || scopes.includes("mcp.tools.invoke"),
    assigned: properties["assigned"] === true,
    costMicro: costOf(properties, issues),
    approval: context["approval"] !== undefined,
    approvalId,
    argumentsDigest,
    definitionDigest,
    call,
    resourceTenant,
    delegationId,
    ...(toolId === undefined || (decisionId === undefined && !could)
      ? {}
      : { tool: { id: toolId, ...(decisionId === undefined ? {} : { decisionId }) } }),
  };
};

/**
 * What this enforcement point may not say of its questions; `body` is what it sent, `items` are its questions with their defaults.
 * Throws `reserved_context_member`.
 */
export const guardSaid = (pep: Pep, body: unknown, items: readonly unknown[]): void => {
  if (!pep.isInternal) return guardContexts(body);
  for (const item of items) {
    const { context, action: asked } = objectOf(item);
    const { name } = objectOf(asked);
    const isLooking = pep.caller.sub === "service:crud" && (name === "tools/list" || name === "use");
    if (objectOf(context)["could"] !== undefined && !isLooking)
      throw new Problem("reserved_context_member", {
        errors: [{ path: "/context/could", message: "is for lists of tools and the secrets they would use" }],
      });
  }
};

type Entities = Pick<z.output<typeof evaluationRequest>, "subject" | "action"> & { readonly resource: z.output<typeof resource> };

type Read<T> = { readonly data: T } | { readonly issues: readonly Issue[] };

/** A reading that looks at each object once, however many items have it from the same default. */
const once = <T>(readPart: (value: unknown) => T): ((value: unknown) => T) => {
  const known = new Map<object, T>();
  return (value) => {
    if (!isObject(value)) return readPart(value);
    const held = known.get(value) ?? readPart(value);
    known.set(value, held);
    return held;
  };
};

const partReader = <T>(name: string, schema: z.ZodType<T>): ((value: unknown) => Read<T>) =>
  once((value) => {
    if (value === undefined) return { issues: [{ path: `/${name}`, message: "is missing" }] };
    const parsed = schema.safeParse(value);
    return parsed.success ? { data: parsed.data } : { issues: issuesOf(parsed.error, [name]) };
  });

/** A context with what an ask has of it for itself. */
const contextOf = (context: Properties, pep: Pep) => {
  const agents = pep.isInternal ? agentsOf(context) : [];
  const supported = context["supported_obligations"];
  return {
    said: context,
    agents,
    issues: agents.every(isPlain) ? [] : [{ path: "/context/agent", message: "holds a control character or half a surrogate pair" }],
    ui: objectOf(context["ui"]),
    supported: pep.isInternal && supported === undefined ? ("all" as const) : new Set(textsOf(supported)),
  };
};
type ReadContext = ReturnType<typeof contextOf>;

/**
 * Reads the items of one call: each as an ask, or what is wrong with it. Cost: one walk of what was sent, because what items have
 * from the same default is read once, and is one object in all of their asks.
 */
export const createAskParser = (pep: Pep): ((sent: unknown) => Ask | readonly Issue[]) => {
  const readSubject = partReader("subject", subject);
  const readResource = partReader("resource", resource);
  const readAction = partReader("action", action);
  const readContext = once((value): ReadContext => {
    const context = contextOf(objectOf(value), pep);
    const wrongs = [
      value === undefined || isObject(value) ? undefined : "must be an object",
      isObject(value) ? issueOfJson(value) : undefined,
    ];
    const unfit = wrongs.flatMap((message) => (message === undefined ? [] : [{ path: "/context", message }]));
    return { ...context, issues: [...unfit, ...context.issues] };
  });
  return (sent) => {
    if (!isObject(sent)) return [{ path: "", message: "must be an object" }];
    const issues: Issue[] = [];
    const take = <T>(read: Read<T>): T | undefined => {
      if ("data" in read) return read.data;
      issues.push(...read.issues);
      return undefined;
    };
    const entities = {
      subject: take(readSubject(sent["subject"])),
      resource: take(readResource(sent["resource"])),
      action: take(readAction(sent["action"])),
    };
    if (entities.resource !== undefined && entities.resource.id === undefined) issues.push({ path: "/resource/id", message: "is missing" });
    return askOf(entities, readContext(sent["context"]), pep, issues);
  };
};

/** A single question whose body has the contract's form, as an ask, or what is wrong with it all the same. */
export const askOfBody = (
  { subject: who, action: how, resource: what, context = {} }: z.output<typeof evaluationRequest>,
  pep: Pep,
): Ask | readonly Issue[] => askOf({ subject: who, action: how, resource: what }, contextOf(context, pep), pep, []);

const askOf = (
  { subject: who, resource: what, action: how }: { readonly [K in keyof Entities]: Entities[K] | undefined },
  context: ReadContext,
  pep: Pep,
  issues: Issue[],
): Ask | readonly Issue[] => {
  issues.push(...context.issues);
  const stated = who?.properties ?? nothing;
  const tenant = textOf(stated["tenant"]);
  if (tenant !== undefined && (tenant.length > MAX_TENANT || !isPlain(tenant)))
    issues.push({ path: "/subject/properties/tenant", message: `is longer than ${MAX_TENANT} or holds a control character` });
  const properties = what?.properties ?? nothing;
  const vouched = pep.isInternal ? vouchedOf(context.said, properties, issues) : vouchesNothing;
  if (issues.length > 0 || who === undefined || what?.id === undefined || how === undefined) return issues;

  const acr = textOf(stated["acr"]);
  const authTime = stated["auth_time"];
  return {
    pep: pep.caller.sub,
    bound: pep.caller.tenant,
    subject: { type: who.type, id: who.id, tenant },
    agents: context.agents,
    action: how.name,
    resource: { type: what.type, id: what.id },
    assurance: {
      acr,
      ...(typeof authTime === "number" && Number.isFinite(authTime) ? { authTime } : {}),
    },
    vouched,
    props: properties,
    claimed: pep.isInternal ? objectOf(context.said["claimed"]) : nothing,
    ui: context.ui,
    ...(pep.isInternal ? {} : { said: { subject: stated, action: how.properties ?? nothing } }),
    supported: context.supported,
  };
};

export const isAsk = (parsed: Ask | readonly Issue[]): parsed is Ask => !Array.isArray(parsed);
