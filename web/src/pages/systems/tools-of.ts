import { isObject } from "#contract/is-object.ts";
import type { ToolDescriptor } from "#contract/tools.ts";
import type { ReadSystem } from "../../api/systems.ts";

export interface SystemTool {
  readonly tool: ToolDescriptor;
  /** It is in the person's own list: its definition is the one that is served. */
  readonly isListed: boolean;
}

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

/** Tools that a system has: those that the person may call, and those that its document alone names. */
export const toolsOf = (
  { name, document }: Pick<ReadSystem, "name" | "document">,
  listed: readonly ToolDescriptor[],
): readonly SystemTool[] => {
  const own = listed.filter((tool) => tool.name.startsWith(`${name}.`)).map((tool) => ({ tool, isListed: true }));
  const known = new Set(own.map(({ tool }) => tool.name));
  const written = Object.entries(fieldsOf(fieldsOf(document)["operations"])).flatMap(([base, operation]): readonly SystemTool[] => {
    const { title, description, input, annotations } = fieldsOf(operation);
    const tool: ToolDescriptor = {
      name: `${name}.${base}`,
      ...(typeof title === "string" ? { title } : {}),
      description: typeof description === "string" ? description : "",
      inputSchema: { type: "object", ...fieldsOf(input) },
      source: "system",
      annotations: fieldsOf(annotations),
    };
    return known.has(tool.name) ? [] : [{ tool, isListed: false }];
  });
  return [...own, ...written].toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1));
};
