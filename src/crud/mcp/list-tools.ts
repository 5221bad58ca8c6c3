import { Problem } from "#contract/problem.ts";
import { isAgent } from "#authn/model/actor-kind.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { EvaluationQuery } from "#pdp-client/pdp-client.ts";
import { builtInTools } from "#pdp-client/pairs.ts";
import type { Decision } from "#pdp-client/obligations.ts";
import type { TtlCache } from "#http/ttl-cache.ts";
import { requireEntry, toolAsk } from "./call/steps/authorize.ts";
import { principalOf, type CallParts } from "#crud/tools/tool-call.ts";
import { isInView } from "./call/steps/resolve-tool.ts";
import type { Snapshot } from "#crud/tools/catalogue.ts";
import { gatherReach } from "./gather-reach.ts";
import { pageOf, type SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { View } from "#crud/tools/views.ts";

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
  "membership" | "membershipAudience" | "identity" | "pdpClient" | "kills" | "maxDelegationDepth" | "publicOrigin"
> & {
  readonly cursor: SealedCursors<string>;
  readonly decided: TtlCache<DecidedTools>;
  readonly now: () => Date;
};

/** What was answered about tools, and the moment of the decision point that all of it is true at. */
export interface DecidedTools {
  readonly moment: string;
  readonly permitted: ReadonlyMap<string, boolean>;
}

/** How many lists are remembered. */
export const MAX_LISTS = 100;
/** As long as clients are told that they may keep a list. It bounds what time alone ends: a right that expires moves no graph. */
export const LIST_TTL_MS = 30_000;
/** Most and fewest that a list asks at once. */
const BATCH = { max: 200, least: 100 };
const MAX = 500;

/** The endpoint as a resource of its own: who may enter it may list, whatever the list then holds. */
export const endpointAsk = (method: string, publicOrigin: string): EvaluationQuery => ({
  type: "mcp_server",
  action: method,
  id: `${publicOrigin}/mcp`,
});

/** Throws `invalid_limit`. */
export const parseLimit = (limit: number | undefined): number | undefined => {
  if (limit === undefined) return undefined;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX) throw new Problem("invalid_limit", { detail: `1 to ${MAX}.` });
  return limit;
};

/** Those for whom, where and of what the same is decided. */
const keyOf = ({ caller, view, snapshot }: ListAsk): string => {
  const { tenant, sub, actors, agent, clientId, acr, amr, authTime, scopes } = caller;
  return JSON.stringify([tenant, sub, actors, agent, clientId, acr, amr, authTime, [...scopes].toSorted(), view.name, snapshot.revision]);
};

/**
 * Asks about some tools whether a call of this caller could be permitted: the same policies as the call, with arguments, assurance and
 * approval taken as met. Each question also asks whether the endpoint may be listed at all; the first of a list is its record.
 */
const decideTools = async (ask: ListAsk, tools: readonly Tool[], parts: ListParts, isFirst: boolean): Promise<readonly Decision[]> => {
  const isRecorded = isFirst && ask.isBackground !== true && ask.cursor === undefined;
  const entry = { ...endpointAsk("tools/list", parts.publicOrigin), ...(isRecorded ? {} : { context: { background: true } }) };
  const asks = tools.map((tool) => toolAsk(tool, "tools/list", { could: true, view: ask.view.name }));
  const [entered, ...answers] = await parts.pdpClient.decideMany(ask.caller, [entry, ...asks], ask.correlationId);
  if (entered === undefined || answers.length !== tools.length) throw new Problem("decision_unavailable");
  requireEntry(entered, ask.caller, parts);
  return [entered, ...answers];
};

type Asking = Omit<ListParts, "cursor" | "decided" | "now">;

/** Of the catalogue, in its order, what some call of this caller could reach: view AND tenant AND state AND (no agent OR within every hop's capabilities). */
const candidatesOf = async ({ caller, view, snapshot, correlationId }: ListAsk, parts: Asking): Promise<readonly Tool[]> => {
  const [reach] = await Promise.all([gatherReach(caller, parts, correlationId), parts.kills.requireKnown()]);
  return [...snapshot.tools.values()].filter(
    (tool) =>
      !tool.isBuiltIn &&
      isInView(tool, view, caller.tenant) &&
      tool.state === "serving" &&
      parts.kills.of({ caller, view, tool }) === undefined &&
      (reach.capabilities?.has(tool.name) ?? true),
  );
};

/**
 * The first permitted of these, in their order: as many as wanted, and at least one more if there is one. What was answered at the
 * decision point's present moment is not asked again: it says the moment each time, so a change of rights or policies is seen at once.
 */
