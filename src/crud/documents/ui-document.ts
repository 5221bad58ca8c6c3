import { z } from "zod";
import { StartIssues } from "#contract/start-issues.ts";
import { uiModules, type UiModule } from "#contract/tools.ts";
import { readConfigFiles } from "#parsing/config-files.ts";
import { said } from "#parsing/said.ts";

const groups = said(
  z
    .strictObject({
      groups: said(z.array(z.string().min(1).max(200)).min(1), "Groups and roles; one of them is enough.", ["role:administrator"]),
    })
    .optional(),
  "Who sees this module; what it shows is decided where it is served. Not named: nobody.",
  { groups: ["role:administrator"] },
);

/** The shape of `ui.yaml`. */
export const uiDocument = z.strictObject({
  apiVersion: said(z.literal("ui/v1"), "The version of this format.", "ui/v1"),
  brand: said(z.record(z.string().min(1).max(40), z.string().max(200)).default({}), "Texts that the web client shows of Sallyport.", {
    name: "Sallyport",
  }),
  modules: said(
    z.strictObject(Object.fromEntries(uiModules.map((name) => [name, groups])) as Record<UiModule, typeof groups>).default({}),
    "Modules of the web client that are on.",
    { pdp: { groups: ["role:administrator"] } },
  ),
});

/** What the web client shows of itself, and for which groups. */
export interface UiDocument {
  readonly brand: Readonly<Record<string, string>>;
  readonly modules: ReadonlyMap<UiModule, ReadonlySet<string>>;
}

/** Reads the `ui.yaml` of each folder; a later one adds to an earlier. Without any, every module is off. Throws `StartIssues` with every issue. */
export const loadUiDocument = async (folders: readonly string[]): Promise<UiDocument> => {
  const { files, issues } = await readConfigFiles(folders, "ui.yaml", uiDocument);
  if (issues.length > 0) throw new StartIssues(issues);
  return {
    brand: Object.assign({}, ...files.map(({ value }) => value.brand)) as Record<string, string>,
    modules: new Map(uiModules.map((name) => [name, new Set(files.flatMap(({ value }) => value.modules[name]?.groups ?? []))])),
  };
};
