import { readdir, readFile, realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { Fault } from "#contract/problem.ts";
import { shapeFaults } from "#documents/shape-faults.ts";
import { readYaml, type YamlDocument } from "#documents/yaml-document.ts";
import type { DegradedFile } from "#crud/documents/degraded-lines.ts";
import { documentKinds, plannedKinds, type SystemDocument } from "./system-document.ts";

export interface SystemFile {
  /** `<provider>.<instance>`, as the file is named. */
  readonly name: string;
  readonly document: SystemDocument;
  readonly yaml: YamlDocument;
}

export interface LoadedFiles {
  readonly files: readonly SystemFile[];
  /** Files that do not load; the others are untouched. */
  readonly degraded: readonly DegradedFile[];
}

/** More is a fault, not a slow start. */
const MAX_MEBIBYTES = 0.25;

const known = (kind: keyof typeof documentKinds): readonly string[] => Object.keys(documentKinds[kind].shape);

const kindOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null ? (value as { readonly kind?: unknown }).kind : undefined;

const isKind = (kind: unknown): kind is keyof typeof documentKinds => typeof kind === "string" && Object.hasOwn(documentKinds, kind);

/** Replaces `output.schema: {$ref: "./..."}` by the file it names, which must lie in the systems folder. */
const readReferences = async (folder: string, document: SystemDocument, yaml: YamlDocument): Promise<readonly Fault[]> => {
  if (document.kind === "mcp") return [];
  const faults: Fault[] = [];
  const root = await realpath(folder);
  for (const [base, operation] of Object.entries(document.operations)) {
    const reference = operation.output.schema?.["$ref"];
    if (typeof reference !== "string" || reference.startsWith("#")) continue;
    const path = ["operations", base, "output", "schema", "$ref"];
    const file = await realpath(join(folder, reference)).catch(() => undefined);
    if (!reference.startsWith("./") || file === undefined || !file.startsWith(root + sep)) {
      faults.push(yaml.fault(path, "must name a file of this folder: ./..."));
      continue;
    }
    try {
      operation.output.schema = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
    } catch {
      faults.push(yaml.fault(path, "names a file that is no JSON"));
    }
  }
  return faults;
};

const loadFile = async (folder: string, file: string, shown: string): Promise<SystemFile | DegradedFile> => {
  const name = file.replace(/\.yaml$/, "");
  const read = readYaml(await readFile(join(folder, file), "utf8"), shown, { mebibytes: MAX_MEBIBYTES });
  const yaml = read.document;
  if (yaml === undefined) return { name, faults: read.faults };
  const kind = kindOf(yaml.value);
  if (!isKind(kind)) {
    const isPlanned = typeof kind === "string" && plannedKinds.includes(kind);
    const message = isPlanned ? `${kind} has no connector in this version` : `must be one of ${Object.keys(documentKinds).join(", ")}`;
    return { name, faults: [yaml.fault(["kind"], message, isPlanned ? { code: "connector_not_available" } : {})] };
  }
  const parsed = documentKinds[kind].safeParse(yaml.value);
  if (!parsed.success) return { name, faults: shapeFaults(yaml, parsed.error, { words: known(kind) }) };
  const document: SystemDocument = parsed.data;
  const faults = [...(await readReferences(folder, document, yaml))];
  if (`${document.provider}.${document.instance}` !== name)
    faults.push(yaml.fault(["instance"], "provider and instance must be the file's name"));
  return faults.length > 0 ? { name, faults } : { name, document, yaml };
};

/**
 * Reads `*.yaml` of each folder in the order of their names, and shows them as they lie beside the first. A folder that is
 * not there holds no systems; a system that an earlier folder has is a fault of the later file.
 */
export const loadSystems = async (...folders: readonly string[]): Promise<LoadedFiles> => {
  const loaded: (SystemFile | DegradedFile)[] = [];
  for (const folder of folders) {
    const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".yaml")).toSorted();
    const earlier = new Set(loaded.map(({ name }) => name));
    const shown = (name: string): string => join("systems", relative(folders[0] ?? folder, folder), name);
    const read = await Promise.all(names.map((name) => loadFile(folder, name, shown(name))));
    for (const one of read) {
      if (!earlier.has(one.name)) loaded.push(one);
      else if ("document" in one)
        loaded.push({
          name: one.name,
          faults: [one.yaml.fault([], "is a system that another folder has under this name; that one counts")],
        });
    }
  }
  return {
    files: loaded.filter((item): item is SystemFile => "document" in item),
    degraded: loaded.filter((item): item is DegradedFile => "faults" in item),
  };
};