const firstPermitted = async (
  ask: ListAsk,
  candidates: readonly Tool[],
  wanted: number,
  parts: ListParts,
  start = Math.max(BATCH.least, Math.min(BATCH.max, wanted + 1)),
): Promise<readonly Tool[]> => {
  const key = keyOf(ask);
  const held = parts.decided.get(key);
  let permitted = new Map(held?.permitted);
  let moment = held?.moment;
  let isFirst = true;
  let size = start;
  const unanswered = (): readonly Tool[] => candidates.filter(({ name }) => !permitted.has(name));
  const found = (): readonly Tool[] => {
    const first = candidates.findIndex(({ name }) => !permitted.has(name));
    return (first < 0 ? candidates : candidates.slice(0, first)).filter(({ name }) => permitted.get(name) === true);
  };
  while (isFirst || (found().length <= wanted && unanswered().length > 0)) {
    // Where something is remembered the first question is only whether it still holds.
    const asked = isFirst && held !== undefined ? [] : unanswered().slice(0, size);
    const [entered, ...answers] = await decideTools(ask, asked, parts, isFirst);
    // What was answered at another moment is asked anew; but within one list only what it began with, or it might never end.
    if (entered?.moment !== moment && isFirst) permitted = new Map();
    moment = isFirst || entered?.moment === moment ? entered?.moment : undefined;
    asked.forEach(({ name }, index) => permitted.set(name, answers[index]?.decision === true));
    isFirst = false;
    // Whoever may use little is not asked about in many small questions.
    size = Math.min(BATCH.max, size * 2);
  }
  if (moment !== undefined) parts.decided.set(key, { moment, permitted }, parts.now().getTime() + LIST_TTL_MS);
  return found();
};

const builtInNames: readonly string[] = Object.values(builtInTools);

/** Whether a tool comes after this name in a list: those of Sallyport come first, in their order, then all others by name. What had the name may be gone. */
export const isAfter = ({ name, isBuiltIn }: Pick<Tool, "name" | "isBuiltIn">, after: string | undefined): boolean => {
  if (after === undefined) return true;
  const place = builtInNames.indexOf(after);
  return isBuiltIn ? place >= 0 && builtInNames.indexOf(name) > place : place >= 0 || name > after;
};

const VIEW_WORKFLOWS: EvaluationQuery = { type: "workflows", action: "view_all", context: { background: true } };
const isOfWorkflows = ({ source }: Tool): boolean => source === "workflow";
/**
 * Tools of Sallyport for runs are shown to persons who may view workflows, and to agents that could start one here; they decide of each run
 * themselves. Persons are asked about only where the view has such tools.
 */
const seesRunTools = async (
  { caller, correlationId }: ListAsk,
  { builtIn, candidates }: { readonly builtIn: readonly Tool[]; readonly candidates: readonly Tool[] },
  { pdpClient }: Pick<ListParts, "pdpClient">,
): Promise<boolean> => {
  if (!builtIn.some(isOfWorkflows)) return false;
  if (isAgent(caller)) return candidates.some(isOfWorkflows);
  return pdpClient.refusal(caller, await pdpClient.decide(caller, VIEW_WORKFLOWS, correlationId)) === undefined;
};

/** Whether a tool of Sallyport itself is in the caller's lists of the view. */
export const isBuiltInShown = async (ask: ListAsk, tool: Tool, parts: Asking): Promise<boolean> =>
  isInView(tool, ask.view, ask.caller.tenant) &&
  (!isOfWorkflows(tool) || seesRunTools(ask, { builtIn: [tool], candidates: await candidatesOf(ask, parts) }, parts));

/**
 * One page of the caller's tools: those of Sallyport that the view has, then what could be permitted. Health is the first entry of
 * the first page. Pages hang on nothing that is kept: each goes on after the last name in the catalogue of the moment. Cost: one
 * question to the decision point; where it has moved since, one more for some hundred candidates each. Throws `invalid_limit`, `invalid_cursor`, `decision_unavailable`, `membership_unavailable`.
 */
export const listPermitted = async (ask: ListAsk, parts: ListParts): Promise<ListedTools> => {
  const { caller, view, snapshot } = ask;
  const wanted = parseLimit(ask.limit) ?? Number.POSITIVE_INFINITY;
  const place = { view: view.name, principal: principalOf(caller) };
  const after = ask.cursor === undefined ? undefined : parts.cursor.open(ask.cursor, place);
  const builtIn = [...snapshot.tools.values()].filter(
    (tool) => tool.isBuiltIn && isInView(tool, view, caller.tenant) && isAfter(tool, after),
  );
  const candidates = (await candidatesOf(ask, parts)).filter((tool) => isAfter(tool, after));
  const seesRuns = await seesRunTools(ask, { builtIn, candidates }, parts);
  const instance = seesRuns ? builtIn : builtIn.filter((tool) => !isOfWorkflows(tool));
  const found = [...instance, ...(await firstPermitted(ask, candidates, wanted - instance.length, parts))];
  const { page, last: end } = pageOf(found, wanted);
  return end === undefined ? { tools: page } : { tools: page, nextCursor: parts.cursor.seal(end.name, place) };
};

/**
 * Of what a list would hold the first ones in another order, at most `limit`, and whether there are more. Only as many are decided as
 * it takes. `order` leaves out what does not fit. Throws as `listPermitted`.
 */
export const findPermitted = async (
  ask: Omit<ListAsk, "limit" | "cursor"> & { readonly limit: number; readonly order: (tools: readonly Tool[]) => readonly Tool[] },
  parts: ListParts,
): Promise<{ readonly tools: readonly Tool[]; readonly hasMore: boolean }> => {
  const found = await firstPermitted(ask, ask.order(await candidatesOf(ask, parts)), ask.limit, parts, ask.limit + 1);
  return { tools: found.slice(0, ask.limit), hasMore: found.length > ask.limit };
};
