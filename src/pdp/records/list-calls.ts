import type { DecisionSort } from "#contract/decisions.ts";
import { statement, type Database, type SqlValue, type Statement } from "#store/database.ts";
import { idPrefixAt } from "./decision-id.ts";
import type { CallNames, StoredCall, StoredItem } from "./record.ts";

/** Calls that one answer looks through at most, however little of them fits: what a filter costs is bounded. */
export const MAX_CALLS = 5_000;
/** An id's time and the decision's are read apart from one another. */
const SLACK_MS = 60_000;
const LAST_INDEX = 2_147_483_647;

export interface ListFilter {
  /** `*`: of every tenant. */
  readonly tenant: string;
  readonly subject?: string;
  readonly agent?: string;
  readonly action?: string;
  readonly type?: string;
  /** Id of the thing, or the reference of a secret. */
  readonly resource?: string;
  /** Any of these, in its place. */
  readonly resources?: readonly string[];
  /** Texts that stand anywhere in the id or the name, in any case. */
  readonly parts?: Partial<Readonly<Record<ListedValue, string>>>;
  readonly decision?: boolean;
  readonly reason?: string;
  readonly correlationId?: string;
  /** True: of what somebody did; false: of what was asked to know what to show. */
  readonly enforced?: boolean;
  readonly from?: string;
  readonly to?: string;
  /** `time` unless said. */
  readonly sort?: DecisionSort;
  readonly order?: "asc" | "desc";
  readonly after?: ListPosition;
  readonly limit: number;
  /** Fewer calls to look through than `MAX_CALLS`. */
  readonly max?: number;
}

/** Where a page ended. */
export interface ListPosition {
  readonly callId: string;
  readonly index: number;
  /** Of a list that is not sorted by time: the last value, and the newest call that the list was begun with. */
  readonly key?: string;
  readonly top?: string;
}

export type ListedRow = StoredCall & CallNames & { readonly item: StoredItem };

export interface Listed {
  readonly rows: readonly ListedRow[];
  readonly next?: ListPosition;
  /** Time of the call at which the search stopped for having looked through enough. */
  readonly searchedTo?: string;
}

/** Of `pdp.call c`. */
export const callColumns = `c.call_id, c.part, c.decided_at, c.tenant, c.subject, c.agent, c.subject_name, c.agent_name, c.pep, c.policy_version,
  c.graph_version, c.latency_us, c.request_id, c.correlation_id`;
const place = "coalesce((i.item ->> 'index')::int, 0)";
const resourceId = "coalesce(i.item ->> 'id', i.item ->> 'ref')";

/** What can be listed and looked for, as SQL: the id, and the name where it has one. */
const values = {
  subject: { id: "c.subject", name: "c.subject_name", ofItem: false },
  agent: { id: "c.agent", name: "c.agent_name", ofItem: false },
  action: { id: "i.item ->> 'action'", name: "null::text", ofItem: true },
  type: { id: "i.item ->> 'type'", name: "null::text", ofItem: true },
  resource: { id: resourceId, name: "null::text", ofItem: true },
} as const;
export type ListedValue = keyof typeof values;
const listedValues = ["subject", "agent", "action", "type", "resource"] as const satisfies readonly ListedValue[];

const sortKeys: Readonly<Record<Exclude<DecisionSort, "time">, string>> = {
  subject: "lower(coalesce(c.subject_name, c.subject))",
  agent: "lower(coalesce(c.agent_name, c.agent, ''))",
  action: values.action.id,
  resource: `coalesce(i.item ->> 'type', '') || ' ' || coalesce(${resourceId}, '')`,
  decision: "i.item ->> 'decision'",
  reason: "coalesce(i.item ->> 'reason', '')",
};

/** Which index serves: that of the tenant, of the subject, of the agent. Each shape is a statement of its own, so that it does. */
interface Shape {
  readonly isEvery: boolean;
  readonly hasSubject: boolean;
  readonly hasAgent: boolean;
}

