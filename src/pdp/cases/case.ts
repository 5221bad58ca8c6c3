import { LineCounter, parseDocument, isSeq, isNode } from "yaml";
import { z } from "zod";
import { shownFile, type Finding } from "#pdp/bundle/findings.ts";
import type { PolicyFiles } from "#pdp/bundle/policy-files.ts";
import { readYamlValue } from "#pdp/bundle/yaml-value.ts";

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

/** Every case of a bundle's files. Findings: what is no YAML, no list, no case, or has a name that was there before. */
export const readCases = (files: PolicyFiles, faults: Finding[]): readonly PolicyCase[] => {
  const cases: PolicyCase[] = [];
  const names = new Set<string>();
  for (const [name, text] of Object.entries(files)) {
    if (!name.startsWith(PREFIX)) continue;
    const file = shownFile(name);
    const lines = new LineCounter();
    const document = parseDocument(text, { uniqueKeys: true, strict: true, merge: true, lineCounter: lines });
    for (const error of document.errors) {
      const place = error.linePos === undefined ? {} : { line: error.linePos[0].line, column: error.linePos[0].col };
      faults.push({ path: file, file, message: error.message.split("\n")[0] ?? "", ...place });
    }
    if (document.errors.length > 0) continue;
    const list = document.contents;
    if (!isSeq(list)) {
      faults.push({ path: file, file, message: "must be a list of cases" });
      continue;
    }
    const said = readYamlValue(document, lines, file, 100, faults);
    if (said === undefined) continue;
    for (const [index, value] of (said.value as readonly unknown[]).entries()) {
      const node = list.items[index];
      const at = isNode(node) && node.range ? lines.linePos(node.range[0]) : undefined;
      const place = at === undefined ? {} : { line: at.line, column: at.col };
      const fault = (message: string, path: readonly PropertyKey[] = []): void =>
        void faults.push({ path: [file, String(index), ...path.map(String)].join("/"), file, ...place, message });
      const read = policyCase.safeParse(value);
      if (!read.success) {
        for (const issue of read.error.issues) fault(`${issue.path.map(String).join(".")} ${issue.message}`.trim(), issue.path);
        continue;
      }
      if (names.has(read.data.name)) fault(`repeats the name of another case: ${read.data.name}`);
      names.add(read.data.name);
      cases.push({ ...read.data, file });
    }
  }
  return cases;
};
