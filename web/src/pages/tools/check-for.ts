import type { ExplainAsk } from "../../api/tools.ts";
import { idText } from "#contract/page-search.ts";

/** For whom the checks are asked; empty = for oneself, without an agent. */
export interface CheckFor {
  readonly userId: string;
  readonly agentId: string;
}

export type ExplainFor = Omit<ExplainAsk, "tool">;

export const askOf = (checkFor: CheckFor): ExplainFor => ({
  ...(idText.test(checkFor.userId) ? { user_id: checkFor.userId } : {}),
  ...(idText.test(checkFor.agentId) ? { agent_id: checkFor.agentId } : {}),
});
