import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { cursorPage, nodeId } from "./ids.ts";

/** Who holds which role. */

export const listRoleHolders = endpoint("membership", "GET", "/api/v1/roles/holders", {
  query: z.strictObject({
    role_id: nodeId.optional(),
    holder_id: nodeId.optional(),
    ...cursorPage,
  }),
  reply: z.object({
    items: z.array(
      z.object({
        role_id: z.string(),
        holder_id: z.string(),
        name: z.string(),
        node_type: z.string(),
        /** Every node on it is active. */
        in_force: z.boolean(),
        /** From the holder to the role; somebody who has it on two ways is there twice. */
        path: z.array(z.object({ from: z.string(), kind: z.string(), to: z.string(), expires_at: z.string().nullable() })),
        /** Files, directories and claims may change it: the way leads through a group that is marked for it. */
        provisioned: z.boolean(),
      }),
    ),
    next_cursor: z.string().optional(),
  }),
  ...withoutAgents({ scope: ["membership.read"], decision: "identities/view_all" }),
  problems: ["invalid_cursor"],
  summary: "Which persons, agents and services hold which role, and by which path.",
});
