import { ask } from "#contract/ask.ts";
import { isRoleId } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import {
  getMcpServiceByName,
  MAX_RETIRED,
  putMcpTools,
  registerMcpService,
  retireMcpTools,
  type McpToolDraft,
} from "#contract/registry.ts";
import { asService, onBehalfOf, type MembershipParts } from "#crud/model/ask-membership.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { Tool } from "#crud/tools/tool.ts";
import { registryNameOf } from "#crud/connectors/connectors.ts";
import type { Asked } from "#crud/versions/config-events.ts";

export interface RegisterParts extends MembershipParts {
  readonly pdpClient: Pick<PdpClient, "decide" | "refusal">;
}

/** What a publisher put in force. */
export interface Published extends Asked {
  readonly system: string;
  readonly about: { readonly kind?: string | undefined; readonly title?: string | undefined; readonly owner?: string | undefined };
  readonly tools: readonly Tool[];
  readonly removed: readonly string[];
  /** The caller has approved these definitions. */
  readonly isApproved?: boolean;
  /** It serves every tenant, so the graph knows it as shared; whether the caller may do that has been decided. */
  readonly isShared?: boolean;
}

const absent = (error: unknown): undefined => {
  if (error instanceof Problem && error.code === "not_found") return undefined;
  throw error;
};

/** As much as the registry takes at once: tools, and characters of them as JSON, whatever they become as bytes. */
const MAX_TOOLS = 500;
const MAX_CHARACTERS = 262_144;

const draftOf = ({ definition, digest }: Tool, state: "approved" | "proposed"): McpToolDraft => ({
  name: definition.name,
  title: definition.title,
  description: definition.description,
  annotations: definition.annotations,
  inputSchema: definition.inputSchema,
  outputSchema: definition.outputSchema,
  definition_digest: digest,
  state,
});

/** In batches that the registry takes; others have their turn between two of them, which are asked one after the other. */
function* batches(tools: readonly Tool[], state: "approved" | "proposed"): Generator<readonly McpToolDraft[]> {
  let batch: McpToolDraft[] = [];
  let characters = 0;
  for (const tool of tools) {
    const draft = draftOf(tool, state);
    const { length } = JSON.stringify(draft);
    if (batch.length > 0 && (batch.length === MAX_TOOLS || characters + length > MAX_CHARACTERS)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(draft);
    characters += length;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Makes the identity graph know a system and its tools, in the publisher's own name and with the publisher's rights: nobody can be granted,
 * or delegate, what the graph does not know. Tools are approved where the publisher may approve definitions, else proposed; tools that went
 * are retired. Answers what could not be done; the system serves all the same.
 */
export const createToolRegistrar =
  (parts: RegisterParts) =>
  async (published: Published): Promise<readonly string[]> => {
    const { caller, correlationId, system, about, tools, removed, isApproved = false, isShared = false } = published;
    const registryName = registryNameOf(about.kind);
    const warnings: string[] = [];
    const mayApproveDefinitions = async (): Promise<boolean> => {
      const decided = await parts.pdpClient.decide(caller, { type: "tool", action: "approve_definition", id: system }, correlationId);
      return parts.pdpClient.refusal(caller, decided) === undefined;
    };
    try {
      const asInternalService = () => asService(parts, ["membership.registry"], correlationId);
      const headers = isShared
        ? await asInternalService()
        : await onBehalfOf(parts, { ...caller, scopes: ["membership.read", "membership.registry"] }, correlationId);
      const reason = isApproved ? `Approved by ${caller.sub}` : "Published by its system";
      for (let from = 0; from < removed.length; from += MAX_RETIRED)
        await ask(parts.membership, retireMcpTools, { body: { tool_ids: removed.slice(from, from + MAX_RETIRED), reason }, headers });
      // Tools of a server come later, and are then made known as somebody approves them.
      if (tools.length === 0 && registryName !== "mcp") return warnings;
      const mayApprove = isApproved || tools.length === 0 || (await mayApproveDefinitions());
      if (!mayApprove) warnings.push(`Its tools are proposed: ${about.owner ?? "its owner"} or an administrator approves them.`);
      const known = isApproved
        ? await ask(parts.membership, getMcpServiceByName, { params: { name: system }, headers }).catch(absent)
        : undefined;
      const service =
        known ??
        (await ask(parts.membership, registerMcpService, {
          body: {
            name: system,
            display_name: about.title,
            service_type: registryName,
            // A role owns nothing itself: its holders answer for the system, and who publishes it stands in the registry.
            owner_id: about.owner === undefined || isRoleId(about.owner) ? undefined : about.owner,
            trust: "pinned",
            reason,
          },
          headers,
        }));
      // Who owns a system need not be who keeps the registry: what they approved is said in Sallyport's own name.
      const said = known === undefined ? headers : await asInternalService();
      for (const batch of batches(tools, mayApprove ? "approved" : "proposed"))
        await ask(parts.membership, putMcpTools, {
          params: { service_id: service.id },
          body: { tools: [...batch], reason },
          headers: said,
        });
      return warnings;
    } catch (error) {
      const why =
        error instanceof Problem
          ? `${error.code}: ${error.options.errors?.[0]?.message ?? error.options.detail ?? error.title}`
          : "it cannot be asked";
      return [
        ...warnings,
        `The identity graph does not know all of its tools yet (${why}): until it does nobody can be granted one. Publish the same document again to try once more.`,
      ];
    }
  };
