import { z } from "zod";
import { readBundled, shapeFindings, type Finding } from "./findings.ts";
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
    .regex(
      /^(?:resource_owner|agent_controller|(?:group|role):[A-Za-z0-9._:@+~-]+)$/,
      "must be resource_owner, agent_controller, group:<id> or role:<id>",
    ),
  ttl_minutes: z.number().int().min(1).max(43_200),
  valid_minutes: z.number().int().min(1).max(43_200),
  single_use: z.boolean(),
});
export type RequestTemplate = z.infer<typeof template>;

/** What a person may be told beside a denial. */
const adviceRow = z.strictObject({ text: z.string().min(1).max(500) });
export type Advice = z.infer<typeof adviceRow>;

export interface Named {
  readonly obligations: ReadonlyMap<string, ObligationKind>;
  readonly templates: ReadonlyMap<string, RequestTemplate>;
  readonly advice: ReadonlyMap<string, Advice>;
}

const readFile = <T>(files: PolicyFiles, name: string, row: z.ZodType<T>, issues: Finding[]): ReadonlyMap<string, T> => {
  const document = readBundled(name, files[name] ?? "", issues);
  const read = z.record(z.string().regex(/^[a-z][a-z0-9-]*$/), row).safeParse(document?.value ?? {});
  if (document !== undefined && !read.success) issues.push(...shapeFindings(document, read.error));
  return new Map(Object.entries(read.data ?? {}));
};

/** The obligations, templates and advice that policies may name. */
export const readNamed = (files: PolicyFiles, issues: Finding[]): Named => ({
  obligations: readFile(files, "obligations.yaml", obligationKind, issues),
  templates: readFile(files, "templates.yaml", template, issues),
  advice: readFile(files, "advice.yaml", adviceRow, issues),
});
