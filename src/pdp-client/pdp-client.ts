import { agentsAmong } from "#authn/model/actor-kind.ts";
import { Problem } from "#contract/problem.ts";
import { evaluate, evaluateMany, type EvaluationReply } from "#contract/authzen.ts";
import type { ReplyOf, SentBody } from "#contract/endpoint.ts";
import type { Meetable } from "#contract/obligations.ts";
import { replayTools } from "#contract/replay-tools.ts";
import { whatIf } from "#contract/what-if.ts";
import { ask, type Peer } from "#contract/ask.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { ServiceIdentity } from "#authn/keys/service-identity.ts";
import { boundDecisionPoint } from "./bounded-decision-point.ts";
import type { InternalContext } from "./internal-context.ts";
import { whyRefused, type Decision, type RefusalParts } from "./obligations.ts";

/** One question to the decision point, in the words of a module. */
export interface EvaluationQuery {
  /** Resource type and action of the vocabulary (`pairs.ts`), e.g. `delegations`, `create`. */
  readonly type: string;
  readonly action: string;
  readonly id?: string;
  /** Facts the module itself vouches for; anything from a body goes to `claimed`. */
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly claimed?: Readonly<Record<string, unknown>>;
  readonly context?: InternalContext;
  /** What is met here, beside a sign-in, if the permit obliges to it; nothing unless given. */
  readonly meets?: readonly Meetable[];
}

/** The little of a caller that a decision needs; a session at the gateway is one too. */
export type Principal = Pick<Caller, "sub" | "tenant" | "agent" | "acr" | "amr" | "authTime" | "scopes" | "clientId"> &
  Partial<Pick<Caller, "actors">>;

/** What `whyRefused` is told by the module; the rest it has from the decider. `publicOrigin` unless it was reached under another. */
export type RefusalHere = Pick<RefusalParts, "meets" | "signIn"> & { readonly publicOrigin?: string | undefined };

export interface PdpClient {
  decide(principal: Principal, ask: EvaluationQuery, correlationId: string): Promise<Decision>;
  /** In order; with `deny_on_first_deny` the answer stops after the first denial. */
  decideMany(
    principal: Principal,
    asks: readonly EvaluationQuery[],
    correlationId: string,
    semantic?: "execute_all" | "deny_on_first_deny",
  ): Promise<readonly Decision[]>;
  /**
   * Why a decision does not open what was asked for (`whyRefused`), as `require` throws it; `undefined`: it does. `decision` alone says
   * too little: a permit may oblige to a sign-in that the caller does not have, or to what `meets` does not name.
   */
  refusal(principal: Pick<Principal, "acr" | "authTime">, decided: Decision, more?: RefusalHere): Problem | undefined;
  /** Of these `<type>/<action>` those that the change would permit and that are not permitted now; nothing is written or recorded. */
  gained(
    principal: Pick<Principal, "sub" | "tenant" | "agent">,
    ask: { readonly edges: NonNullable<SentBody<typeof whatIf>["changes"]>["edges"]; readonly actions: readonly string[] },
    correlationId: string,
  ): Promise<ReadonlySet<string>>;
  /**
   * What recorded calls of tools would be, were the tools others; nothing is written or recorded. `undefined`: a decision point that is not
   * ours cannot say.
   */
  replayTools(asked: SentBody<typeof replayTools>, correlationId: string): Promise<ReplyOf<typeof replayTools> | undefined>;
  /** Throws `access_denied` (403) or `step_up_required` (401) unless permitted. */
  require(principal: Principal, ask: EvaluationQuery, correlationId: string): Promise<Decision>;
}

/** What the module says of the client itself; the client's id is added to it. */
const clientOf = (context: EvaluationQuery["context"]): object => {
  const client = context?.["client"];
  return typeof client === "object" && client !== null ? client : {};
};

/**
 * Which agent acts, as `context.agent` says it: of several that act one for another all, outermost first, so that each hop's delegation
 * counts and not the last one's alone.
 */
export const actingAgents = ({
  agent,
  actors = [],
}: Pick<Principal, "agent" | "actors">): { readonly agent?: string | readonly string[] } => {
  const chain = agentsAmong(actors);
  if (chain.length > 1) return { agent: chain };
  return agent === undefined ? {} : { agent };
};

