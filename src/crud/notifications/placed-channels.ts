import type { Issue } from "#contract/problem.ts";
import type { NoticeKind } from "#events/model/notice.ts";
import { statement, type Sql } from "#store/database.ts";
import type { NetworkRules } from "#crud/upstream/network-rules.ts";
import type { ChannelDocument, ChannelKind } from "./channel-document.ts";

/** A channel as it serves. */
export interface Channel {
  readonly document: ChannelDocument;
  readonly rules: NetworkRules;
}

/** What a channel knows a notice as; of what only its initiator can do it gets none. */
export const channelKinds: Readonly<Record<NoticeKind, ChannelKind | undefined>> = {
  task: "task",
  too_few_approvers: "task",
  compensation_incomplete: "task",
  unknown_outcome: "task",
  access_request: "access_request",
  tool_approval: "tool_approval",
  step_up: undefined,
  reauth: undefined,
};

interface Dead {
  readonly key: string;
  readonly tenants: readonly string[];
  readonly error: string;
  readonly at: string;
}
const DEAD = statement<Dead>(
  "crud.notifications_dead",
  `select key, array_agg(tenant) as tenants, (array_agg(coalesce(error, '') order by dead_at desc))[1] as error, max(dead_at) as at
   from events.outbox where dead_at is not null and sink = 'webhook' group by key`,
);

/** The channels that serve in this process, by name, with what could not be delivered to them. */
export const createPlacedChannels = () => {
  const placed = new Map<string, Channel>();
  let dead = new Map<string, Dead>();
  const isFor = ({ document: { tenants, kinds } }: Channel, tenant: string, kind: NoticeKind): boolean => {
    const known = channelKinds[kind];
    return known !== undefined && kinds.includes(known) && tenants?.includes(tenant) !== false;
  };
  return {
    place: (name: string, channel: Channel | undefined): void => {
      if (channel === undefined) placed.delete(name);
      else placed.set(name, channel);
    },
    /** Those that get the tenant's notices of a kind. */
    of: (tenant: string, kind: NoticeKind): readonly string[] =>
      [...placed].flatMap(([name, channel]) => (isFor(channel, tenant, kind) ? [name] : [])),
    find: (name: string, tenant: string, kind: NoticeKind): Channel | undefined => {
      const channel = placed.get(name);
      return channel !== undefined && isFor(channel, tenant, kind) ? channel : undefined;
    },
    problems: (name: string): readonly Issue[] => {
      const found = dead.get(name);
      if (found === undefined) return [];
      const { tenants, error, at } = found;
      const message = `${tenants.length} not delivered, the last at ${at}: ${error}`;
      return [{ path: "/url", message, code: "not_delivered", hint: "Retry or drop them: GET /api/v1/events/outbox." }];
    },
    /** Reads what is dead by now. */
    refresh: async (sql: Sql): Promise<void> => {
      dead = new Map((await sql.run(DEAD)).map((row) => [row.key, row]));
    },
  };
};
export type PlacedChannels = ReturnType<typeof createPlacedChannels>;
