import { z } from "zod";
import { decisionsChanged } from "./configs.ts";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { plainText } from "./ids.ts";

/** Past calls of tools asked again, as the tools would be: for the tool service, before it publishes. */

export const MAX_REPLAYED_TOOLS = 500;
const toolProperties = z.record(z.string(), z.unknown());
export const replayTools = endpoint("pdp", "POST", "/access/v1/tools/replay", {
  body: z.strictObject({
    tenant_id: plainText(1, 256),
    tools: z
      .array(
        z.strictObject({
          tool_id: plainText(1, 256),
          /** Properties that the tool service vouches for, as they are and as they would be. */
          before: toolProperties,
          after: toolProperties,
          /** What the graph would call its state. */
          state: plainText(1, 32),
          /** Agents whose capability would be one for another definition. */
          drifted_for: z.array(plainText(1, 256)).max(1_000),
        }),
      )
      .min(1)
      .max(MAX_REPLAYED_TOOLS),
    /** The newest so many decisions. */
    limit: z.number().int().min(1).max(200).default(200),
  }),
  maxMembers: 50_000,
  reply: decisionsChanged.extend({ unchanged: z.number().int() }),
  ...withoutAgents({ scope: ["authzen.pep"] }),
  problems: ["access_denied", "not_supported"],
  summary:
    "Decide the newest recorded calls of tools again as their tools would be, on the facts they had; for services of Sallyport alone.",
});
