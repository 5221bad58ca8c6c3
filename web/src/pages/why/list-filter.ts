import { reasons } from "#contract/authzen.ts";
import { decisionSorts } from "#contract/decisions.ts";
import type { DecisionFilter } from "../../api/decisions.ts";
import { isFilteredBy } from "../../shell/search.ts";
import { momentText } from "#contract/page-search.ts";

/** The part of the address that the list of decisions is filtered by. */
export type ListSearch = Readonly<
  Partial<
    Record<
      | "whose"
      | "subject"
      | "agent"
      | "action"
      | "type"
      | "resource"
      | "verdict"
      | "asked"
      | "reason"
      | "correlation"
      | "span"
      | "from"
      | "to"
      | "sort"
      | "order",
      string
    >
  >
>;

const HOUR_MS = 3_600_000;
const spanMs: Readonly<Record<string, number>> = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 168 * HOUR_MS, month: 720 * HOUR_MS };

/** `undefined`: none, or no moment that there is. `isEnd`: its minute is meant with it. */
const momentOf = (text: string | undefined, isEnd = false): string | undefined => {
  if (text === undefined || !momentText.test(text)) return undefined;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return undefined;
  return new Date(at.getTime() + (isEnd ? 60_000 : 0)).toISOString();
};

export const askedOf = (search: ListSearch): "done" | "shown" | "any" => {
  // A correlation id names one request: all of it is wanted.
  const asked = search.asked ?? (search.correlation === undefined ? "done" : "any");
  return asked === "shown" || asked === "any" ? asked : "done";
};

/** What the server is asked for an address; `now`: when the address was opened, to which a span of time goes. */
export const filterOf = (search: ListSearch, now: Date): DecisionFilter => {
  const { whose, subject, agent, action, type, resource, verdict = "denied", correlation, span } = search;
  const reason = reasons.find((one) => one === search.reason);
  const sort = decisionSorts.find((one) => one === search.sort);
  const asked = askedOf(search);
  const length = span === undefined ? undefined : spanMs[span];
  const from = length === undefined ? momentOf(search.from) : new Date(now.getTime() - length).toISOString();
  const to = length === undefined ? momentOf(search.to, true) : undefined;
  const parts = {
    ...(subject === undefined || whose === "mine" ? {} : { subject }),
    ...(agent === undefined ? {} : { agent }),
    ...(action === undefined ? {} : { action }),
    ...(type === undefined ? {} : { resource_type: type }),
    ...(resource === undefined ? {} : { resource }),
  };
  return {
    ...(whose === "mine" ? { whose: "own" as const } : {}),
    ...parts,
    ...(Object.keys(parts).length === 0 ? {} : { match: "part" as const }),
    ...(verdict === "any" ? {} : { decision: verdict === "denied" ? ("false" as const) : ("true" as const) }),
    enforced: asked === "done" ? "true" : asked === "shown" ? "false" : "any",
    ...(reason === undefined ? {} : { reason }),
    ...(correlation === undefined ? {} : { correlation_id: correlation }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(sort === undefined ? {} : { sort }),
    ...(search.order === "asc" ? { order: "asc" as const } : {}),
  };
};

/** Whether anything narrows the list: order and the life of its rows do not. */
export const isNarrowed = (search: ListSearch & { readonly live?: string | undefined }): boolean => {
  const { sort: _sort, order: _order, live: _live, ...filters } = search;
  return isFilteredBy(filters);
};
