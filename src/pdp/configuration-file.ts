import { readFile } from "node:fs/promises";
import { Lexer, parseDocument } from "yaml";
import { z } from "zod";
import type { Fault } from "#contract/problem.ts";
import { remoteDecisionPoint } from "./remote/remote-config.ts";

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
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map((fault) => `${fault.path}: ${fault.message}`).join("\n"));
    this.faults = faults;
  }
}

const MAX_DEPTH = 16;

/** Nesting of brackets is counted on tokens first: the parser itself is recursive. */
const isTooDeep = (text: string): boolean => {
  let depth = 0;
  for (const token of new Lexer().lex(text)) {
    if (token === "{" || token === "[") depth += 1;
    if (token === "}" || token === "]") depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
};

/** Reads YAML text as this shape. Throws `ConfigurationRefused` with every fault and its place. */
export const parseYamlFile = <T>(text: string, file: string, shape: z.ZodType<T>): T => {
  if (isTooDeep(text)) throw new ConfigurationRefused([{ path: file, file, message: "is nested too deeply" }]);
  const document = parseDocument(text, { uniqueKeys: true, strict: true });
  if (document.errors.length > 0) {
    throw new ConfigurationRefused(
      document.errors.map((error) => ({
        path: file,
        file,
        message: error.message.split("\n")[0] ?? "is not YAML",
        ...(error.linePos === undefined ? {} : { line: error.linePos[0].line }),
      })),
    );
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 0 }) ?? {};
  } catch {
    throw new ConfigurationRefused([{ path: file, file, message: "holds an alias" }]);
  }
  const read = shape.safeParse(value);
  if (read.success) return read.data;
  throw new ConfigurationRefused(
    read.error.issues.map((issue) => ({ path: `${file}#/${issue.path.map(String).join("/")}`, file, message: issue.message })),
  );
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