/** Conditions on calls: $1 tenant, $2 subject, $3 agent, $4 and $5 ids around them, $6 and $7 times. */
const callsWhere = ({ isEvery, hasSubject, hasAgent }: Shape): string =>
  `${isEvery ? "$1::text = '*'" : "c.tenant = $1"} and ${hasSubject ? "c.subject = $2" : "$2::text is null"}
   and ${hasAgent ? "c.agent = $3" : "$3::text is null"} and c.call_id > $4 and c.call_id < $5
   and ($6::timestamptz is null or c.decided_at >= $6) and ($7::timestamptz is null or c.decided_at < $7)`;

const nameOf = (what: string, { isEvery, hasSubject, hasAgent }: Shape, ...more: readonly string[]): string =>
  [`pdp.call.${what}`, isEvery ? "all" : "tenant", ...(hasSubject ? ["subject"] : []), ...(hasAgent ? ["agent"] : []), ...more].join("_");

const made = new Map<string, Statement<unknown>>();
const once = <Row>(name: string, text: () => string): Statement<Row> => {
  const held = (made.get(name) as Statement<Row> | undefined) ?? statement<Row>(name, text());
  made.set(name, held);
  return held;
};

const holds = (parameter: number, { id, name }: { readonly id: string; readonly name: string }): string =>
  `($${parameter}::text is null or strpos(lower(${id}), $${parameter}) > 0 or strpos(lower(${name}), $${parameter}) > 0)`;

type Order = "asc" | "desc";

/** The call at which looking ends; absent where everything is looked at. */
const endOf = (shape: Shape, order: Order) =>
  once<{ readonly call_id: string; readonly decided_at: string }>(
    nameOf("end", shape, order),
    () =>
      `select c.call_id, c.decided_at from pdp.call c where ${callsWhere(shape)} order by c.call_id ${order}, c.part ${order} offset $8 limit 1`,
  );

const listOf = (shape: Shape, sort: DecisionSort, order: Order) =>
  once<ListedRow & { readonly sort_key: string | null }>(nameOf("list", shape, sort, order), () => {
    const key = sort === "time" ? undefined : `(${sortKeys[sort]}) collate "C"`;
    const than = order === "asc" ? ">" : "<";
    const [columns, given] = key === undefined ? ["", ""] : [`${key}, `, "$17::text, "];
    const sorted = [...(key === undefined ? [] : [key]), "c.call_id", place].map((column) => `${column} ${order}`).join(", ");
    return `select ${callColumns}, i.item, ${key ?? "$17::text"} as sort_key
   from pdp.call c cross join lateral jsonb_array_elements(c.items) i(item)
   where ${callsWhere(shape)}
     and ($8::text is null or i.item ->> 'action' = $8) and ($9::text is null or i.item ->> 'type' = $9)
     and ($10::text[] is null or ${resourceId} = any($10)) and ($11::boolean is null or (i.item ->> 'decision')::boolean = $11)
     and ($12::text is null or i.item ->> 'reason' = $12) and ($13::text is null or c.correlation_id = $13)
     and ($14::boolean is null or coalesce((i.item ->> 'showing')::boolean, false) <> $14)
     and ($15::text is null or (${columns}c.call_id, ${place}) ${than} (${given}$15, $16::int))
     and ${listedValues.map((value, index) => holds(18 + index, values[value])).join(" and ")}
   order by ${sorted} limit $23`;
  });

const valuesOf = (shape: Shape, of: ListedValue) =>
  once<{ readonly value: string; readonly name: string | null }>(nameOf("values", shape, of), () => {
    const { id, name, ofItem } = values[of];
    return `select ${id} as value, (array_agg(${name} order by c.call_id desc) filter (where ${name} is not null))[1] as name
   from pdp.call c${ofItem ? " cross join lateral jsonb_array_elements(c.items) i(item)" : ""}
   where ${callsWhere(shape)} and ${id} is not null and ${holds(8, values[of])}
   group by 1 order by max(c.call_id) desc, 1 limit $9`;
  });

