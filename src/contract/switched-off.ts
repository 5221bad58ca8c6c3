import { z } from "zod";
import { timestamp } from "./ids.ts";

/** The kill switch that is in the way, as it is told to whoever may see what it switches off; apart, for pages that set none. */
export const switchedOff = z.object({
  scope: z.string(),
  reason: z.string(),
  by: z.string(),
  /** Null: until it is lifted. */
  until: timestamp.nullable(),
});
export type SwitchedOff = z.output<typeof switchedOff>;
