import { z } from "zod";

/** A list in a document with a bound: what walks it costs by each item. */
export const boundedList = <T extends z.ZodType>(item: T, max: number) => z.array(item).max(max, `must have at most ${max} items`);