/** The whole evaluation request of a question, as it goes to the decision point. */
export const evaluationOf = (principal: Principal, item: EvaluationQuery, correlationId: string) => ({
  subject: {
    type: "identity",
    id: principal.sub,
    properties: { tenant: principal.tenant, acr: principal.acr, amr: [...principal.amr], auth_time: principal.authTime },
  },
  action: { name: item.action },
  resource: { type: item.type, id: item.id ?? "*", properties: item.properties },
  context: {
    ...item.context,
    ...actingAgents(principal),
    ...(principal.clientId === undefined ? {} : { client: { ...clientOf(item.context), client_id: principal.clientId } }),
    claimed: item.claimed,
    scopes: [...principal.scopes],
    supported_obligations: ["step-up", ...(item.meets ?? [])],
    correlation_id: correlationId,
  },
});

const read = (reply: EvaluationReply): Decision => {
  const id = reply.context?.decision_id;
  if (id === undefined || reply.context?.error !== undefined) throw new Problem("decision_unavailable", { cause: reply.context?.error });
  return {
    decision: reply.decision,
    decisionId: id,
    reason: reply.context?.reason,
    obligations: reply.context?.obligations ?? [],
    moment: reply.context?.moment,
    policyVersion: reply.context?.policy_version,
    accessRequest: reply.context?.access_request,
  };
};

/**
 * A client of the pdp service for the modules above it. Anything but a clean answer, whole and in time, is `decision_unavailable`:
 * fail closed.
 */
export const createPdpClient = (parts: {
  readonly pdp: Peer;
  readonly pdpAudience: string;
  readonly identity: ServiceIdentity;
  readonly publicOrigin: string;
  readonly now: () => Date;
  /** For a whole answer. */
  readonly timeoutMs: number;
}): PdpClient => {
  const pdp = boundDecisionPoint(parts.pdp, parts.timeoutMs);
  const unavailable = (cause: unknown): never => {
    throw new Problem("decision_unavailable", { cause });
  };
  const headers = async (correlationId: string) => ({
    authorization: `Bearer ${await parts.identity.asService(parts.pdpAudience, ["authzen.pep"]).catch(unavailable)}`,
    "x-correlation-id": correlationId,
  });
  const decideMany: PdpClient["decideMany"] = async (principal, asks, correlationId, semantic = "execute_all") => {
    if (asks.length === 0) return [];
    const reply = await ask(pdp, evaluateMany, {
      body: {
        evaluations: asks.map((item) => evaluationOf(principal, item, correlationId)),
        options: { evaluations_semantic: semantic },
      },
      headers: await headers(correlationId),
    }).catch(unavailable);
    const items = "evaluations" in reply ? reply.evaluations : undefined;
    if (items === undefined || items.length > asks.length || (semantic === "execute_all" && items.length !== asks.length))
      return unavailable("length");
    return items.map(read);
  };
  const decide: PdpClient["decide"] = async (principal, item, correlationId) =>
    read(
      await ask(pdp, evaluate, {
        body: evaluationOf(principal, item, correlationId),
        headers: await headers(correlationId),
      }).catch(unavailable),
    );
  /** What only our own decision point can say; `undefined`: it is another's. */
  const ifOurs = <T>(reply: Promise<T>): Promise<T | undefined> =>
    reply.catch((cause: unknown) => (cause instanceof Problem && cause.code === "not_supported" ? undefined : unavailable(cause)));
  const refusal: PdpClient["refusal"] = (principal, decided, { publicOrigin = parts.publicOrigin, ...here } = {}) =>
    whyRefused(decided, principal, { ...here, publicOrigin, now: parts.now() });
  return {
    decide,
    decideMany,
    refusal,
    gained: async (principal, { edges, actions }, correlationId) => {
      const body = {
        tenant_id: principal.tenant,
        subject_id: principal.sub,
        agent_id: principal.agent,
        changes: { edges },
        actions: [...actions],
      };
      const reply = await ifOurs(ask(pdp, whatIf, { body, headers: await headers(correlationId) }));
      // What another decision point would permit is not known: nothing is gained.
      return new Set(reply?.gained.map(({ resource, action }) => `${resource.type}/${action}`));
    },
    replayTools: async (asked, correlationId) => ifOurs(ask(pdp, replayTools, { body: asked, headers: await headers(correlationId) })),
    require: async (principal, item, correlationId) => {
      const decided = await decide(principal, item, correlationId);
      const refused = refusal(principal, decided, { meets: item.meets });
      if (refused !== undefined) throw refused;
      return decided;
    },
  };
};
