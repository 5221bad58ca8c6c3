import { z } from "zod";
import type { YamlDocument } from "#parsing/yaml-document.ts";
import { readBundled, shapeFindings, type Finding } from "#pdp/bundle/findings.ts";
import { perText } from "#pdp/bundle/per-text.ts";
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
const MAX_ALIASES = 100;

interface ReadFile {
  /** By their place in the list. */
  readonly cases: ReadonlyMap<number, PolicyCase>;
  readonly findings: readonly Finding[];
}
const readings = perText<ReadFile>();

const readDocument = (name: string, text: string, found: Finding[]): YamlDocument | undefined =>
  readBundled(name, text, found, { aliases: MAX_ALIASES });

const readFile = (name: string, text: string): ReadFile => {
  const findings: Finding[] = [];
  const cases = new Map<number, PolicyCase>();
  const document = readDocument(name, text, findings);
  if (document === undefined) return { cases, findings };
  const { file, value: list } = document;
  if (!Array.isArray(list)) return { cases, findings: [{ path: file, file, message: "must be a list of cases" }] };
  for (const [index, value] of list.entries()) {
    const read = policyCase.safeParse(value);
    if (read.success) cases.set(index, { ...read.data, file });
    else findings.push(...shapeFindings(document, read.error, [index]));
  }
  return { cases, findings };
};

/** Every case of a bundle's files. Findings: what is no YAML, no list, no case, or has a name that was there before. */
export const readCases = (files: PolicyFiles, issues: Finding[]): readonly PolicyCase[] => {
  const all: PolicyCase[] = [];
  const names = new Set<string>();
  for (const [name, text] of Object.entries(files)) {
    if (!name.startsWith(PREFIX)) continue;
    const { cases, findings } = readings([name, text], () => readFile(name, text));
    issues.push(...findings);
    // Where a case stands only its document can say, which is many times as large as what is held of it.
    let document: YamlDocument | undefined;
    for (const [index, value] of cases) {
      if (names.has(value.name)) {
        document ??= readDocument(name, text, []);
        if (document !== undefined) issues.push(document.issue([index], `repeats the name of another case: ${value.name}`));
      }
      names.add(value.name);
      all.push(value);
    }
  }
  return all;
};
