import { createHash } from "node:crypto";
import { isObject } from "#contract/is-object.ts";
import { UNSEEN } from "#contract/ids.ts";
import { buildTool } from "#crud/mcp/build-tool.ts";
import { compileRules } from "#crud/systems/tool-rules.ts";
import type { McpDocument } from "#crud/systems/system-document.ts";
import type { Children } from "#crud/upstream/mcp-children.ts";
import { createMcpConnector } from "#crud/upstream/mcp-connector.ts";
import { prepareSchema } from "#parsing/foreign-schema.ts";
import { compileGlobs } from "#parsing/globs.ts";
import { externalBasePattern, MAX_NAME } from "#crud/model/names.ts";
import type { Definition, Tool } from "#crud/tools/tool.ts";

/** What an external server says of one of its tools; nothing of it is trusted. */
export interface ForeignTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
  /** Why it cannot be served; nothing but its name is known then. */
  readonly refusal?: string;
}

const MAX_TOOLS = 500;
const MAX_DESCRIPTION = 8192;
/** Every pattern of a document is matched against each name. */
const MAX_FOREIGN_NAME = 512;
/** What all schemas of one list may cost to be prepared, in steps: about a second, in pieces of one schema. */
const MAX_LIST_STEPS = 300_000;

/** A tool that is listed and cannot be served, and why. */
export interface RefusedTool {
  readonly name: string;
  readonly reason: string;
}
export interface ExternalTools {
  readonly tools: readonly Tool[];
  readonly refused: readonly RefusedTool[];
}

const hex6 = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 6);

/** Maps upstream names to bases, once and always alike: other characters become `_`; what is too long or taken gets a hash. */
export const mapNames = (
  prefix: string,
  names: readonly string[],
  overrides: McpDocument["tools"]["overrides"] = {},
): ReadonlyMap<string, string> => {
  const max = MAX_NAME - prefix.length - 1;
  const plain = new Map(
    names.map((name) => {
      const cleaned = name.replace(/[^A-Za-z0-9_-]/g, "_").replace(/^[^A-Za-z]+/, "");
      const base = overrides[name]?.base ?? (externalBasePattern.test(cleaned) ? cleaned : "tool");
      return [name, base] as const;
    }),
  );
  const counts = new Map<string, number>();
  for (const base of plain.values()) counts.set(base, (counts.get(base) ?? 0) + 1);
  return new Map(
    [...plain].map(([name, base]) => {
      const isPlain = base === name || overrides[name]?.base !== undefined;
      return [name, base.length <= max && ((counts.get(base) ?? 0) === 1 || isPlain) ? base : `${base.slice(0, max - 7)}_${hex6(name)}`];
    }),
  );
};

const definitionOf = (document: McpDocument, name: string, foreign: ForeignTool): Definition => {
  const override = document.tools.overrides[foreign.name];
  const title = override?.title ?? foreign.title;
  const trusted = document.trustAnnotations ? foreign.annotations : undefined;
  const annotations = { ...trusted, ...override?.annotations };
  return {
    name,
    title,
    description: override?.description ?? foreign.description ?? foreign.name,
    inputSchema: isObject(foreign.inputSchema) ? { type: "object", ...foreign.inputSchema } : { type: "object" },
    ...(isObject(foreign.outputSchema) ? { outputSchema: foreign.outputSchema } : {}),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
};

/** A server's tool has rules by its override alone, which names no expression and no other tool. */
const ofServer = { outputSchema: undefined, find: () => undefined, path: [], tell: () => undefined } as const;

const requireReadable = (definition: Definition): void => {
  if (definition.inputSchema["type"] !== "object") throw new Error("the input is no object");
  if (definition.description.length > MAX_DESCRIPTION) throw new Error("the description is too long");
  for (const text of [definition.title ?? "", definition.description]) {
    if (UNSEEN.test(text.replace(/[\n\r\t]/g, ""))) throw new Error("the description holds characters that do not show");
  }
};

/**
 * Turns what a server lists into tools of ours, and stops between its schemas. A tool that cannot be served safely costs itself alone. `isOfKnown`:
 * what was prepared lately, for whoever cannot wait.
 */
export const externalTools = function* (
  document: McpDocument,
  foreign: readonly ForeignTool[],
  parts: { readonly children: Children; readonly isOfKnown?: boolean },
): Generator<void, ExternalTools> {
  const prefix = `${document.provider}.${document.instance}`;
  const [isIncluded, isExcluded] = [compileGlobs(document.tools.include), compileGlobs(document.tools.exclude)];
  const refused: RefusedTool[] = [];
  const wanted: ForeignTool[] = [];
  for (const tool of foreign) {
    yield;
    if (tool.refusal !== undefined) refused.push({ name: tool.name, reason: tool.refusal });
    else if (tool.name.length > MAX_FOREIGN_NAME)
      refused.push({ name: tool.name, reason: `the name has more than ${MAX_FOREIGN_NAME} characters` });
    else if (isIncluded(tool.name) && !isExcluded(tool.name)) wanted.push(tool);
  }
  const bases = mapNames(
    prefix,
    wanted.map((tool) => tool.name),
    document.tools.overrides,
  );
  const list = { left: MAX_LIST_STEPS, isOfKnown: parts.isOfKnown === true };
  const tools: Tool[] = [];
  const sizes = new Map<ForeignTool, number>();
  for (const tool of wanted) {
    yield;
    sizes.set(tool, JSON.stringify([tool.inputSchema, tool.outputSchema]).length);
  }
  for (const tool of wanted.slice(MAX_TOOLS)) refused.push({ name: tool.name, reason: `the list has more than ${MAX_TOOLS} tools` });
  // The small ones first: none is beyond the list for what a large one costs.
  for (const tool of wanted.slice(0, MAX_TOOLS).toSorted((one, other) => (sizes.get(one) ?? 0) - (sizes.get(other) ?? 0))) {
    yield;
    const override = document.tools.overrides[tool.name];
    const definition = definitionOf(document, `${prefix}.${bases.get(tool.name) ?? ""}`, tool);
    const isReadOnly = definition.annotations?.["readOnlyHint"] === true;
    const rules = compileRules<Tool>({ ...ofServer, written: override ?? {}, document });
    try {
      requireReadable(definition);
      prepareSchema(definition.inputSchema, list);
      yield;
      const checkOutput = definition.outputSchema === undefined ? undefined : prepareSchema(definition.outputSchema, list);
      tools.push(
        buildTool(
          document,
          definition,
          {
            ...rules,
            isReadOnly,
            isDestructive: definition.annotations?.["destructiveHint"] === true,
            isRepeatable: definition.annotations?.["idempotentHint"] === true,
            checkOutput,
          },
          createMcpConnector({
            children: parts.children,
            isolation: document.isolation,
            upstreamName: tool.name,
            timeoutMs: rules.timeoutMs,
            maxBytes: document.defaults.response.maxBytes,
            isReadOnly,
          }),
        ),
      );
    } catch (error) {
      refused.push({ name: tool.name, reason: error instanceof Error ? error.message : "unknown" });
    }
  }
  return { tools, refused: refused.map(({ name, reason }) => ({ name: name.slice(0, 128), reason })) };
};
