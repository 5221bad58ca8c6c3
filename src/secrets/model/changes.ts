import type { ReplyOf } from "#contract/endpoint.ts";
import type { listSecretMetadata } from "#contract/secret-listings.ts";
import { statement, type Database } from "#store/database.ts";
import { formatPrefix, type SecretPrefix } from "./secret-uri.ts";
import type { SharedStore, StorePosition } from "./store-position.ts";

/** What Sallyport knows of a secret beside its store: whose it is, who made it and who changed it last. */
export type LastChange = Omit<ReplyOf<typeof listSecretMetadata>["items"][number], "uri" | "keys">;

/** Who changed something, and the version that it made. */
export interface Done {
  readonly tenant: string;
  readonly by: string;
  readonly isRotation: boolean;
  readonly isFirst?: boolean;
  readonly version?: number;
}
export type Changes = ReturnType<typeof createChanges>;

type Nullable<T> = { readonly [name in keyof T]: T[name] | null };

// A place may be of two tenants: who did what there is told to the tenant of whoever did something last, and nothing of the other's.
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
     rotated_at = case when $3 then now() when $6 then null else rotated_at end, version = coalesce($4, version),
     created_by = case when $6 then $2 when tenant = coalesce($5, tenant) then created_by end,
     created_at = case when $6 then now() when tenant = coalesce($5, tenant) then created_at end,
     owner = case when tenant = coalesce($5, tenant) then owner end
   where uri = any($1)`,
);
/** Of several processes the one that was told of the farthest place wins, whichever comes last. */
const COME = statement(
  "secrets.store_come",
  `insert into secrets.store_position as known (store, cluster, value, place)
   values ($1, $2, coalesce($3::numeric, nextval('secrets.change_stamp')), $4)
   on conflict (store) do update set cluster = excluded.cluster, value = excluded.value, place = excluded.place
   where known.cluster <> excluded.cluster or known.value < excluded.value`,
);
const STAMP = statement<{ stamp: string; changing: boolean } & Nullable<StorePosition>>(
  "secrets.change_stamp",
  `select coalesce(stamp, 0)::text as stamp, coalesce(changing_until > now(), false) as changing, cluster, value::text as value, place
   from (select $1::text as uri, $2::text as store) as asked
     left join secrets.change using (uri) left join secrets.store_position using (store)`,
);
const POSITION = statement<StorePosition>(
  "secrets.store_position",
  "select cluster, value::text as value, place from secrets.store_position where store = $1",
);
const OWN = statement<{ uri: string }>(
  "secrets.change_own",
  `insert into secrets.change as known (uri, tenant, stamp, owner) values ($2, $1, nextval('secrets.change_stamp'), $3)
   on conflict (uri) do update set owner = excluded.owner, tenant = excluded.tenant,
     created_by = case when known.tenant = excluded.tenant then known.created_by end,
     created_at = case when known.tenant = excluded.tenant then known.created_at end,
     updated_by = case when known.tenant = excluded.tenant then known.updated_by end,
     updated_at = case when known.tenant = excluded.tenant then known.updated_at end
   where known.owner is distinct from excluded.owner or known.tenant <> excluded.tenant
   returning uri`,
);
const OWNERS = statement<{ uri: string; owner: string }>(
  "secrets.change_owners",
  "select uri, owner from secrets.change where tenant = $1 and uri = any($2) and owner is not null",
);
type Row = { readonly uri: string } & { readonly [name in keyof LastChange]-?: string | null };
const LAST = statement<Row & { readonly is_last: boolean }>(
  "secrets.change_last",
  `select uri, owner, created_by, created_at, updated_by, updated_at, rotated_at,
     ($3::bigint is null or version is null or version = $3) as is_last
   from secrets.change where tenant = $1 and uri = any($2)`,
);

/** `keepSeconds`: how long any process keeps a value at most; for so long an unfinished change stands in the way. */
export const createChanges = (database: Database, keepSeconds: number) => {
  const untold = new Map<string, SharedStore>();
  const come = async ({ name, position }: SharedStore): Promise<void> => {
    const at = position?.();
    if (at === undefined) return;
    untold.set(name, { name, position });
    await database.run(COME, [name, at.cluster, at.value ?? null, at.place]);
    untold.delete(name);
  };
  return {
    /** Stores whose last change the database could not take. */
    retry: async (): Promise<void> => void (await Promise.all([...untold.values()].map(come))),
    /** Before a store is touched: from here on no process serves what it keeps of these secrets. URIs without key and version. */
    begin: async (tenant: string, uris: readonly string[]): Promise<void> =>
      void (await database.run(BEGIN, [tenant, uris, keepSeconds + 1])),
    /**
     * `done` undefined: nothing was changed. How far the store has come is there before the new stamp is: whoever sees the one reads no
     * older value under it.
     */
    end: async (uris: readonly string[], done: Done | undefined, { name, position }: SharedStore): Promise<void> => {
      await come({ name, position });
      await database.run(END, [
        uris,
        done?.by ?? null,
        done?.isRotation ?? false,
        done?.version ?? null,
        done?.tenant ?? null,
        done?.isFirst ?? false,
      ]);
    },
    /** The store is read only where it has come as far as any process of the deployment knows. */
    catchUp: async ({ name, reach }: SharedStore): Promise<void> => {
      const [known] = reach === undefined ? [] : await database.run(POSITION, [name]);
      if (known !== undefined) reach?.(known);
    },
    /** Whose each of these is said to be, of those that are somebody's. */
    ownersOf: async (tenant: string, uris: readonly string[]): Promise<ReadonlyMap<string, string>> =>
      new Map((await database.run(OWNERS, [tenant, uris])).map(({ uri, owner }) => [uri, owner])),
    /** Sets whose it is, of a URI without key and version; whether that was somebody else before. */
    own: async (tenant: string, uri: string, owner: string): Promise<boolean> => (await database.run(OWN, [tenant, uri, owner])).length > 0,
    /**
     * Names the state of a secret: another one after every change of any process. `undefined`: a change is under way. What is read of the
     * store from then on is that state, or a newer one.
     */
    stampOf: async (place: SecretPrefix, { name, reach }: SharedStore): Promise<string | undefined> => {
      const [row] = await database.run(STAMP, [formatPrefix(place), name]);
      if (row === undefined) return undefined;
      const { stamp, changing, cluster, value, place: at } = row;
      if (cluster !== null && value !== null && at !== null) reach?.({ cluster, value, place: at });
      return changing ? undefined : stamp;
    },
    /** By URI; one whose newest version is not Sallyport's is left out where `version` is told. */
    last: async (tenant: string, uris: readonly string[], version?: number): Promise<ReadonlyMap<string, LastChange>> => {
      const rows = uris.length === 0 ? [] : await database.run(LAST, [tenant, uris, version ?? null]);
      return new Map(
        rows.map(({ uri, is_last: isLast, ...row }) => {
          // Nobody is named for a version that was made beside Sallyport.
          const { updated_by: _by, updated_at: _at, ...rest } = row;
          return [uri, Object.fromEntries(Object.entries(isLast ? row : rest).filter(([, value]) => value !== null))];
        }),
      );
    },
  };
};
