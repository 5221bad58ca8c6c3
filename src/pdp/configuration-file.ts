import { readFile } from "node:fs/promises";
import { isCollection, isNode, isPair, isScalar, LineCounter, Lexer, parseDocument, type Document } from "yaml";
import { z } from "zod";
import { faultLine } from "#contract/start-faults.ts";
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
    super(faults.map((fault) => (fault.line === undefined ? `${fault.path}: ${fault.message}` : faultLine(fault))).join("\n"));
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

/** Where a key stands, or the nearest thing around it. Lines and columns from 1. */
const placeOf = (document: Document, lines: LineCounter, path: readonly string[]): { readonly line: number; readonly column: number } => {
  for (let length = path.length; length > 0; length--) {
    const parent = document.getIn(path.slice(0, length - 1), true);
    const items: readonly unknown[] = isCollection(parent) ? parent.items : [];
    const key = path[length - 1];
    const pair = items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === key);
    const node = isPair(pair) ? pair.key : document.getIn(path.slice(0, length), true);
    const at = isNode(node) ? node.range?.[0] : undefined;
    if (at !== undefined) {
      const { line, col } = lines.linePos(at);
      return { line, column: col };
    }
  }
  return { line: 1, column: 1 };
};

/** Reads YAML text as this shape. Throws `ConfigurationRefused` with every fault and its place. */
export const parseYamlFile = <T>(text: string, file: string, shape: z.ZodType<T>): T => {
  if (isTooDeep(text)) throw new ConfigurationRefused([{ path: file, file, message: "is nested too deeply" }]);
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { uniqueKeys: true, strict: true, lineCounter });
  if (document.errors.length > 0) {
    throw new ConfigurationRefused(
      document.errors.map((error) => ({
        path: "",
        file,
        message: error.message.split("\n")[0] ?? "is not YAML",
        ...(error.linePos === undefined ? {} : { line: error.linePos[0].line, column: error.linePos[0].col }),
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
    read.error.issues.flatMap((issue) => {
      const at = issue.path.map(String);
      const rows: readonly (readonly [path: readonly string[], message: string])[] =
        issue.code === "unrecognized_keys" ? issue.keys.map((key) => [[...at, key], "is not known here"]) : [[at, issue.message]];
      return rows.map(([path, message]) => ({ path: `/${path.join("/")}`, file, ...placeOf(document, lineCounter, path), message }));
    }),
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
