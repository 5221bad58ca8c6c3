import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { plainText } from "./ids.ts";
import { audience } from "./membership.ts";
import { examinedRefusals, policyVersion } from "./policies.ts";

/** What a change would give and take, before anybody makes it. */

const graphEdge = z.strictObject({
  kind: z.string().regex(/^[A-Z][A-Z_]{1,31}$/),
  from: plainText(1, 256),
  to: plainText(1, 256),
  props: z.record(z.string(), z.unknown()).optional(),
});
const reached = z.object({
  action: z.string(),
  resource: z.object({ type: z.string(), id: z.string().optional() }),
  via: z.array(z.string()),
});

export const whatIf = endpoint("pdp", "POST", "/access/v1/what-if", {
  body: z.strictObject({
    /** Only by services of Sallyport, which have none of their own. */
    tenant_id: plainText(1, 256).optional(),
    subject_id: plainText(1, 256),
    agent_id: plainText(1, 256).optional(),
    changes: z
      .strictObject({
        edges: z
          .strictObject({
            add: z.array(graphEdge).max(50).default([]),
            remove: z
              .array(graphEdge.omit({ props: true }))
              .max(50)
              .default([]),
          })
          .optional(),
        /** Circumstances taken as given, e.g. a fresh strong sign-in. */
        facts: z.strictObject({ mfa: z.boolean().optional(), approved: z.boolean().optional() }).optional(),
      })
      .default({}),
    /** By which policies it is asked after the change; the active ones unless given. */
    version: policyVersion.optional(),
    /** `<type>/<action>`; all unless given. */
    actions: z.array(plainText(1, 256)).max(200).optional(),
    /** Things beside the whole collections that are asked about. */
    resources: z
      .array(z.strictObject({ type: plainText(1, 128), id: plainText(1, 1024) }))
      .max(1000)
      .optional(),
  }),
  reply: z.object({
    policy_version: z.string(),
    graph_version: z.number().int(),
    gained: z.array(reached),
    lost: z.array(reached),
    audiences: z.object({ gained: z.array(audience), lost: z.array(audience) }),
    truncated: z.boolean(),
  }),
  ...withoutAgents({ decision: "decisions/view_all" }),
  problems: [...examinedRefusals, "not_found", "policy_invalid", "unprocessable", "edge_not_allowed", "cycle", "cross_tenant"],
  summary: "What a change of edges, circumstances or policies gives to and takes from somebody; nothing is written.",
});
