import { z } from "zod";
import { readReplay, replayState } from "#contract/replay.ts";
import { newTally } from "#pdp/lifecycle/compare/outcome.ts";
import { storedClasses } from "#pdp/lifecycle/compare/difference-classes.ts";
import { statement, type Database, type Sql } from "#store/database.ts";

const filterSchema = z.object({
  from: z.string().optional(),
  to: z.string(),
  subject: z.string().optional(),
  action: z.string().optional(),
  decision: z.boolean().optional(),
});
export type ReplayFilter = z.infer<typeof filterSchema>;

const { evaluated, unchanged, newly_allowed, newly_denied, changed, not_replayable } = readReplay.reply.shape;
const progressSchema = z.object({
  evaluated,
  unchanged,
  newly_allowed,
  newly_denied,
  changed,
  not_replayable,
  classes: storedClasses,
  truncated: z.boolean(),
  /** Where it goes on, after a restart too. */
  before: z.object({ callId: z.string(), part: z.number() }),
  /** How often it was begun since it last came further. */
  tries: z.number().default(0),
});
export type ReplayProgress = Readonly<z.infer<typeof progressSchema>>;

/** Before every call that can be: ids of calls begin with `d_` and a digit. */
export const beginning: ReplayProgress = {
  ...newTally(),
  classes: {},
  truncated: false,
  before: { callId: "d_~", part: 0 },
  tries: 0,
};

/** One that does not come further is given up after so many tries, whatever it is that ends them. */
const MAX_TRIES = 5;
const UNHELD = "state = 'running' and (holder is null or seen_at < clock_timestamp() - interval '10 seconds')";
const TRIES = "coalesce((progress ->> 'tries')::int, 0)";

export interface Replay {
  readonly id: string;
  readonly tenant: string;
  readonly version: string;
  readonly filter: ReplayFilter;
  readonly most: number;
  readonly state: z.infer<typeof replayState>;
  readonly progress: ReplayProgress;
}

type Row = Omit<Replay, "filter" | "state" | "progress"> & Readonly<Record<"filter" | "state" | "progress", unknown>>;

const COLUMNS = "id, tenant, version, filter, most, state, progress";
const insert = statement(
  "pdp.replay.insert",
  `insert into pdp.replay (id, tenant, version, filter, most, state, progress, created_by)
   values ($1, $2, $3, $4::jsonb, $5, 'running', $6::jsonb, $7)`,
);
const countRunning = statement<{ readonly running: bigint }>(
  "pdp.replay.running",
  "select count(*) as running from pdp.replay where tenant = $1 and state = 'running'",
);
const find = statement<Row>("pdp.replay.find", `select ${COLUMNS} from pdp.replay where id = $1 and tenant = $2`);
const stop = statement<{ readonly id: string }>(
  "pdp.replay.stop",
  "update pdp.replay set state = 'stopped', holder = null where id = $1 and tenant = $2 and state = 'running' returning id",
);
// One that nobody speaks for any more is taken over; no two take the same.
const claim = statement<Row>(
  "pdp.replay.claim",
  `update pdp.replay set holder = $1, seen_at = clock_timestamp(), progress = jsonb_set(progress, '{tries}', to_jsonb(${TRIES} + 1))
   where id = (select id from pdp.replay where ${UNHELD} and ${TRIES} < ${MAX_TRIES} order by created_at limit 1 for update skip locked)
   returning ${COLUMNS}`,
);
const giveUp = statement<{ readonly id: string; readonly version: string }>(
  "pdp.replay.give_up",
  `update pdp.replay set state = 'failed', holder = null where ${UNHELD} and ${TRIES} >= ${MAX_TRIES} returning id, version`,
);
const save = statement<{ readonly id: string }>(
  "pdp.replay.save",
  `update pdp.replay set progress = $3::jsonb, state = $4, seen_at = clock_timestamp(), holder = case when $4 = 'running' then holder end
   where id = $1 and holder = $2 and state = 'running' returning id`,
);
const release = statement("pdp.replay.release", "update pdp.replay set holder = null where holder = $1");
const purge = statement("pdp.replay.purge", "delete from pdp.replay where state <> 'running' and created_at < $1");

const replayOf = (row: Row): Replay => ({
  ...row,
  filter: filterSchema.parse(row.filter),
  state: replayState.parse(row.state),
  progress: progressSchema.parse(row.progress),
});

export const replayStore = (database: Database) => ({
  insert: (sql: Sql, replay: Omit<Replay, "state" | "progress">, by: string): Promise<unknown> =>
    sql.run(insert, [replay.id, replay.tenant, replay.version, JSON.stringify(replay.filter), replay.most, JSON.stringify(beginning), by]),
  running: async (tenant: string): Promise<number> => Number((await database.run(countRunning, [tenant]))[0]?.running ?? 0n),
  find: async (id: string, tenant: string): Promise<Replay | undefined> => (await database.run(find, [id, tenant])).map(replayOf)[0],
  /** False: it does not run. */
  stop: async (sql: Sql, id: string, tenant: string): Promise<boolean> => (await sql.run(stop, [id, tenant])).length > 0,
  /** Those that were tried too often: they are `failed`. */
  giveUp: (): Promise<readonly { readonly id: string; readonly version: string }[]> => database.run(giveUp, []),
  claim: async (holder: string): Promise<Replay | undefined> => (await database.run(claim, [holder])).map(replayOf)[0],
  /** False: it is not this holder's any more. */
  save: async (id: string, holder: string, progress: ReplayProgress, state: Replay["state"]): Promise<boolean> =>
    (await database.run(save, [id, holder, JSON.stringify(progress), state])).length > 0,
  release: (holder: string): Promise<unknown> => database.run(release, [holder]),
  purge: (before: Date): Promise<unknown> => database.run(purge, [before]),
});
