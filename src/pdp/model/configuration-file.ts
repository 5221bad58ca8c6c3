import { readFile } from "node:fs/promises";
import { z } from "zod";
import { issueLine } from "#contract/start-issues.ts";
import type { Issue } from "#contract/problem.ts";
import { shapeIssues } from "#parsing/shape-issues.ts";
import { readYaml, type YamlLimits } from "#parsing/yaml-document.ts";
import { remoteDecisionPoint } from "./remote-config.ts";

/** The configuration file of authorization. Everything has a default; an unknown key is a fault. */
const pdpConfiguration = z.strictObject({
  decision_point: z
    .discriminatedUnion("kind", [z.strictObject({ kind: z.literal("cedar") }), remoteDecisionPoint])
    .default({ kind: "cedar" }),
  /** Folder of the policies, relative to this file; the built-in ones unless given. */
  policy_dir: z.string().min(1).optional(),
  /** The identity graph, or a file (relative to this one) with subjects and resources for policies with a schema of their own. */
  facts: z
    .discriminatedUnion("kind", [
      z.strictObject({ kind: z.literal("membership") }),
      z.strictObject({ kind: z.literal("file"), path: z.string().min(1) }),
    ])
    .default({ kind: "membership" }),
  /** Goes before PDP_ANSWER_DETAIL. */
  answer_detail: z.enum(["coarse", "none"]).optional(),
  // The gateway's part, which it checks itself.
  endpoint_map: z.record(z.string(), z.unknown()).optional(),
  derived_defaults: z.unknown().optional(),
  validation_strict: z.boolean().optional(),
  /** False permits everything; honoured in dev and test alone. */
  enable_authorization: z.boolean().default(true),
});
export type PdpConfiguration = z.infer<typeof pdpConfiguration>;

/** The file does not say what it should. As a start-up fault it exits 78. */
export class ConfigurationRefused extends Error {
  override readonly name = "ConfigurationRefused";
  readonly exitCode = 78;
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    super(issues.map((issue) => (issue.line === undefined ? `${issue.path}: ${issue.message}` : issueLine(issue))).join("\n"));
    this.issues = issues;
  }
}

/** Reads YAML text as this shape; an empty one is an empty object. Throws `ConfigurationRefused` with every fault and its place. */
export const parseYamlFile = <T>(text: string, file: string, shape: z.ZodType<T>, limits: YamlLimits = {}): T => {
  const { document, issues } = readYaml(text, file, limits);
  if (document === undefined) throw new ConfigurationRefused(issues);
  const read = shape.safeParse(document.value ?? {});
  if (!read.success) throw new ConfigurationRefused(shapeIssues(document, read.error));
  return read.data;
};

/** Reads the text of a configuration file. Throws `ConfigurationRefused` with every fault. */
export const parsePdpConfiguration = (text: string, file: string): PdpConfiguration => parseYamlFile(text, file, pdpConfiguration);

/** The file, or every default when there is none. */
export const readPdpConfiguration = async (file: string): Promise<PdpConfiguration> => {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw new ConfigurationRefused([{ path: file, file, message: "cannot be read" }]);
  });
  return parsePdpConfiguration(text, file);
};
