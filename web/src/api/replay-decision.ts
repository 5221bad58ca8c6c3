import { replayDecision } from "#contract/replay.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import type { Client } from "./client.ts";

export type DecisionReplay = ReplyOf<typeof replayDecision>;

/** Decides a recorded decision again on the facts it had, by the version that decides now or by another. */
export const decideAgain = async (client: Client, id: string, version: string | undefined): Promise<DecisionReplay> =>
  await client.ask(replayDecision, { params: { id }, body: version === undefined ? {} : { version } });
