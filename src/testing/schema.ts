import { createHash } from "node:crypto";
import { readMigrations, type MigrationFolder } from "#store/migrate.ts";

/** Rooms by name, or folders of migrations. Order counts: a room stands after those whose tables it names. */
export type Rooms = readonly (string | MigrationFolder)[];

export const migrationFolders = (rooms: Rooms): readonly MigrationFolder[] =>
  rooms.map((room) => (typeof room === "string" ? { room, folder: new URL(`../${room}/migrations/`, import.meta.url) } : room));

const readDigest = async (folders: readonly MigrationFolder[]): Promise<string> => {
  const digest = createHash("sha256").update("2\n");
  for (const migration of await readMigrations(folders)) digest.update(`${migration.room}/${migration.name} ${migration.digest}\n`);
  return digest.digest("hex").slice(0, 32);
};

/** Of rooms by name, whose files no test changes. */
const known = new Map<string, Promise<string>>();

/** Names the schema that these rooms' migrations make, so that a changed migration gets a new template. */
export const schemaDigest = (rooms: Rooms): Promise<string> => {
  const read = (): Promise<string> => readDigest(migrationFolders(rooms));
  if (rooms.some((room) => typeof room !== "string")) return read();
  const names = rooms.map(String).join();
  const digest = known.get(names) ?? read();
  known.set(names, digest);
  return digest;
};
