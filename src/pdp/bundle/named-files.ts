import { parseDocument } from "yaml";
import { z } from "zod";
import type { Fault } from "#contract/problem.ts";
import type { PolicyFiles } from "./policy-files.ts";

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

const readFile = <T>(files: PolicyFiles, file: string, row: z.ZodType<T>, faults: Fault[]): ReadonlyMap<string, T> => {
  const text = files[file];
  if (text === undefined) return new Map();
  const document = parseDocument(text, { uniqueKeys: true, strict: true });
  for (const error of document.errors)
    faults.push({
      path: file,
      file,
      message: error.message.split("\n")[0] ?? "",
      ...(error.linePos === undefined ? {} : { line: error.linePos[0].line }),
    });
  if (document.errors.length > 0) return new Map();
  const read = z.record(z.string().regex(/^[a-z][a-z0-9-]*$/), row).safeParse(document.toJS({ maxAliasCount: 0 }) ?? {});
  if (read.success) return new Map(Object.entries(read.data));
  for (const issue of read.error.issues) faults.push({ path: `${file}/${issue.path.join("/")}`, file, message: issue.message });
  return new Map();
};

/** The obligations and templates that policies may name. */
export const readNamed = (
  files: PolicyFiles,
  faults: Fault[],
): { readonly obligations: ReadonlyMap<string, ObligationKind>; readonly templates: ReadonlyMap<string, Template> } => ({
  obligations: readFile(files, "obligations.yaml", obligationKind, faults),
  templates: readFile(files, "templates.yaml", template, faults),
});
