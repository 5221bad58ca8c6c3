import { z } from "zod";
import { MAX_ISSUES, type Issue } from "#contract/problem.ts";
import { StartIssues } from "#contract/start-issues.ts";
import { viewPattern } from "#crud/model/names.ts";
import { readConfigFiles } from "#parsing/config-files.ts";
import { longNames } from "#parsing/long-names.ts";
import { boundedList } from "#parsing/bounded-list.ts";
import { said } from "#parsing/said.ts";
import { shapeIssues } from "#parsing/shape-issues.ts";
import { readYaml, type YamlDocument } from "#parsing/yaml-document.ts";

const texts = (max: number) => boundedList(z.string().min(1).max(200), max).default([]);
/** Words of a filter. */
const words = texts(1000);

const filters = z.strictObject({
  source: said(z.array(z.enum(["system", "workflow"])).default([]), "Where tools come from.", ["system"]),
  provider: said(words, "Providers.", ["people"]),
  instance: said(words, "Instances.", ["demo"]),
  name_prefix: said(words, "What names begin with.", ["staff.book.get_"]),
  tags_include: said(words, "Tags of which a tool has one.", ["hr"]),
  tags_exclude: said(words, "Tags of which a tool has none.", ["internal"]),
  names: said(words, "Whole names.", ["staff.book.get_one"]),
});

const view = z.strictObject({
  name: said(
    z.string().regex(viewPattern, "must be [a-z][a-z0-9-]{0,30} and not jsonrpc, tools, mcp or config"),
    "Its name in addresses: `/mcp/<name>`; not `jsonrpc`, `tools`, `mcp` or `config`. One that exists by itself is replaced.",
    "hr",
  ),
  title: said(z.string().min(1).max(80).optional(), "What people read as its name.", "People tools"),
  tenants: said(texts(200), "Tenants that it is there for; empty: all.", ["tenant:example"]),
  nameForm: said(
    z.enum(["dotted", "underscore"]).default("dotted"),
    "How standard MCP lists names; `underscore` for clients that refuse dots. Calls may use either.",
    "underscore",
  ),
  prefix: said(
    z.enum(["system", "none"]).default("system"),
    "Whether standard MCP lists names with the system's in front; `none` for a view whose tools are all of one system. Calls may use either.",
    "none",
  ),
  maxTools: said(
    z.int().min(1).max(100_000).optional(),
    "Most tools that it holds: the first by name. Lists say how many are left out.",
    50,
  ),
  denial: said(
    z.enum(["error", "result"]).default("error"),
    "How a denial leaves on standard MCP: as a JSON-RPC error, or as a result that says so.",
    "result",
  ),
  search: said(
    z.boolean().optional(),
    "Whether it has `system.find_tools`, which looks for tools by words; unless said, it has from 101 tools on.",
    true,
  ),
  instructions: said(z.string().max(4096).optional(), "What clients are told of the view as a whole.", "Ask before you change anything."),
  filters: said(
    filters.prefault({}),
    "Which tools it holds: each filter by any of its words, all filters together; an empty one is none.",
    { tags_include: ["hr"] },
  ),
});

const override = z.strictObject({
  enabled: said(z.boolean().default(true), "False takes the tool away from everybody.", false),
  title: said(z.string().min(1).max(80).nullish(), "Instead of the tool's own; null: as it is.", "Change a salary"),
  description: said(
    z.string().min(10).max(1024).nullish(),
    "Instead of the tool's own; null: as it is.",
    "Sets the yearly salary of one employee.",
  ),
  annotations: said(z.record(z.string(), z.unknown()).default({}), "Put over the tool's own, each by its name.", { tags: ["hr", "pay"] }),
  cost_usd: said(
    z.number().min(0).max(10_000).multipleOf(0.000001).nullish(),
    "Price of a call in US dollars, at most 6 decimals; null: the tool's own.",
    0.01,
  ),
});

/** The shape of `tools.yaml`. */
export const toolsDocument = z.strictObject({
  apiVersion: said(z.literal("tools/v1"), "The version of this format.", "tools/v1"),
  views: said(
    boundedList(view, 200).default([]),
    "Named parts of the catalogue. Views of workflows, of each provider and of each provider-instance exist by themselves.",
    [{ name: "hr", filters: { tags_include: ["hr"] } }],
  ),
  overrides: said(z.record(z.string(), override).default({}), "What is said otherwise of a tool, by its name.", {
    "staff.book.update_salary": { enabled: false },
  }),
});

export type ToolsDocument = z.output<typeof toolsDocument>;
export type ViewFilters = z.output<typeof filters>;

export const emptyToolsDocument: ToolsDocument = { apiVersion: "tools/v1", views: [], overrides: {} };

/** Reads one document; every issue at its place, and of a faulty one what stands there, where it could be read at all. */
export const readToolsDocument = (
  text: string,
  file: string,
): { readonly value: ToolsDocument; readonly yaml: YamlDocument } | { readonly issues: readonly Issue[]; readonly found?: unknown } => {
  const { document: yaml, issues } = readYaml(text, file, { mebibytes: 0.25 });
  if (yaml === undefined) return { issues };
  const parsed = toolsDocument.safeParse(yaml.value);
  const long = longNames(yaml, yaml.value, MAX_ISSUES);
  if (parsed.success && long.length === 0) return { value: parsed.data, yaml };
  const shape = parsed.success ? [] : shapeIssues(yaml, parsed.error, { shape: toolsDocument });
  return { issues: [...long, ...shape], found: yaml.value };
};

/** Views and overrides of several documents, one after the other; a view of a later one that an earlier has is an issue of the later. */
export const joinToolsDocuments = (
  all: readonly { readonly value: ToolsDocument; readonly yaml?: YamlDocument }[],
): { readonly document: ToolsDocument; readonly issues: readonly Issue[] } => {
  const named = new Set<string>();
  const issues = all.flatMap(({ yaml, value }) =>
    value.views.flatMap(({ name }, index) => {
      if (named.has(name) && yaml !== undefined) return [yaml.issue(["views", index, "name"], "names a view twice")];
      named.add(name);
      return [];
    }),
  );
  return {
    issues,
    document: {
      apiVersion: "tools/v1",
      views: all.flatMap(({ value }) => value.views),
      overrides: Object.assign({}, ...all.map(({ value }) => value.overrides)) as ToolsDocument["overrides"],
    },
  };
};

/** Reads the `tools.yaml` of each folder: views and overrides, one after the other. Throws `StartIssues` with every issue. */
export const loadToolsDocument = async (folders: readonly string[]): Promise<ToolsDocument> => {
  const { files, issues } = await readConfigFiles(folders, "tools.yaml", toolsDocument);
  const joined = joinToolsDocuments(files);
  if (issues.length + joined.issues.length > 0) throw new StartIssues([...issues, ...joined.issues]);
  return joined.document;
};
