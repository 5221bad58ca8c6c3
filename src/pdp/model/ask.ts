import type { ShownCall } from "#contract/access-requests.ts";

/** One question as the protocol gives it: who asks for whom, for what, under which circumstances. */
export interface Ask {
  /** Client id of the enforcement point. */
  readonly pep: string;
  /** Tenant that the enforcement point's token is bound to; `*` for services of Sallyport. */
  readonly bound: string;
  readonly subject: { readonly type: string; readonly id: string; readonly tenant?: string };
  /** Agents that act for the subject, outermost first. */
  readonly agents: readonly string[];
  readonly action: string;
  readonly resource: { readonly type: string; readonly id: string };
  readonly assurance: { readonly acr?: string; readonly authTime?: number };
  /** Only services of Sallyport may vouch for these. */
  readonly vouched: Vouched;
  /** Properties of the resource as the enforcement point states them. */
  readonly props: Properties;
  /** Taken from what the subject sent. */
  readonly claimed: Properties;
  readonly ui: Properties;
  /** What a foreign enforcement point says of the subject and of the action; only schemas of their own have a place for it. */
  readonly said?: { readonly subject?: Properties; readonly action?: Properties };
  /** Obligation types and kinds that the enforcement point can meet; `all` for services of Sallyport. */
  readonly supported: "all" | ReadonlySet<string>;
}

export type Properties = Readonly<Record<string, unknown>>;

export interface Vouched {
  /** Could any call of it be permitted: assurance, approval and limits taken as met, and of a secret the call. Only the tool server asks so. */
  readonly could: boolean;
  /** Asked beside what somebody does, to know how much of the answer to show. */
  readonly showing?: boolean;
  /** Asked by Sallyport itself, because time went on and not because somebody did something. */
  readonly background?: boolean;
  readonly toolsScope: boolean;
  readonly assigned: boolean;
  /** Price of the call, micro-USD. */
  readonly costMicro: number;
  /** Tenant of a resource that is not in the graph. */
  readonly resourceTenant?: string;
  readonly delegationId?: string;
  /** The tool call on whose behalf a secret is used; with `could` no call was decided. */
  readonly tool?: { readonly id: string; readonly decisionId?: string };
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

export const vouchesNothing: Vouched = { could: false, toolsScope: false, assigned: false, costMicro: 0, approval: false };

/** A question that Sallyport itself asks: nothing comes with it that a client sent, and whatever it obliges to can be met. */
export const internalAsk = (asked: Pick<Ask, "pep" | "bound" | "subject" | "agents" | "action" | "resource"> & Partial<Ask>): Ask => ({
  assurance: {},
  vouched: vouchesNothing,
  props: {},
  claimed: {},
  ui: {},
  supported: "all",
  ...asked,
});

/** Circumstances that were put before the policies, all of them made by Sallyport; recorded with the decision. */
export interface Inputs {
  readonly mfa: boolean;
  readonly approved: boolean;
  readonly could: boolean;
  readonly tools_scope: boolean;
  readonly assigned: boolean;
  readonly cost_micro: number;
  readonly tool?: { readonly id: string; readonly system: string; readonly permitted: boolean };
}
