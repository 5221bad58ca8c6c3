import { shownCall, type ShownCall } from "#contract/access-requests.ts";
import type { z } from "zod";
import { action, resource, subject, type evaluationRequest } from "#contract/authzen.ts";
import { microFromUsd } from "#contract/ids.ts";
import { faultOfJson } from "#contract/json-members.ts";
import { Problem, type Fault } from "#contract/problem.ts";
import type { Caller } from "#authn/caller.ts";
import type { Ask, Properties, Vouched } from "#pdp/decision-point.ts";

/** Who asks, as far as reading the request depends on it. */
export interface Pep {
  readonly caller: Caller;
  /** A service of the house that may vouch for circumstances. */
  readonly isHouse: boolean;
}

/** Members that only services of the house may send: from anybody else they would widen the answer, or silently not. */
const reserved = ["could", "agent", "approval", "tool", "facts"] as const;

const isObject = (value: unknown): value is Properties => typeof value === "object" && value !== null && !Array.isArray(value);
const objectOf = (value: unknown): Properties => (isObject(value) ? value : {});
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

const costOf = (properties: Properties, faults: Fault[]): number => {
  const cost = properties["cost_usd"];
  if (cost === undefined) return 0;
  try {
    return Number(microFromUsd(typeof cost === "number" ? cost : Number.NaN));
  } catch {
    faults.push({ path: "/resource/properties/cost_usd", message: "must be an amount in USD" });
    return 0;
  }
};

const callOf = (context: Properties, faults: Fault[]): ShownCall | undefined => {
  if (context["shown_call"] === undefined) return undefined;
  const parsed = shownCall.safeParse(context["shown_call"]);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues)
    faults.push({ path: `/context/shown_call/${issue.path.map(String).join("/")}`, message: issue.message });
  return undefined;
};

const vouchedOf = (context: Properties, properties: Properties, faults: Fault[]): Vouched => {
  const scopes = textsOf(context["scopes"]);
  const tool = objectOf(context["tool"]);
  const toolId = textOf(tool["id"]);
  const decisionId = textOf(tool["decision_id"]);
  const delegationId = idOf(context["delegation"]);
  const resourceTenant = textOf(properties["tenant"]);
  const approvalId = idOf(context["approval"]);
  const argumentsDigest = textOf(context["arguments_digest"]);
  const definitionDigest = textOf(context["definition_digest"]) ?? textOf(properties["definition_digest"]);
  const call = callOf(context, faults);
  return {
    could: context["could"] === true,
    ...(context["showing"] === true ? { showing: true } : {}),
    toolsScope: scopes.includes("mcp.tools.discovery") || scopes.includes("mcp.tools.invoke"),
    assigned: properties["assigned"] === true,
    costMicro: costOf(properties, faults),
    approval: context["approval"] !== undefined,
    ...(approvalId === undefined ? {} : { approvalId }),
    ...(argumentsDigest === undefined ? {} : { argumentsDigest }),
    ...(definitionDigest === undefined ? {} : { definitionDigest }),
    ...(call === undefined ? {} : { call }),
    ...(resourceTenant === undefined ? {} : { resourceTenant }),
    ...(delegationId === undefined ? {} : { delegationId }),
    ...(toolId === undefined || decisionId === undefined ? {} : { tool: { id: toolId, decisionId } }),
  };
};

const vouchesNothing: Vouched = { could: false, toolsScope: false, assigned: false, costMicro: 0, approval: false };

/** Context members that this enforcement point may not send. Throws `reserved_context_member`: dropping one could widen the answer. */
export const guardContext = (pep: Pep, contexts: readonly unknown[], actions: readonly unknown[]): void => {
  for (const [index, sent] of contexts.entries()) {
    const context = objectOf(sent);
    const used = reserved.filter((name) => context[name] !== undefined);
    const isListing = pep.caller.sub === "service:crud" && objectOf(actions[index])["name"] === "tools/list";
    const refused = pep.isHouse ? used.filter((name) => name === "could" && !isListing) : used;
    if (refused.length > 0) {
      throw new Problem("reserved_context_member", {
        errors: refused.map((name) => ({ path: `/context/${name}`, message: "may only be set by the house" })),
      });
    }
  }
};

