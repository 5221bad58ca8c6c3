import { createHash } from "node:crypto";
import { statement, type Database } from "#store/database.ts";

/** The ways in which a careless part could carry a text: as it is, encoded, escaped, hashed, or inside a longer base64 text. */
export const formsOf = (secret: string): readonly (readonly [name: string, text: string])[] => {
  const bytes = Buffer.from(secret, "utf8");
  // Whole groups of three bytes that do not depend on what stands before or after.
  const encoded = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .slice(offset === 0 ? 0 : 4, -4),
  );
  const urlSafe = encoded.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  const hash = createHash("sha256").update(bytes).digest();
  return [
    ["raw", secret],
    ["JSON", JSON.stringify(secret).slice(1, -1)],
    ["JSON in JSON", JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
    ["percent-encoded", encodeURIComponent(secret)],
    ["a form's field", new URLSearchParams({ v: secret }).toString().slice(2)],
    ["hex", bytes.toString("hex")],
    ["upper-case hex", bytes.toString("hex").toUpperCase()],
    ...encoded.map((text, offset) => [`base64, shifted by ${offset}`, text] as const),
    ...urlSafe.map((text, offset) => [`base64url, shifted by ${offset}`, text] as const),
    ["reversed", secret.split("").toReversed().join("")],
    ["SHA-256 in hex", hash.toString("hex")],
    ["SHA-256 in base64url", hash.toString("base64url")],
  ];
};

const TABLES = statement<{ place: string }>(
  "testing.tables",
  `select format('%I.%I', table_schema, table_name) as place from information_schema.tables
   where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema') order by 1`,
);

/** Every row of every table of Sallyport, whatever tables there are; bytes as hex, and as the text that they are of. */
export const textOfDatabase = async (database: Database): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>();
  for (const { place } of await database.run(TABLES)) {
    const rows = await database.run(statement<{ row: string }>(`testing.rows_of_${place}`, `select t::text as row from ${place} as t`));
    const text = rows.map(({ row }) => row).join("\n");
    const bytes = [...text.matchAll(/\\x([0-9a-f]{2,})/g)].map(([, hex]) => Buffer.from(hex ?? "", "hex").toString("utf8"));
    found.set(place, [text, ...bytes].join("\n"));
  }
  return found;
};
