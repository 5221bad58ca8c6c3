import { ask } from "#contract/ask.ts";
import type { ConfigDiff, DecisionsChanged } from "#contract/configs.ts";
import { Problem } from "#contract/problem.ts";
import { affectedCapabilities, MAX_AFFECTED, MAX_ASKED_TOOLS, type AffectedCapability } from "#contract/registry.ts";
import { MAX_REPLAYED_TOOLS } from "#contract/replay-tools.ts";
import { onBehalfOf, type MembershipParts } from "#crud/model/ask-membership.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import { toolProperties } from "#crud/mcp/call/steps/authorize.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { TouchedTool } from "./effects.ts";
import type { ConfigWrite, Written } from "./plan-write.ts";
import type { Asked } from "#crud/versions/config-events.ts";

export interface PreviewParts extends MembershipParts {
  readonly pdpClient: Pick<PdpClient, "decide" | "refusal" | "replayTools">;
  /** Tools of a system that the tenant sees. */
  readonly toolsOf: (system: string, tenant: string) => readonly Tool[];
}

type Planned = Asked & Pick<ConfigWrite, "kind"> & Pick<Written, "name" | "touched">;

interface Foretold {
  readonly diff: Pick<ConfigDiff, "capabilities_affected" | "decisions_changed">;
  readonly warnings: readonly string[];
}

/**
 * What a change would mean for who uses its tools: whose capability is pinned to a definition that will not be any more, and which of the
 * last decisions would be others. The graph is asked in the publisher's own name, decisions of their tenant alone. What cannot be asked is
 * said, and left out.
 */
export const createPreview = (parts: PreviewParts) => {
  /** The graph is told of systems alone, and calls a tool approved only where its publisher may approve it. */
  const standing = async ({ caller, correlationId, kind, name, touched }: Planned) => {
    if (kind !== "system") return { isApproved: true, touched };
    const question = { type: "tool", action: "approve_definition", id: name, context: { showing: true } };
    const decided = await parts.pdpClient.decide(caller, question, correlationId);
    if (parts.pdpClient.refusal(caller, decided) === undefined) return { isApproved: true, touched };
    // Then what stays as it is has to be approved anew too.
    const known = new Set(touched.map((one) => one.name));
    const others = parts.toolsOf(name, caller.tenant).filter((tool) => !known.has(tool.name));
    return { isApproved: false, touched: [...touched, ...others.map((tool) => ({ name: tool.name, was: tool, tool }))] };
  };

  const affectedBy = async ({ caller, correlationId, kind }: Planned, touched: readonly TouchedTool[], isApproved: boolean) => {
    const tools = touched
      .filter(({ was, tool }) => kind === "system" && (!isApproved || tool?.digest !== was.digest))
      .map(({ name, tool }) => ({ tool_id: name, definition_digest: isApproved ? (tool?.digest ?? null) : null }));
    const found: AffectedCapability[] = [];
    const headers = await onBehalfOf(parts, { ...caller, scopes: ["membership.read"] }, correlationId);
    for (let from = 0; from < tools.length && found.length < MAX_AFFECTED; from += MAX_ASKED_TOOLS) {
      const body = { tools: tools.slice(from, from + MAX_ASKED_TOOLS) };
      found.push(...(await ask(parts.membership, affectedCapabilities, { body, headers })).affected);
    }
    return found.slice(0, MAX_AFFECTED);
  };

  const changedBy = async (
    { caller, correlationId }: Planned,
    touched: readonly TouchedTool[],
    state: (tool: Tool | undefined) => string,
    affected: readonly AffectedCapability[],
  ): Promise<DecisionsChanged | undefined> => {
    if (touched.length === 0) return undefined;
    const agents = Map.groupBy(affected, ({ tool_id: id }) => id);
    const reported = await parts.pdpClient.replayTools(
      {
        tenant_id: caller.tenant,
        tools: touched.slice(0, MAX_REPLAYED_TOOLS).map(({ name, was, tool }) => ({
          tool_id: name,
          before: toolProperties(was),
          after: toolProperties(tool ?? was),
          state: state(tool),
          drifted_for: [...new Set((agents.get(name) ?? []).map(({ agent_id: id }) => id))],
        })),
      },
      correlationId,
    );
    if (reported === undefined) return undefined;
    const { unchanged: _unchanged, complete, ...counts } = reported;
    return { ...counts, complete: complete && touched.length <= MAX_REPLAYED_TOOLS };
  };

  return async (planned: Planned): Promise<Foretold> => {
    const warnings: string[] = [];
    const orSaid = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        warnings.push(`${what} could not be looked up (${error.code}).`);
        return undefined;
      }
    };
    const found = await orSaid("What it means for who uses its tools", () => standing(planned));
    if (found === undefined) return { diff: {}, warnings };
    const { touched, isApproved } = found;
    const affected = await orSaid("Whose capabilities it switches off", () => affectedBy(planned, touched, isApproved));
    const state = (tool: Tool | undefined): string => (tool === undefined ? "retired" : isApproved ? "approved" : "proposed");
    const changed = await orSaid("Which decisions it changes", () => changedBy(planned, touched, state, affected ?? []));
    return {
      diff: {
        ...(affected === undefined ? {} : { capabilities_affected: affected.map(({ tool_id: tool, ...whose }) => ({ ...whose, tool })) }),
        ...(changed === undefined ? {} : { decisions_changed: changed }),
      },
      warnings,
    };
  };
};
