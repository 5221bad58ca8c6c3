import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/caller.ts";
import type { DecideAsk } from "#decide/decider.ts";
import { requireEntry, toolAsk } from "./call/decide-door.ts";
import type { CallParts } from "./call/tool-call.ts";
import { isInView } from "./call/tool-door.ts";
import type { Snapshot } from "./catalogue.ts";
import { gatherReach } from "./gather-reach.ts";
import type { SealedCursors } from "#authn/sealed-cursors.ts";
import type { Tool } from "./tool.ts";
import type { View } from "./views.ts";

export interface ListAsk {
  readonly caller: Caller;
  readonly view: View;
  readonly snapshot: Snapshot;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly correlationId: string;
  /** Nobody asked for it just now: it leaves no record. */
  readonly isBackground?: boolean;
}

export interface ListedTools {
  readonly tools: readonly Tool[];
  readonly nextCursor?: string;
}

export type ListParts = Pick<
  CallParts,
  "membership" | "membershipAudience" | "identity" | "decider" | "kills" | "maxDelegationDepth" | "publicOrigin"
> & {
  readonly cursor: SealedCursors<string>;
};

const BATCH = 100;
const MOST = 500;

/** Whose list it is: the person with all that act for them. */
export const principalOf = (caller: Pick<Caller, "tenant" | "sub" | "actors" | "agent">): string =>
  [caller.tenant, caller.sub, ...caller.actors, caller.agent ?? ""].join(" ");

/** The endpoint as a resource of its own: who may enter it may list, whatever the list then holds. */
export const endpointAsk = (method: string, publicOrigin: string): DecideAsk => ({
  type: "mcp_server",
  action: method,
  id: `${publicOrigin}/mcp`,
});

/** Throws `invalid_limit`. */
export const parseLimit = (limit: number | undefined): number | undefined => {
  if (limit === undefined) return undefined;
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST) throw new Problem("invalid_limit", { detail: `1 to ${MOST}.` });
  return limit;
};

/**
 * Those of the tools that some call of this caller could be permitted: the same policies as the call, with arguments,
 * assurance and approval taken as met. The first batch also asks whether the endpoint may be listed at all.
 */
const decideTools = async (ask: ListAsk, tools: readonly Tool[], parts: ListParts, isFirst: boolean): Promise<readonly Tool[]> => {
  const entry = endpointAsk("tools/list", parts.publicOrigin);
  const enter = isFirst ? [ask.isBackground === true ? { ...entry, context: { background: true } } : entry] : [];
  const asks = [...enter, ...tools.map((tool) => toolAsk(tool, "tools/list", { could: true, view: ask.view.name }))];
  const answers = await parts.decider.decideMany(ask.caller, asks, ask.correlationId);
  const entered = isFirst ? answers[0] : undefined;
  if (entered !== undefined) requireEntry(entered, ask.caller, parts);
  return tools.filter((_tool, index) => answers[index + enter.length]?.decision === true);
};

/** Of the catalogue, in its order, what some call of this caller could reach: view AND tenant AND state AND (no agent OR within every hop's capabilities). */
const candidatesOf = async ({ caller, view, snapshot, correlationId }: ListAsk, parts: ListParts): Promise<readonly Tool[]> => {
  const reach = await gatherReach(caller, parts, correlationId);
  return [...snapshot.tools.values()].filter(
    (tool) =>
      !tool.isBuiltIn &&
      isInView(tool, view, caller.tenant) &&
      tool.state === "serving" &&
      parts.kills.of({ caller, view, tool }) === undefined &&
      (reach.capabilities?.has(tool.name) ?? true),
  );
};

/** The first permitted of these, in their order: as many as wanted, and at least one more if there is one. */
const firstPermitted = async (
  ask: ListAsk,
  candidates: readonly Tool[],
  wanted: number,
  parts: ListParts,
  batch = BATCH,
): Promise<readonly Tool[]> => {
  const found: Tool[] = [];
  for (let at = 0; at === 0 || (at < candidates.length && found.length <= wanted); at += batch) {
    found.push(...(await decideTools(ask, candidates.slice(at, at + batch), parts, at === 0)));
  }
  return found;
};

/**
 * One page of the caller's tools: those of the house that the view has, then what could be permitted. Health is the first entry of
 * the first page. Nothing is kept between pages: each goes on after the last name in the catalogue of the moment. Cost: one batch
 * of decisions a hundred candidates. Throws `invalid_limit`, `invalid_cursor`, `decision_unavailable`, `membership_unavailable`.
 */
export const listPermitted = async (ask: ListAsk, parts: ListParts): Promise<ListedTools> => {
  const { caller, view, snapshot } = ask;
  const wanted = parseLimit(ask.limit) ?? Number.POSITIVE_INFINITY;
  const place = { view: view.name, principal: principalOf(caller) };
  const after = ask.cursor === undefined ? undefined : parts.cursor.open(ask.cursor, place);
  const house = [...snapshot.tools.values()].filter((tool) => tool.isBuiltIn && isInView(tool, view, caller.tenant));
  const last = house.findIndex((tool) => tool.name === after);
  const isWithinHouse = after === undefined || last >= 0;
  const first = isWithinHouse ? house.slice(last + 1) : [];
  const candidates = (await candidatesOf(ask, parts)).filter((tool) => isWithinHouse || tool.name > after);
  const found = [...first, ...(await firstPermitted(ask, candidates, wanted - first.length, parts))];
  if (found.length <= wanted) return { tools: found };
  const tools = found.slice(0, wanted);
  const end = tools.at(-1);
  return end === undefined ? { tools } : { tools, nextCursor: parts.cursor.seal(end.name, place) };
};

/**
 * Of what a list would hold the first ones in another order, at most `limit`, and whether there are more. Only as many are decided as
 * it takes. `order` leaves out what does not fit. Throws as `listPermitted`.
 */
export const findPermitted = async (
  ask: Omit<ListAsk, "limit" | "cursor"> & { readonly limit: number; readonly order: (tools: readonly Tool[]) => readonly Tool[] },
  parts: ListParts,
): Promise<{ readonly tools: readonly Tool[]; readonly hasMore: boolean }> => {
  const found = await firstPermitted(ask, ask.order(await candidatesOf(ask, parts)), ask.limit, parts, Math.min(BATCH, ask.limit + 1));
  return { tools: found.slice(0, ask.limit), hasMore: found.length > ask.limit };
};
