import { statement, type Database } from "#store/database.ts";

type Text = readonly [place: string, text: string];

/** Every row of every table, as text. */
export const dumpTables = async (database: Database): Promise<readonly Text[]> => {
  const tables = await database.run<{ name: string }>(
    statement(
      "t.tables",
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
    ),
  );
  const found: Text[] = [];
  for (const { name } of tables) {
    const rows = await database.run<{ row: string }>(statement(`t.dump_${name}`, `select x::text as row from ${name} x`));
    found.push([name, rows.map(({ row }) => row).join("\n")]);
  }
  return found;
};

/** In the spellings in which a value may lie somewhere. */
const spellings = (secret: string): readonly string[] => [
  secret,
  Buffer.from(secret).toString("base64").replaceAll("=", ""),
  Buffer.from(secret).toString("base64url"),
  Buffer.from(secret).toString("hex"),
];

/** Where any of these values lies. */
export const placesWith = (secrets: readonly string[], texts: readonly Text[]): readonly string[] =>
  texts.flatMap(([place, text]) => (secrets.flatMap(spellings).some((secret) => text.includes(secret)) ? [place] : []));
