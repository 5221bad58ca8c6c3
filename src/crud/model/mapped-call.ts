import type { Caller } from "#authn/model/caller.ts";
import type { EvaluationQuery } from "#pdp-client/pdp-client.ts";

/** A mapping of a call to questions for the decision point. */
export interface AskMapping {
  /** The pairs that it asks, `resource/action`. */
  readonly pairs: readonly string[];
  /** Throws `mapping_error` when the call gives nothing to decide on. */
  asks(call: MappedCall): readonly EvaluationQuery[];
}

/** What a mapping may look at. */
export interface MappedCall {
  readonly toolName: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
  readonly now: Date;
}
