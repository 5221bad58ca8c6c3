import type { Facts } from "#contract/facts.ts";

/** What policies may ask of earlier decisions. The records answer; in tests a list does. */
export interface DecisionFacts {
  /** Decisions as resources: whose they are, and who controls the agent that acted. Unknown ids are left out. */
  resources(ids: readonly string[]): Promise<ReadonlyMap<string, NonNullable<Facts["resource"]>>>;
  /**
   * The tenant of a tool call that was permitted: the decision must be on record as a permit of `tools/call` for this tool,
   * asked by this service, and not be older than a call may take. Otherwise `undefined`.
   */
  permittedCall(decisionId: string, tool: string, pep: string): Promise<{ readonly tenant: string } | undefined>;
}
