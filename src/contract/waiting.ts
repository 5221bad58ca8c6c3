import { z } from "zod";
import { endpoint } from "./endpoint.ts";

/** A count of so many stands for more, too. */
export const MAX_WAITING = 100;

const count = z.int().min(0).max(MAX_WAITING).optional();

export const readWaiting = endpoint("gateway", "GET", "/api/v1/waiting", {
  /** A count is absent where the caller may not see it, or where its service does not answer. */
  reply: z.strictObject({
    /** Tasks that were put to the caller, and that the caller has not answered. */
    tasks: count,
    /** Access requests that the caller may answer. */
    requests: count,
    /** Definitions of tools that are new or have changed, and that the caller may approve. */
    definitions: count,
    /** Policy versions in the shadow, where the caller may activate them. */
    policies: count,
    /** The caller's own delegations that are nearly used up or about to end. */
    delegations: count,
  }),
  auth: "session",
  problems: ["decision_unavailable"],
  summary: `What waits for the caller, counted for the navigation: up to ${MAX_WAITING} each.`,
});
export type Waiting = z.infer<typeof readWaiting.reply>;
