import { readFile, realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { Issue } from "#contract/problem.ts";
import type { YamlDocument } from "#parsing/yaml-document.ts";
import type { DegradedFile } from "#crud/documents/degraded-lines.ts";
import { documentText, yamlNames } from "#crud/documents/read-folder.ts";
import { readSystemText, type OwnerAt, type ReadSystemText } from "./read-system-text.ts";
import type { SystemDocument } from "./system-document.ts";

/** Texts of the files that a document names, by the path that it names them with. */
export type References = Readonly<Record<string, string>>;

export interface SystemFile {
  /** `<provider>.<instance>`, as the file is named. */
  readonly name: string;
  readonly document: SystemDocument;
  readonly yaml: YamlDocument;
  readonly text: string;
  readonly refs: References;
}

/** The text of a file that a document names; undefined where it names none that it may. */
export type ReadReference = (path: string) => Promise<string | undefined>;

/** Reads files of one folder and of no other, however they are named or linked. */
export const referencesOf =
  (folder: string): ReadReference =>
  async (path) => {
    const root = await realpath(folder).catch(() => undefined);
    const file = await realpath(join(folder, path)).catch(() => undefined);
    // Documents of systems lie there too, and are nobody's schema.
    return !path.startsWith("./") ||
      /\.ya?ml$/i.test(path) ||
      /\.ya?ml$/i.test(file ?? "") ||
      root === undefined ||
      file === undefined ||
      !file.startsWith(root + sep)
      ? undefined
      : readFile(file, "utf8");
  };

/** Replaces `output.schema: {$ref: "./..."}` by the file it names. Answers the texts of those files. */
const readReferences = async (document: SystemDocument, yaml: YamlDocument, read: ReadReference, issues: Issue[]): Promise<References> => {
  const refs: Record<string, string> = {};
  if (!("operations" in document)) return refs;
  for (const [base, operation] of Object.entries(document.operations)) {
    const reference = operation.output.schema?.["$ref"];
    if (typeof reference !== "string" || reference.startsWith("#")) continue;
    const path = ["operations", base, "output", "schema", "$ref"];
    const text = await read(reference);
    if (text === undefined) {
      issues.push(yaml.issue(path, "must name a file of this folder: ./..."));
      continue;
    }
    try {
      operation.output.schema = JSON.parse(text) as Record<string, unknown>;
      refs[reference] = text;
    } catch {
      issues.push(yaml.issue(path, "names a file that is no JSON"));
    }
  }
  return refs;
};

/** Reads one document; `shown` is how issues name it. A `name` that is undefined is taken from the document. */
export const readSystem = async (given: {
  readonly name: string | undefined;
  readonly text: string;
  readonly shown: string;
  readonly read: ReadReference;
  /** Where the text is read; here unless said. */
  readonly readText?: ReadSystemText;
  /** Operations that are passed over. */
  readonly without?: readonly string[];
}): Promise<SystemFile | (DegradedFile & { readonly owner?: OwnerAt })> => {
  const { text } = given;
  const name = given.name ?? "";
  const found = await (given.readText ?? readSystemText)(text, given.shown, given.without);
  if ("issues" in found) return { ...found, name: given.name ?? found.name ?? "" };
  const { value: document, yaml } = found;
  const issues: Issue[] = [];
  const refs = await readReferences(document, yaml, given.read, issues);
  const ownName = `${document.provider}.${document.instance}`;
  if (given.name !== undefined && ownName !== name) issues.push(yaml.issue(["instance"], "provider and instance must be the file's name"));
  const owner = { owner: document.owner, at: yaml.issue(["owner"], "") };
  return issues.length > 0 ? { name: given.name ?? ownName, issues, owner } : { name: ownName, document, yaml, text, refs };
};

const loadFile = async (folder: string, file: string, shown: string): Promise<readonly (SystemFile | DegradedFile)[]> => {
  const text = await documentText(join(folder, file));
  return text === undefined ? [] : [await readSystem({ name: file.replace(/\.yaml$/, ""), text, shown, read: referencesOf(folder) })];
};

/**
 * Reads `*.yaml` of each folder in the order of their names, and shows them as they lie beside the first. A folder that is
 * not there holds no systems; a system that an earlier folder has is an issue of the later file.
 */
export const loadSystems = async (...folders: readonly string[]) => {
  const loaded: (SystemFile | DegradedFile)[] = [];
  for (const folder of folders) {
    const names = await yamlNames(folder);
    const earlier = new Set(loaded.map(({ name }) => name));
    const shown = (name: string): string => join("systems", relative(folders[0] ?? folder, folder), name);
    const read = await Promise.all(names.map((name) => loadFile(folder, name, shown(name))));
    for (const one of read.flat()) {
      if (!earlier.has(one.name)) loaded.push(one);
      else if ("document" in one)
        loaded.push({
          name: one.name,
          issues: [one.yaml.issue([], "is a system that another folder has under this name; that one counts")],
        });
    }
  }
  return {
    files: loaded.filter((item): item is SystemFile => "document" in item),
    /** Files that do not load; the others are untouched. */
    degraded: loaded.filter((item): item is DegradedFile => "issues" in item),
  };
};
