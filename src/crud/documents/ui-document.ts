import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Fault } from "#contract/problem.ts";
import { readYaml, schemaFaults } from "./yaml-document.ts";

const document = z.strictObject({
  apiVersion: z.literal("ui/v1"),
  brand: z.record(z.string().min(1).max(40), z.string().max(200)).default({}),
  /** A module is on for whoever is in one of its groups. */
  modules: z
    .record(z.string().regex(/^[a-z][a-z_]{0,40}$/), z.strictObject({ groups: z.array(z.string().min(1).max(200)).min(1) }))
    .default({}),
});

export type UiDocument = z.output<typeof document>;

/** Reads `config/ui.yaml`. A missing or faulty file switches every module off. */
export const loadUiDocument = async (file: string): Promise<{ readonly document: UiDocument; readonly faults: readonly Fault[] }> => {
  const off: UiDocument = { apiVersion: "ui/v1", brand: {}, modules: {} };
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return { document: off, faults: [] };
  const read = readYaml(text, "ui.yaml");
  if (read.document === undefined) return { document: off, faults: read.faults };
  const parsed = document.safeParse(read.document.value);
  return parsed.success
    ? { document: parsed.data, faults: [] }
    : { document: off, faults: schemaFaults(read.document, parsed.error, Object.keys(document.shape)) };
};
