import DataLoader from "dataloader";
import { groupByKey, itemOf, keyOf, type Ask } from "./ask.ts";
import { readBatch, type Reading } from "./read-decisions.ts";

/** Sends one batch and gives back the body as it came; throws when there is none. */
export type SendBatch = (items: readonly Readonly<Record<string, unknown>>[]) => Promise<unknown>;

const WINDOW_MS = 10;
const MAX_BATCH = 100;

/**
 * Questions asked within 10 ms travel together, at most 100 a request. A question is a failure (never a yes, and never
 * a remembered no) when its answer cannot be used. Remembers nothing.
 */
export const createDecisionLoader = (send: SendBatch): ((ask: Ask) => Promise<"allowed" | "denied">) => {
  const loader = new DataLoader<Ask, Reading>(
    async (asks) => {
      const readings: (Reading | Error)[] = asks.map(() => "unusable");
      await Promise.all(
        groupByKey(asks).map(async (group) => {
          const keys = group.map((item) => keyOf(item.ask));
          const read = await send(group.map((item) => itemOf(item.ask))).then(
            (body): readonly (Reading | Error)[] => readBatch(body, keys),
            (error: unknown): readonly (Reading | Error)[] => keys.map(() => (error instanceof Error ? error : new Error(String(error)))),
          );
          group.forEach((item, position) => {
            readings[item.index] = read[position] ?? "unusable";
          });
        }),
      );
      return readings;
    },
    { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: (run) => void setTimeout(run, WINDOW_MS) },
  );
  return async (ask) => {
    const reading = await loader.load(ask);
    if (reading === "unusable") throw new Error("the decision point's answer cannot be used");
    return reading;
  };
};
