import type { ShownCall } from "#contract/access-requests.ts";
import type { Obligation, Reason, semantics } from "#contract/authzen.ts";
import type { Facts } from "#contract/facts.ts";
import type { z } from "zod";
import type { Template } from "./bundle/named-files.ts";
import type { Question } from "./question.ts";
import type { ActBinding } from "./requests/act-binding.ts";

/** One question as the protocol gives it: who asks for whom, for what, under which circumstances. */
export interface Ask {
  /** Client id of the enforcement point. */
  readonly pep: string;
  /** Tenant that the enforcement point's token is bound to; `*` for services of the house. */
  readonly bound: string;
  readonly subject: { readonly type: string; readonly id: string; readonly tenant?: string };
  /** Agents that act for the subject, outermost first. */
  readonly agents: readonly string[];
  readonly action: string;
  readonly resource: { readonly type: string; readonly id: string };
  readonly assurance: { readonly acr?: string; readonly authTime?: number };
  /** Only services of the house may vouch for these. */
  readonly vouched: Vouched;
  /** Properties of the resource as the enforcement point states them. */
  readonly props: Properties;
  /** Taken from what the subject sent. */
  readonly claimed: Properties;
  readonly ui: Properties;
  /** What a foreign enforcement point says of the subject and of the action; only schemas of their own have a place for it. */
  readonly said?: { readonly subject?: Properties; readonly action?: Properties };
  /** Obligation types and kinds that the enforcement point can meet; `all` for services of the house. */
  readonly supported: "all" | ReadonlySet<string>;
}

export type Properties = Readonly<Record<string, unknown>>;

export interface Vouched {
  /** Could any call of it be permitted: assurance, approval and limits taken as met. For tool lists. */
  readonly could: boolean;
  /** Asked beside what somebody does, to know how much of the answer to show. */
  readonly showing?: boolean;
  readonly toolsScope: boolean;
  readonly assigned: boolean;
  /** Price of the call, micro-USD. */
  readonly costMicro: number;
  /** Tenant of a resource that is not in the graph. */
  readonly resourceTenant?: string;
  readonly delegationId?: string;
  /** The tool call on whose behalf a secret is used. */
  readonly tool?: { readonly id: string; readonly decisionId: string };
  /** An approval was named. */
  readonly approval: boolean;
  /** Its id, if it has the form of one. */
  readonly approvalId?: string;
  /** Digests of a tool call's arguments and of the tool's definition, which an approval is bound to. */
  readonly argumentsDigest?: string;
  readonly definitionDigest?: string;
  /** The same call as a second person may see it; absent where it is too large for that. Recorded nowhere. */
  readonly call?: ShownCall;
}

/** Circumstances that were put before the policies, all of them made by the house; recorded with the decision. */
export interface Inputs {
  readonly mfa: boolean;
  readonly approved: boolean;
  readonly could: boolean;
  readonly tools_scope: boolean;
  readonly assigned: boolean;
  readonly cost_micro: number;
  readonly tool?: { readonly id: string; readonly system: string; readonly permitted: boolean };
}

/** One answer, with all that a record and an explanation need. */
export interface Verdict {
  readonly ask: Ask;
  readonly decision: boolean;
  /** Of a denial. */
  readonly reason?: Reason;
  readonly obligations: readonly Obligation[];
  /** Ids of the policies that decided; none when nothing permitted. */
  readonly policies: readonly string[];
  /** Policies that failed to evaluate; any makes it a denial. */
  readonly errors: readonly string[];
  /** An approval would permit it. */
  readonly requestable: boolean;
  /** Of a denial that may be asked to be lifted: by which template, and what it would hold for. */
  readonly request?: { readonly name: string; readonly template: Template; readonly binding: ActBinding; readonly call?: ShownCall };
  /** The approval without which it would have been denied. */
  readonly approval?: { readonly id: string; readonly singleUse: boolean };
  /** Tenant that it was decided in; `undefined` when the subject could not be placed. */
  readonly tenant: string | undefined;
  readonly facts: Facts | undefined;
  readonly inputs: Inputs;
  /** What was put before the policies; absent where none was asked. */
  readonly question?: Question;
  /** The same was asked before, under the same policies and the same graph. */
  readonly cached?: boolean;
}

export interface Decided {
  readonly policyVersion: string;
  readonly graphVersion: number | undefined;
  /** In the order asked; shorter after a short circuit. */
  readonly verdicts: readonly Verdict[];
}

export type Semantic = z.infer<typeof semantics>;

/** What decides. The embedded engine is one; any AuthZEN server could be another. */
export interface DecisionPoint {
  evaluate(ask: Ask): Promise<Decided>;
  /** All of a batch see one snapshot of the facts. Throws `membership_unavailable`, `graph_unavailable`, `engine_failed`. */
  evaluateMany(asks: readonly Ask[], semantic: Semantic): Promise<Decided>;
  describe(): { readonly kind: string; readonly policyVersion: string; readonly obligations: readonly string[] };
  /** Parts that do not answer; empty = ready. */
  ready(): Promise<readonly string[]>;
}
