import type { SentBody } from "#contract/endpoint.ts";
import type { startReplay } from "#contract/replay.ts";

export type ReplayAsk = SentBody<typeof startReplay>;

/** The fields of the form that starts a replay, as text. */
export interface ReplayFields {
  readonly span: "hour" | "day" | "week" | "all";
  readonly subject: string;
  readonly action: string;
  readonly verdict: "any" | "allowed" | "denied";
  readonly limit: string;
}

export const emptyReplay: ReplayFields = { span: "all", subject: "", action: "", verdict: "any", limit: "10000" };

const hours = { hour: 1, day: 24, week: 168 } as const;
const LIMIT = /^[1-9]\d{0,6}$/;

/** What to ask Sallyport; `undefined` while the limit is no number from 1 to 1,000,000. */
export const replayAskOf = (version: string, fields: ReplayFields, now: Date): ReplayAsk | undefined => {
  const limit = fields.limit.trim();
  if (!LIMIT.test(limit) || Number(limit) > 1_000_000) return undefined;
  return {
    version,
    limit: Number(limit),
    filter: {
      ...(fields.span === "all" ? {} : { from: new Date(now.getTime() - hours[fields.span] * 3_600_000).toISOString() }),
      ...(fields.subject.trim() === "" ? {} : { subject: fields.subject.trim() }),
      ...(fields.action.trim() === "" ? {} : { action: fields.action.trim() }),
      ...(fields.verdict === "any" ? {} : { decision: fields.verdict === "allowed" }),
    },
  };
};
