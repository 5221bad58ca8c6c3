import { z } from "zod";
import { readBundled, shapeFindings, type Finding } from "#pdp/bundle/findings.ts";
import type { PolicyFiles } from "#pdp/bundle/policy-files.ts";

const resourceWord = z.string().min(1);

/** A case of the policies, on facts of its own: `given` changes neutral facts, `ask` is the question, `expect` the whole answer that matters. */
export const policyCase = z.strictObject({
  name: z.string().min(1).max(300),
  given: z.strictObject({
    subject: z.string(),
    agent: z.string().optional(),
    /** Merged over neutral facts: nobody's member, nothing granted, a resource of the subject's tenant. */
    facts: z.record(z.string(), z.unknown()).default({}),
    now: z.iso.datetime().default("2026-01-01T00:00:00Z"),
  }),
  ask: z
    .strictObject({
      action: z.string(),
      /** The type, or `{type, id}`. */
      resource: resourceWord.or(z.strictObject({ type: resourceWord, id: z.string().optional() })),
      id: z.string().optional(),
      context: z.record(z.string(), z.unknown()).default({}),
    })
    .transform(({ resource, id, ...ask }) => {
      const named = typeof resource === "string" ? { type: resource } : resource;
      return { ...ask, type: named.type, id: id ?? ("id" in named ? named.id : undefined) ?? "*" };
    }),
  expect: z.strictObject({
    decision: z.boolean(),
    policies: z.array(z.string()).optional(),
    obligations: z.array(z.string()).optional(),
    reason: z.string().optional(),
    requestable: z.boolean().optional(),
  }),
});
export type PolicyCase = z.infer<typeof policyCase> & { readonly file?: string };

const PREFIX = "cases/";
/** Cases may share what is given by aliases: so many values may stand for others in one file. */
const MOST_ALIASES = 100;

/** Every case of a bundle's files. Findings: what is no YAML, no list, no case, or has a name that was there before. */
export const readCases = (files: PolicyFiles, faults: Finding[]): readonly PolicyCase[] => {
  const cases: PolicyCase[] = [];
  const names = new Set<string>();
  for (const [name, text] of Object.entries(files)) {
    if (!name.startsWith(PREFIX)) continue;
    const document = readBundled(name, text, faults, { aliases: MOST_ALIASES });
    if (document === undefined) continue;
    const { file, value: list } = document;
    if (!Array.isArray(list)) {
      faults.push({ path: file, file, message: "must be a list of cases" });
      continue;
    }
    for (const [index, value] of list.entries()) {
      const read = policyCase.safeParse(value);
      if (!read.success) {
        faults.push(...shapeFindings(document, read.error, [index]));
        continue;
      }
      if (names.has(read.data.name)) faults.push(document.fault([index], `repeats the name of another case: ${read.data.name}`));
      names.add(read.data.name);
      cases.push({ ...read.data, file });
    }
  }
  return cases;
};
