import DataLoader from "dataloader";
import { groupByKey, itemOf, keyOf, type Ask } from "./ask.ts";
import type { LoadDecision } from "./decisions-context.ts";
import { readBatch, readDecisionText, type Reading } from "./read-decisions.ts";

/** Sends one batch and gives back the body as it came; throws when there is none. */
export type SendBatch = (items: readonly Readonly<Record<string, unknown>>[]) => Promise<unknown>;

const WINDOW_MS = 10;
const MAX_BATCH = 100;

interface Loaded {
  readonly reading: Reading;
  readonly decisionId: string | undefined;
  readonly isStepUp: boolean;
}

const unread: Loaded = { reading: "unusable", decisionId: undefined, isStepUp: false };

/**
 * Questions asked within 10 ms travel together, at most 100 a request. A question is a failure (never a yes, and never
 * a remembered no) when its answer cannot be used. Remembers nothing.
 */
export const createDecisionLoader = (send: SendBatch): LoadDecision => {
  const loader = new DataLoader<Ask, Loaded>(
    async (asks) => {
      const answers: (Loaded | Error)[] = asks.map(() => unread);
      await Promise.all(
        groupByKey(asks).map(async (group) => {
          const keys = group.map((item) => keyOf(item.ask));
          const read = await send(group.map((item) => itemOf(item.ask))).then(
            (body): readonly (Loaded | Error)[] =>
              readBatch(body, keys).map((reading, position) => ({
                reading,
                decisionId: readDecisionText(body, keys[position] ?? "", position, "decision_id"),
                isStepUp: readDecisionText(body, keys[position] ?? "", position, "reason") === "step_up_required",
              })),
            (error: unknown): readonly (Loaded | Error)[] => keys.map(() => (error instanceof Error ? error : new Error(String(error)))),
          );
          group.forEach((item, position) => {
            answers[item.index] = read[position] ?? unread;
          });
        }),
      );
      return answers;
    },
    { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: (run) => void setTimeout(run, WINDOW_MS) },
  );
  return async (ask) => {
    const { reading, decisionId, isStepUp } = await loader.load(ask);
    if (reading === "unusable") throw new Error("the decision point's answer cannot be used");
    return { can: reading, ...(decisionId === undefined ? {} : { decisionId }), ...(isStepUp ? { isStepUp } : {}) };
  };
};
