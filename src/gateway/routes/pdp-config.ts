import { z } from "zod";
import type { Issue } from "#contract/problem.ts";
import { shapeIssues } from "#parsing/shape-issues.ts";
import type { YamlDocument } from "#parsing/yaml-document.ts";
import { parsePattern, type RoutePattern } from "./route-pattern.ts";
import { mappingIssues } from "./authz-mapping.ts";
import { mappingsShape, type Mapping, type RowMethod } from "./route-row.ts";

/** The part of the decision point's configuration that the gateway reads; the rest belongs to the decision point. */
const shape = z.looseObject({
  policy_dir: z.string().min(1).optional(),
  endpoint_map: z.record(z.string(), mappingsShape).default({}),
  derived_defaults: z.strictObject({ enabled: z.boolean().default(false) }).prefault({}),
  validation_strict: z.boolean().default(true),
  enable_authorization: z.boolean().default(true),
});

const known: ReadonlySet<string> = new Set([
  "decision_point",
  "policy_dir",
  "facts",
  "answer_detail",
  "endpoint_map",
  "derived_defaults",
  "validation_strict",
  "enable_authorization",
]);

/** A mapping from the decision point's file, with the place it was written. */
export interface ExternalMapping {
  readonly mapping: Mapping;
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface PointConfig {
  /** By the row's pattern, then its method. */
  readonly endpointMap: ReadonlyMap<string, Partial<Record<RowMethod, ExternalMapping>>>;
  /** Folder of the policies, as it is written: relative to the file. */
  readonly policyDir: string | undefined;
  readonly derivedDefaults: boolean;
  readonly validationStrict: boolean;
}

/** Reads the gateway's part of the decision point's configuration, or every issue of it. */
export const readPdpConfig = (source: YamlDocument): { readonly config: PointConfig | undefined; readonly issues: readonly Issue[] } => {
  const read = shape.safeParse(source.value);
  if (!read.success) return { config: undefined, issues: shapeIssues(source, read.error) };
  const issues: Issue[] = Object.keys(read.data)
    .filter((key) => !known.has(key))
    .map((key) => source.issue([key], "is not known here", { code: "unknown", onKey: true }));
  const endpointMap = new Map<string, Partial<Record<RowMethod, ExternalMapping>>>();
  for (const [path, methods] of Object.entries(read.data.endpoint_map)) {
    const pattern: RoutePattern | string = parsePattern(path);
    if (typeof pattern === "string") {
      issues.push(source.issue(["endpoint_map", path], pattern));
      continue;
    }
    const mappings: Partial<Record<RowMethod, ExternalMapping>> = {};
    for (const [method, mapping] of Object.entries(methods) as [RowMethod, Mapping][]) {
      const at = ["endpoint_map", path, method];
      issues.push(...mappingIssues(mapping, pattern, at).map((issue) => source.issue(issue.at, issue.message)));
      mappings[method] = { mapping, file: source.file, ...source.placeOf(at) };
    }
    endpointMap.set(path, mappings);
  }
  const config = {
    endpointMap,
    policyDir: read.data.policy_dir,
    derivedDefaults: read.data.derived_defaults.enabled,
    validationStrict: read.data.validation_strict,
  };
  return { config, issues };
};
