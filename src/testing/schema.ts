import { createHash } from "node:crypto";
import { readMigrations, type MigrationFolder } from "#store/migrate.ts";

/** Modules by name, or folders of migrations. Order counts: a module stands after those whose tables it names. */
export type Modules = readonly (string | MigrationFolder)[];

export const migrationFolders = (modules: Modules): readonly MigrationFolder[] =>
  modules.map((module) => (typeof module === "string" ? { module, folder: new URL(`../${module}/migrations/`, import.meta.url) } : module));

const readDigest = async (folders: readonly MigrationFolder[]): Promise<string> => {
  const digest = createHash("sha256").update("2\n");
  for (const migration of await readMigrations(folders)) digest.update(`${migration.module}/${migration.name} ${migration.digest}\n`);
  return digest.digest("hex").slice(0, 32);
};

/** Of modules by name, whose files no test changes. */
const known = new Map<string, Promise<string>>();

/** Names the schema that these modules' migrations make, so that a changed migration gets a new template. */
export const schemaDigest = (modules: Modules): Promise<string> => {
  const read = (): Promise<string> => readDigest(migrationFolders(modules));
  if (modules.some((module) => typeof module !== "string")) return read();
  const names = modules.map(String).join();
  const digest = known.get(names) ?? read();
  known.set(names, digest);
  return digest;
};
