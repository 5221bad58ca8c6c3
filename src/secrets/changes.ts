import { statement, type Database } from "#store/database.ts";
import { formatPrefix, type SecretPrefix } from "./secret-uri.ts";

/** The house's last change of a secret. */
export interface LastChange {
  readonly updated_by: string;
  readonly updated_at: string;
  readonly rotated_at?: string;
}

export interface Changes {
  /** Before a store is touched: from here on no process serves what it keeps of these secrets. URIs without key and version. */
  begin(tenant: string, uris: readonly string[]): Promise<void>;
  /** `done`: who did it, and the version it made; `undefined`: nothing was changed. */
  end(
    uris: readonly string[],
    done: { readonly tenant: string; readonly by: string; readonly isRotation: boolean; readonly version?: number } | undefined,
  ): Promise<void>;
  /** Names the state of a secret: another one after every change of any process. `undefined`: a change is under way. */
  stampOf(place: SecretPrefix): Promise<string | undefined>;
  /** By URI; one whose newest version is not the house's is left out where `version` is told. */
  last(tenant: string, uris: readonly string[], version?: number): Promise<ReadonlyMap<string, LastChange>>;
}

const BEGIN = statement(
  "secrets.change_begin",
  `insert into secrets.change (uri, tenant, stamp, changing_until)
   select uri, $1, nextval('secrets.change_stamp'), now() + make_interval(secs => $3) from unnest($2::text[]) as uri order by uri
   on conflict (uri) do update set stamp = excluded.stamp, changing_until = excluded.changing_until`,
);
const END = statement(
  "secrets.change_end",
  `update secrets.change set stamp = nextval('secrets.change_stamp'), changing_until = null,
     tenant = coalesce($5, tenant), updated_by = coalesce($2, updated_by),
     updated_at = case when $2::text is null then updated_at else now() end,
     rotated_at = case when $3 then now() else rotated_at end, version = coalesce($4, version)
   where uri = any($1)`,
);
const STAMP = statement<{ stamp: string; changing: boolean }>(
  "secrets.change_stamp",
  "select stamp::text as stamp, coalesce(changing_until > now(), false) as changing from secrets.change where uri = $1",
);
const LAST = statement<{ uri: string; updated_by: string; updated_at: string; rotated_at: string | null }>(
  "secrets.change_last",
  `select uri, updated_by, updated_at, rotated_at from secrets.change
   where tenant = $1 and uri = any($2) and updated_by is not null and ($3::bigint is null or version is null or version = $3)`,
);

/** `keepSeconds`: how long any process keeps a value at most; for so long an unfinished change stands in the way. */
export const createChanges = (database: Database, keepSeconds: number): Changes => ({
  begin: async (tenant, uris) => void (await database.run(BEGIN, [tenant, uris, keepSeconds + 1])),
  end: async (uris, done) =>
    void (await database.run(END, [uris, done?.by ?? null, done?.isRotation ?? false, done?.version ?? null, done?.tenant ?? null])),
  stampOf: async (place) => {
    const [row] = await database.run(STAMP, [formatPrefix(place)]);
    return row === undefined ? "0" : row.changing ? undefined : row.stamp;
  },
  last: async (tenant, uris, version) => {
    const rows = uris.length === 0 ? [] : await database.run(LAST, [tenant, uris, version ?? null]);
    return new Map(
      rows.map(({ uri, updated_by, updated_at, rotated_at }) => [
        uri,
        {
          updated_by,
          updated_at,
          ...(rotated_at === null ? {} : { rotated_at }),
        },
      ]),
    );
  },
});
