import { Problem } from "#contract/problem.ts";
import type { Killable, KillSwitches } from "#crud/tools/kill-switches.ts";
import type { Tool } from "#crud/tools/tool.ts";

/** Throws `tool_disabled` or `tool_quarantined` unless the tool may be called at all. */
export const requireServing = (what: Killable & { readonly tool: Tool }, kills: Pick<KillSwitches, "of">): void => {
  const { tool } = what;
  const killed = kills.of(what);
  if (killed !== undefined) throw new Problem("tool_disabled", { detail: killed.reason });
  if (tool.state === "disabled") throw new Problem("tool_disabled");
  if (tool.state === "quarantined") throw new Problem("tool_quarantined", { detail: "Its definition is not the one that was approved." });
};
