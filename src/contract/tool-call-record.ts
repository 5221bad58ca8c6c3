import { z } from "zod";

const text = z.string();
const count = z.number().int();
const money = z.object({ steps: count, usd: text });

/** Where a member goes besides the audit log: `event` to the events of tool calls, `activity` to the activity stream too. */
type Shown = "audit" | "event" | "activity";
const member = <Schema extends z.ZodType>(schema: Schema, shown: Shown) => ({ schema, shown });

/** The record of a tool call, member by member: digests, counts and codes, never an argument, a result or a secret. */
export const toolCallRecord = {
  /** What opens it, or refuses the call. */
  opened: {
    source: member(text, "event"),
    mcp_method: member(text, "event"),
    /** As the client spelled the tool's name. */
    mcp_name: member(text, "audit"),
    view: member(text, "event"),
    argument_names: member(z.array(text), "audit"),
    arguments_digest: member(text, "event"),
    definition_digest: member(text, "event"),
    reserve: member(money, "event"),
    /** The answer of an earlier call with the same key was shown again. */
    replayed: member(z.boolean(), "event"),
  },
  /** What closes it. */
  closed: {
    duration_ms: member(count, "activity"),
    upstream_status: member(count, "event"),
    output_digest: member(text, "event"),
    rows_out: member(count, "activity"),
    /** Places that were hidden. */
    masked: member(z.array(text), "audit"),
    settle: member(money.extend({ state: text.optional() }).partial(), "activity"),
    left: member(money, "activity"),
    secrets: member(z.array(z.record(text, z.unknown())).readonly(), "audit"),
    audience: member(text, "audit"),
  },
} as const;

type Rows = Readonly<Record<string, { readonly schema: z.ZodType; readonly shown: Shown }>>;
type ValuesOf<Of extends Rows> = { readonly [Name in keyof Of]: z.output<Of[Name]["schema"]> | undefined };

/** Each member is stated, if only as `undefined`: one that is forgotten is a type error. */
export type OpenedRecord = ValuesOf<typeof toolCallRecord.opened>;
export type ClosedRecord = ValuesOf<typeof toolCallRecord.closed>;

const rows = Object.entries<{ readonly schema: z.ZodType; readonly shown: Shown }>({ ...toolCallRecord.opened, ...toolCallRecord.closed });

/** Members that events of tool calls carry. */
export const toolCallEventMembers: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  rows.filter(([, { shown }]) => shown !== "audit").map(([name, { schema }]) => [name, schema.optional()]),
);
/** Members that the activity stream shows of any act. */
export const activityMembers: readonly string[] = rows.filter(([, { shown }]) => shown === "activity").map(([name]) => name);