const timed = (at: string | undefined, slackMs: number): string | undefined =>
  at === undefined ? undefined : idPrefixAt(Date.parse(at) + slackMs);
const shapeOf = ({ tenant, subject, agent }: ListFilter): Shape => ({
  isEvery: tenant === "*",
  hasSubject: subject !== undefined,
  hasAgent: agent !== undefined,
});

/** The calls that an answer may look through, and the one behind them. */
const reach = async (database: Database, filter: ListFilter, order: Order, low: string, high: string) => {
  const { tenant, subject, agent, from, to, max = MAX_CALLS } = filter;
  const shape = shapeOf(filter);
  const asked = (lower: string, upper: string): readonly SqlValue[] => [
    tenant,
    subject ?? null,
    agent ?? null,
    lower,
    upper,
    from ?? null,
    to ?? null,
  ];
  const [end] = await database.run(endOf(shape, order), [...asked(low, high), max]);
  return {
    shape,
    end,
    calls: end === undefined ? asked(low, high) : order === "desc" ? asked(end.call_id, high) : asked(low, end.call_id),
  };
};

const before = (one: string | undefined, other: string): string => (one === undefined || other < one ? other : one);

/**
 * Decisions of one page. Sorted by time the search goes on page by page as far as there are records; sorted otherwise, among the newest
 * calls that fit the range.
 */
export const listCallItems = async (database: Database, filter: ListFilter, now: Date): Promise<Listed> => {
  const { sort = "time", order = "desc", after, limit, parts = {} } = filter;
  const isByTime = sort === "time";
  const from = timed(filter.from, -SLACK_MS) ?? "";
  const to = timed(filter.to, SLACK_MS) ?? "e";
  const top = after?.top ?? before(to, idPrefixAt(now.getTime() + SLACK_MS));
  // The call of the position itself is looked at again: it may have more.
  const low = isByTime && order === "asc" && after !== undefined ? after.callId.slice(0, -1) : from;
  const high = isByTime ? (order === "desc" && after !== undefined ? `${after.callId}~` : to) : top;
  const { shape, end, calls } = await reach(database, filter, isByTime ? order : "desc", low, high);
  const found = await database.run(listOf(shape, sort, order), [
    ...calls,
    filter.action ?? null,
    filter.type ?? null,
    filter.resources ?? (filter.resource === undefined ? null : [filter.resource]),
    filter.decision ?? null,
    filter.reason ?? null,
    filter.correlationId ?? null,
    filter.enforced ?? null,
    after?.callId ?? null,
    after?.index ?? null,
    after?.key ?? null,
    ...listedValues.map((value) => parts[value]?.toLowerCase() ?? null),
    limit + 1,
  ]);
  const rows = found.slice(0, limit).map(({ sort_key: _key, ...row }) => row);
  const last = found[limit - 1];
  if (found.length > limit && last !== undefined) {
    const { call_id: callId, item, sort_key: key } = last;
    return { rows, next: { callId, index: item.index ?? 0, ...(key === null ? {} : { key, top }) } };
  }
  if (end === undefined) return { rows };
  if (!isByTime) return { rows, searchedTo: end.decided_at };
  return { rows, next: { callId: end.call_id, index: order === "desc" ? LAST_INDEX : -1 }, searchedTo: end.decided_at };
};

export interface ListedName {
  readonly value: string;
  readonly name?: string;
}

/** Values that the newest calls hold and that have the text anywhere in them, the last used first. */
export const listCallValues = async (database: Database, filter: ListFilter, of: ListedValue): Promise<readonly ListedName[]> => {
  const { shape, calls } = await reach(database, filter, "desc", "", "e");
  const found = await database.run(valuesOf(shape, of), [...calls, filter.parts?.[of]?.toLowerCase() ?? null, filter.limit]);
  return found.map(({ value, name }) => ({ value, ...(name === null ? {} : { name }) }));
};
