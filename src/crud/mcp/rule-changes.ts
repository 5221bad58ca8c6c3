import type { DefinitionChange } from "#contract/configs.ts";
import { toolRules } from "#crud/systems/tool-rules.ts";
import { canonicalText } from "#crud/model/digest.ts";
import type { Tool } from "#crud/tools/tool.ts";

/** How the rules of a call differ where the definition need not; paths begin with `/rules`. All are to be looked at. Cost: O(rules). */
export const ruleChanges = (was: Tool, tool: Tool): readonly DefinitionChange[] => {
  const changeOf = (name: string, before: unknown, after: unknown, kind: DefinitionChange["kind"]): readonly DefinitionChange[] =>
    canonicalText(before) === canonicalText(after) ? [] : [{ path: `/rules/${name}`, kind, before, after, risk: "review" }];
  return [
    ...Object.values(toolRules).flatMap(({ diff }) =>
      diff === undefined ? [] : changeOf(diff.name, diff.of(was.rules), diff.of(tool.rules), diff.kind?.(was.rules, tool.rules) ?? "rule"),
    ),
    ...changeOf("state", was.state, tool.state, "rule"),
  ];
};