type Entities = Pick<z.output<typeof evaluationRequest>, "subject" | "action"> & { readonly resource: z.output<typeof resource> };

/** One item of the protocol as an ask, or what is wrong with it. */
export const parseAsk = (sent: unknown, pep: Pep): Ask | readonly Fault[] => {
  if (!isObject(sent)) return [{ path: "", message: "must be an object" }];
  const faults: Fault[] = [];
  const read = <T>(
    name: string,
    schema: {
      safeParse(
        value: unknown,
      ): { success: true; data: T } | { success: false; error: { issues: readonly { path: PropertyKey[]; message: string }[] } };
    },
  ): T | undefined => {
    if (sent[name] === undefined) {
      faults.push({ path: `/${name}`, message: "is missing" });
      return undefined;
    }
    const parsed = schema.safeParse(sent[name]);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues)
      faults.push({ path: `/${[name, ...issue.path.map(String)].join("/")}`, message: issue.message });
    return undefined;
  };
  const entities = { subject: read("subject", subject), resource: read("resource", resource), action: read("action", action) };
  if (entities.resource !== undefined && entities.resource.id === undefined) faults.push({ path: "/resource/id", message: "is missing" });
  if (sent["context"] !== undefined && !isObject(sent["context"])) faults.push({ path: "/context", message: "must be an object" });
  const context = objectOf(sent["context"]);
  const unfit = faultOfJson(context);
  if (unfit !== undefined) faults.push({ path: "/context", message: unfit });
  return askOf(entities, context, pep, faults);
};

/** A single question whose body has the contract's form, as an ask, or what is wrong with it all the same. */
export const askOfBody = (
  { subject: who, action: how, resource: what, context = {} }: z.output<typeof evaluationRequest>,
  pep: Pep,
): Ask | readonly Fault[] => askOf({ subject: who, action: how, resource: what }, context, pep, []);

const askOf = (
  { subject: who, resource: what, action: how }: { readonly [K in keyof Entities]: Entities[K] | undefined },
  context: Properties,
  pep: Pep,
  faults: Fault[],
): Ask | readonly Fault[] => {
  for (const [path, id] of [
    ["/subject/id", who?.id],
    ["/resource/id", what?.id],
  ] as const) {
    if (id !== undefined && !isPlain(id)) faults.push({ path, message: "holds a control character or half a surrogate pair" });
  }
  const stated = who?.properties ?? {};
  const tenant = textOf(stated["tenant"]);
  if (tenant !== undefined && (tenant.length > MAX_TENANT || !isPlain(tenant)))
    faults.push({ path: "/subject/properties/tenant", message: `is longer than ${MAX_TENANT} or holds a control character` });
  const agents = pep.isHouse ? agentsOf(context) : [];
  if (!agents.every(isPlain)) faults.push({ path: "/context/agent", message: "holds a control character or half a surrogate pair" });
  const properties = what?.properties ?? {};
  const vouched = pep.isHouse ? vouchedOf(context, properties, faults) : vouchesNothing;
  if (faults.length > 0 || who === undefined || what?.id === undefined || how === undefined) return faults;

  const acr = textOf(stated["acr"]);
  const authTime = stated["auth_time"];
  const supported = context["supported_obligations"];
  return {
    pep: pep.caller.sub,
    bound: pep.caller.tenant,
    subject: { type: who.type, id: who.id, ...(tenant === undefined ? {} : { tenant }) },
    agents,
    action: how.name,
    resource: { type: what.type, id: what.id },
    assurance: {
      ...(acr === undefined ? {} : { acr }),
      ...(typeof authTime === "number" && Number.isFinite(authTime) ? { authTime } : {}),
    },
    vouched,
    props: properties,
    claimed: pep.isHouse ? objectOf(context["claimed"]) : {},
    ui: objectOf(context["ui"]),
    ...(pep.isHouse ? {} : { said: { subject: stated, action: how.properties ?? {} } }),
    supported: pep.isHouse && supported === undefined ? "all" : new Set(textsOf(supported)),
  };
};

export const isAsk = (parsed: Ask | readonly Fault[]): parsed is Ask => !Array.isArray(parsed);
