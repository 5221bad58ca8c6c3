import { z } from "zod";
import { policyFileChanges } from "#contract/policies.ts";

/** Unsaved work on a version: texts by path, `null` for a removed file, and what it is for. */
const kept = z.object({ files: z.record(z.string(), z.string().nullable()), message: z.string() });
export type PolicyDraft = Readonly<z.infer<typeof kept>>;

export const emptyDraft: PolicyDraft = { files: {}, message: "" };

export const readPolicyDraft = (value: unknown): PolicyDraft | undefined => kept.safeParse(value).data;

export type FileState = "same" | "changed" | "added" | "removed";

export const fileStateOf = (path: string, base: Readonly<Record<string, string>>, files: PolicyDraft["files"]): FileState => {
  if (!Object.hasOwn(files, path)) return "same";
  if (files[path] === null) return "removed";
  return Object.hasOwn(base, path) ? "changed" : "added";
};

/** Sets a file's text; what is again as it was is no change. */
export const withText = (base: Readonly<Record<string, string>>, draft: PolicyDraft, path: string, text: string): PolicyDraft => {
  if (Object.hasOwn(base, path) && base[path] === text) return withoutChange(draft, path);
  return { ...draft, files: { ...draft.files, [path]: text } };
};

/** Removes a file; one that was only added is forgotten. */
export const withoutFile = (base: Readonly<Record<string, string>>, draft: PolicyDraft, path: string): PolicyDraft =>
  Object.hasOwn(base, path) ? { ...draft, files: { ...draft.files, [path]: null } } : withoutChange(draft, path);

export const withoutChange = (draft: PolicyDraft, path: string): PolicyDraft => ({
  ...draft,
  files: Object.fromEntries(Object.entries(draft.files).filter(([name]) => name !== path)),
});

/** All paths there are, of the version and added. */
export const pathsOf = (base: Readonly<Record<string, string>>, draft: PolicyDraft): readonly string[] => [
  ...new Set([...Object.keys(base), ...Object.keys(draft.files)]),
];

/** May a file of the bundle be called so? */
export const isPolicyPath = (path: string): boolean => policyFileChanges.safeParse({ [path]: "" }).success;
