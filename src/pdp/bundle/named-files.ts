import { isNode, LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import { shownFile, type Finding } from "./findings.ts";
import type { PolicyFiles } from "./policy-files.ts";
import { readYamlValue } from "./yaml-value.ts";

/** What a decision may oblige an enforcement point to do. Several rows may be stricter or laxer forms of one obligation: their `id`. */
const obligationKind = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z][a-z0-9-]*$/)
    .optional(),
  type: z.string().min(1),
  properties: z.record(z.string(), z.unknown()).default({}),
});
export type ObligationKind = z.infer<typeof obligationKind>;

/** Who may lift a denial, and for how long. */
const template = z.strictObject({
  approvers: z
    .string()
    .regex(/^(?:resource_owner|agent_controller|group:[A-Za-z0-9._:@+~-]+)$/, "must be resource_owner, agent_controller or group:<id>"),
  ttl_minutes: z.number().int().min(1).max(43_200),
  valid_minutes: z.number().int().min(1).max(43_200),
  single_use: z.boolean(),
});
export type Template = z.infer<typeof template>;

/** What a person may be told beside a denial. */
const adviceRow = z.strictObject({ text: z.string().min(1).max(500) });
export type Advice = z.infer<typeof adviceRow>;

export interface Named {
  readonly obligations: ReadonlyMap<string, ObligationKind>;
  readonly templates: ReadonlyMap<string, Template>;
  readonly advice: ReadonlyMap<string, Advice>;
}

const readFile = <T>(files: PolicyFiles, name: string, row: z.ZodType<T>, faults: Finding[]): ReadonlyMap<string, T> => {
  const text = files[name];
  const file = shownFile(name);
  if (text === undefined) return new Map();
  const lines = new LineCounter();
  const document = parseDocument(text, { uniqueKeys: true, strict: true, lineCounter: lines });
  for (const error of document.errors)
    faults.push({
      path: file,
      file,
      message: error.message.split("\n")[0] ?? "",
      ...(error.linePos === undefined ? {} : { line: error.linePos[0].line, column: error.linePos[0].col }),
    });
  if (document.errors.length > 0) return new Map();
  const said = readYamlValue(document, lines, file, 0, faults);
  if (said === undefined) return new Map();
  const read = z.record(z.string().regex(/^[a-z][a-z0-9-]*$/), row).safeParse(said.value ?? {});
  if (read.success) return new Map(Object.entries(read.data));
  for (const issue of read.error.issues)
    faults.push({
      path: `${file}/${issue.path.join("/")}`,
      file,
      ...placeOfNode(document, lines, issue.path),
      message: `${issue.path.join(".")} ${issue.message}`.trim(),
    });
  return new Map();
};

/** Where the nearest node of a path stands. */
const placeOfNode = (
  document: ReturnType<typeof parseDocument>,
  lines: LineCounter,
  path: readonly PropertyKey[],
): { readonly line?: number; readonly column?: number } => {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length).map(String), true);
    const at = isNode(node) ? node.range?.[0] : undefined;
    if (at !== undefined) {
      const { line, col } = lines.linePos(at);
      return { line, column: col };
    }
  }
  return {};
};

/** The obligations, templates and advice that policies may name. */
export const readNamed = (files: PolicyFiles, faults: Finding[]): Named => ({
  obligations: readFile(files, "obligations.yaml", obligationKind, faults),
  templates: readFile(files, "templates.yaml", template, faults),
  advice: readFile(files, "advice.yaml", adviceRow, faults),
});
