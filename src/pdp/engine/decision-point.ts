import type { ShownCall } from "#contract/access-requests.ts";
import type { Obligation, Reason } from "#contract/authzen.ts";
import type { Facts } from "#contract/facts.ts";
import type { Semantic } from "#pdp-client/point-answers.ts";
import type { Ask, Inputs } from "#pdp/model/ask.ts";
import type { RequestTemplate } from "#pdp/bundle/named-files.ts";
import type { Question } from "#pdp/model/question.ts";
import type { ActBinding } from "./act-binding.ts";

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
  readonly request?: { readonly name: string; readonly template: RequestTemplate; readonly binding: ActBinding; readonly call?: ShownCall };
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

/** A verdict that no policy of Sallyport made. */
export const bareVerdict = (
  seen: Pick<Verdict, "ask" | "tenant" | "facts" | "inputs">,
  outcome: Pick<Verdict, "decision" | "reason"> & { readonly obligations?: readonly Obligation[] },
): Verdict => ({ ...seen, obligations: [], policies: [], errors: [], requestable: false, ...outcome });

export interface DecidedBatch {
  readonly policyVersion: string;
  readonly graphVersion: number | undefined;
  /** The same word again: the same policies and the same graph. Absent where that cannot be said, or nothing is to be remembered. */
  readonly moment?: string;
  /** In the order asked; shorter after a short circuit. */
  readonly verdicts: readonly Verdict[];
}

/** What decides. The embedded engine is one; any AuthZEN server could be another. */
export interface DecisionPoint {
  /** All of a batch see one snapshot of the facts. Throws `membership_unavailable`, `graph_unavailable`, `engine_failed`. */
  evaluateMany(asks: readonly Ask[], semantic: Semantic): Promise<DecidedBatch>;
  /** The version that decides now, as records name it. */
  policyVersion(): string;
  /** Parts that do not answer; empty = ready. */
  ready(): Promise<readonly string[]>;
}
