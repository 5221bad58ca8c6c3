import { z } from "zod";
import type { Fault } from "#contract/problem.ts";
import { StartFaults } from "#contract/start-faults.ts";
import { isView } from "#crud/mcp/names.ts";
import { readConfigFiles } from "#documents/config-files.ts";
import { shapeFaults } from "#documents/shape-faults.ts";
import { readYaml, type YamlDocument } from "#documents/yaml-document.ts";

const texts = z.array(z.string().min(1).max(200)).default([]);

const filters = z.strictObject({
  source: z.array(z.enum(["system", "workflow"])).default([]),
  provider: texts,
  instance: texts,
  name_prefix: texts,
  tags_include: texts,
  tags_exclude: texts,
  names: texts,
});

const view = z.strictObject({
  name: z.string().refine(isView, "must be [a-z][a-z0-9-]{0,30} and not jsonrpc, tools, mcp or config"),
  title: z.string().min(1).max(80).optional(),
  tenants: texts,
  nameForm: z.enum(["dotted", "underscore"]).default("dotted"),
  denial: z.enum(["error", "result"]).default("error"),
  instructions: z.string().max(4096).optional(),
  filters: filters.prefault({}),
});

const override = z.strictObject({
  enabled: z.boolean().default(true),
  title: z.string().min(1).max(80).nullish(),
  description: z.string().min(10).max(1024).nullish(),
  annotations: z.record(z.string(), z.unknown()).default({}),
  cost_usd: z.number().min(0).max(10_000).multipleOf(0.000001).nullish(),
});

const document = z.strictObject({
  apiVersion: z.literal("tools/v1"),
  views: z.array(view).max(200).default([]),
  overrides: z.record(z.string(), override).default({}),
});

export type ToolsDocument = z.output<typeof document>;
export type ViewFilters = z.output<typeof filters>;

export const emptyToolsDocument: ToolsDocument = { apiVersion: "tools/v1", views: [], overrides: {} };

const words = [...Object.keys(document.shape), ...Object.keys(view.shape), ...Object.keys(filters.shape), ...Object.keys(override.shape)];

/** Reads one document; every fault at its place. */
export const readToolsDocument = (
  text: string,
  file: string,
): { readonly value: ToolsDocument; readonly yaml: YamlDocument } | { readonly faults: readonly Fault[] } => {
  const { document: yaml, faults } = readYaml(text, file, { mebibytes: 0.25 });
  if (yaml === undefined) return { faults };
  const parsed = document.safeParse(yaml.value);
  return parsed.success ? { value: parsed.data, yaml } : { faults: shapeFaults(yaml, parsed.error, { words }) };
};

/** Views and overrides of several documents, one after the other; a view of a later one that an earlier has is a fault of the later. */
export const joinToolsDocuments = (
  all: readonly { readonly value: ToolsDocument; readonly yaml?: YamlDocument }[],
): { readonly document: ToolsDocument; readonly faults: readonly Fault[] } => {
  const named = new Set<string>();
  const faults = all.flatMap(({ yaml, value }) =>
    value.views.flatMap(({ name }, index) => {
      if (named.has(name) && yaml !== undefined) return [yaml.fault(["views", index, "name"], "names a view twice")];
      named.add(name);
      return [];
    }),
  );
  return {
    faults,
    document: {
      apiVersion: "tools/v1",
      views: all.flatMap(({ value }) => value.views),
      overrides: Object.assign({}, ...all.map(({ value }) => value.overrides)) as ToolsDocument["overrides"],
    },
  };
};

/** Reads the `tools.yaml` of each folder: views and overrides, one after the other. Throws `StartFaults` with every fault. */
export const loadToolsDocument = async (folders: readonly string[]): Promise<ToolsDocument> => {
  const { files, faults } = await readConfigFiles(folders, "tools.yaml", document, words);
  const joined = joinToolsDocuments(files);
  if (faults.length + joined.faults.length > 0) throw new StartFaults([...faults, ...joined.faults]);
  return joined.document;
};
