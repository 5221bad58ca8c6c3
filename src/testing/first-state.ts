import { statement, type Database, type Sql } from "#store/database.ts";

/** All that a test could change besides rows: tables, columns, indexes, functions, triggers, constraints, sequences' limits. */
const SHAPE = statement<{ shape: string }>(
  "testing.shape",
  `select md5(concat_ws('|',
     (select string_agg(concat_ws(' ', c.oid, c.relname, c.relkind, c.reloptions, c.relnatts), ',' order by c.oid)
        from pg_class as c join pg_namespace as n on n.oid = c.relnamespace where n.nspname !~ '^pg_'),
     (select count(*)::text || max(oid::text::bigint) from pg_proc),
     (select string_agg(concat_ws(' ', oid, tgenabled), ',' order by oid) from pg_trigger),
     (select count(*)::text || max(oid::text::bigint) from pg_constraint),
     (select string_agg(concat_ws(' ', seqrelid, seqincrement, seqmax, seqmin), ',' order by seqrelid) from pg_sequence),
     (select count(*)::text from pg_namespace where nspname !~ '^pg_'), (select count(*)::text from pg_extension), (select count(*)::text from pg_authid))) as shape`,
);

/** Tables that hold something, with their columns that take a value. */
const FILLED = statement<{ name: string; columns: string; bytes: bigint }>(
  "testing.filled",
  `select format('%I.%I', n.nspname, c.relname) as name, pg_relation_size(c.oid) as bytes,
     (select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute as a
       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns
   from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
   where c.relkind = 'r' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and pg_relation_size(c.oid) > 0`,
);

const SEQUENCES = statement<{ name: string; value: bigint; called: boolean }>(
  "testing.sequences",
  `select format('%I.%I', schemaname, sequencename) as name, coalesce(last_value, start_value) as value, last_value is not null as called
   from pg_sequences`,
);

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** What makes the rows as they are now, once the tables are empty. */
const rowsAsScript = async (sql: Sql): Promise<string> => {
  const parts: string[] = [];
  for (const { name, columns } of await sql.run(FILLED)) {
    const all = statement<{ rows: string | null }>(`testing.rows_of_${name}`, `select json_agg(t)::text as rows from ${name} as t`);
    const [found] = await sql.run(all);
    if (found === undefined || found.rows === null) continue;
    parts.push(
      `insert into ${name} (${columns}) overriding system value select ${columns} from json_populate_recordset(null::${name}, ${literal(found.rows)})`,
    );
  }
  return parts.join(";\n");
};

const sequencesAsScript = async (sql: Sql): Promise<string> =>
  (await sql.run(SEQUENCES)).map(({ name, value, called }) => `select setval(${literal(name)}, ${value}, ${called})`).join(";\n");

/** A database as its migrations left it. */
export interface FirstState {
  readonly shape: string;
  /** Scripts that make the rows and the sequences' values in empty tables. */
  readonly rows: string;
  readonly sequences: string;
}

export const readFirstState = async (database: Database): Promise<FirstState> => ({
  shape: (await database.run(SHAPE))[0]?.shape ?? "",
  rows: await rowsAsScript(database),
  sequences: await sequencesAsScript(database),
});

/** Few rows are deleted, for to cut a table costs much more; but the dead ones of many tests would be read again and again. */
const MOST_DELETED_BYTES = 256 * 1024;

/** No trigger fires and no reference is checked: the rows were right when they were read. */
const replacing = (steps: readonly string[]): string =>
  `begin; set local session_replication_role = replica; ${steps.filter((step) => step !== "").join(";\n")}; commit`;

/** Replaces all rows. */
const layRows = async (database: Database, scripts: readonly string[]): Promise<void> => {
  const filled = await database.run(FILLED);
  const large = filled.filter(({ bytes }) => bytes > MOST_DELETED_BYTES).map(({ name }) => name);
  const cut = large.length === 0 ? "" : `truncate ${large.join(", ")} cascade`;
  await database.script(replacing([cut, ...filled.map(({ name }) => `delete from ${name}`), ...scripts]));
};

/** Brings it back to its first state; false where that cannot be, because its schema was changed. */
export const restoreFirstState = async (database: Database, { shape, rows, sequences }: FirstState): Promise<boolean> => {
  await database.script("reset all; select pg_advisory_unlock_all()");
  if ((await database.run(SHAPE))[0]?.shape !== shape) return false;
  await layRows(database, [rows, sequences]);
  return true;
};

/** What some work left of which rows, by its name and the rows that it began with. */
const laid = new Map<string, { readonly scripts: readonly string[]; readonly answer: unknown }>();

const layOnce = async <Answer>(database: Database, name: string, work: () => Promise<Answer>): Promise<Answer> => {
  const key = [name, await rowsAsScript(database), await sequencesAsScript(database)].join("\n");
  const known = laid.get(key);
  if (known !== undefined) {
    await layRows(database, known.scripts);
    return known.answer as Answer;
  }
  const answer = await work();
  laid.set(key, { scripts: [await rowsAsScript(database), await sequencesAsScript(database)], answer });
  return answer;
};

/** A database of one session, as somebody has it for a while. */
export interface Lent {
  /** Nobody has used it yet: it is in its first state. */
  isUntouched: boolean;
  /** What some work leaves of its first state, by name, since it was done here first: one script. */
  readonly laid: Map<string, { readonly script: string; readonly answer: unknown }>;
}
const lents = new WeakMap<Database, Lent>();
export const noteLent = (database: Database, lent: Lent): void => void lents.set(database, lent);

/** Keeps all rows beside themselves, where neither a shape nor a state has them; answers what lays them in the database's first state. */
const keepRows = async (database: Database, name: string): Promise<string> => {
  const tables = (await database.run(FILLED)).map((table, n) => ({ ...table, kept: `pg_temp.${name}_${n}` }));
  await database.script(tables.map((table) => `create table ${table.kept} as select ${table.columns} from ${table.name}`).join(";\n"));
  return replacing([
    ...tables.map((table) => `delete from ${table.name}`),
    ...tables.map(
      ({ kept, name: into, columns }) => `insert into ${into} (${columns}) overriding system value select ${columns} from ${kept}`,
    ),
    await sequencesAsScript(database),
  ]);
};

/**
 * Work that does the same to the same rows: done where a process meets these rows for the first time, and laid as its rows from then on, in a
 * tenth of the time; in half of that where a database that was lent before is in its first state. `answer` is shared; `name` is a word.
 */
export const doneOnce = async <Answer>(database: Database, name: string, work: () => Promise<Answer>): Promise<Answer> => {
  const lent = lents.get(database);
  if (lent?.isUntouched !== true) return layOnce(database, name, work);
  const here = lent.laid.get(name);
  if (here === undefined) {
    const answer = await layOnce(database, name, work);
    lent.laid.set(name, { script: await keepRows(database, name), answer });
    return answer;
  }
  await database.script(here.script);
  return here.answer as Answer;
};
