import { z } from "zod";
import { StartFaults } from "#contract/start-faults.ts";
import { uiModules, type UiModule } from "#contract/tools.ts";
import { readConfigFiles } from "#documents/config-files.ts";

const groups = z.strictObject({ groups: z.array(z.string().min(1).max(200)).min(1) }).optional();

const document = z.strictObject({
  apiVersion: z.literal("ui/v1"),
  brand: z.record(z.string().min(1).max(40), z.string().max(200)).default({}),
  /** A module is on for whoever is in one of its groups. */
  modules: z.strictObject(Object.fromEntries(uiModules.map((name) => [name, groups])) as Record<UiModule, typeof groups>).default({}),
});

/** What the web client shows of itself, and for which groups. */
export interface UiDocument {
  readonly brand: Readonly<Record<string, string>>;
  readonly modules: ReadonlyMap<UiModule, ReadonlySet<string>>;
}

/** Reads the `ui.yaml` of each folder; a later one adds to an earlier. Without any, every module is off. Throws `StartFaults` with every fault. */
export const loadUiDocument = async (folders: readonly string[]): Promise<UiDocument> => {
  const words = [...Object.keys(document.shape), ...uiModules, "groups"];
  const { files, faults } = await readConfigFiles(folders, "ui.yaml", document, words);
  if (faults.length > 0) throw new StartFaults(faults);
  return {
    brand: Object.assign({}, ...files.map(({ value }) => value.brand)) as Record<string, string>,
    modules: new Map(uiModules.map((name) => [name, new Set(files.flatMap(({ value }) => value.modules[name]?.groups ?? []))])),
  };
};
