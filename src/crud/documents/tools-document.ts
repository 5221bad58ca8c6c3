import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Fault } from "#contract/problem.ts";
import { isView } from "#crud/mcp/names.ts";
import { readYaml, schemaFaults } from "./yaml-document.ts";

const words = z.array(z.string().min(1).max(200)).default([]);

const filters = z.strictObject({
  source: z.array(z.enum(["system", "workflow"])).default([]),
  provider: words,
  instance: words,
  name_prefix: words,
  tags_include: words,
  tags_exclude: words,
  names: words,
});

const view = z.strictObject({
  name: z.string().refine(isView, "must be [a-z][a-z0-9-]{0,30} and not jsonrpc, tools, mcp or config"),
  title: z.string().min(1).max(80).optional(),
  tenants: words,
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

/** Reads `config/tools.yaml`: views and overrides. A missing file has neither; a faulty one is all faults. */
export const loadToolsDocument = async (file: string): Promise<{ readonly document: ToolsDocument; readonly faults: readonly Fault[] }> => {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return { document: emptyToolsDocument, faults: [] };
  const read = readYaml(text, "tools.yaml");
  if (read.document === undefined) return { document: emptyToolsDocument, faults: read.faults };
  const yaml = read.document;
  const parsed = document.safeParse(yaml.value);
  if (!parsed.success)
    return {
      document: emptyToolsDocument,
      faults: schemaFaults(yaml, parsed.error, [...Object.keys(view.shape), ...Object.keys(filters.shape)]),
    };
  const names = parsed.data.views.map((row) => row.name);
  const faults = names.flatMap((name, index) =>
    names.indexOf(name) === index ? [] : [yaml.fault(["views", index, "name"], "names a view twice")],
  );
  return faults.length > 0 ? { document: emptyToolsDocument, faults } : { document: parsed.data, faults: [] };
};
