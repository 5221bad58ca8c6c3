import { z } from "zod";
import { maskKinds } from "./data-scope.ts";

/** Member of a result's `_meta` that names what was hidden in it. */
export const MASKED_META = "sallyport/masked";

/** One place of a result where something was hidden, and by which rule. Without it nobody could tell a hidden value from none. */
export const maskedPlace = z.object({
  /** RFC 6901, `*` for every item of a list. */
  path: z.string(),
  /** What was done: `drop` left the member out. */
  kind: z.enum(maskKinds),
  /** `tool:<name>`, the tool's own definition; `data_scope:<resource type>`, what the graph lets the person see of such rows. */
  rule: z.string(),
  /** The pair that would show it, where the tool's definition names one. */
  unless: z.string().optional(),
});
export type MaskedPlace = z.infer<typeof maskedPlace>;
