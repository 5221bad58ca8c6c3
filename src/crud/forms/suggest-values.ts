import { isObject } from "#contract/is-object.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import type { formSuggestions } from "#contract/forms.ts";
import { pointerText } from "#contract/json-pointer.ts";
import { Problem } from "#contract/problem.ts";
import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { executeCall } from "#crud/mcp/serve-execute.ts";
import { findTool, type Snapshot } from "#crud/tools/catalogue.ts";
import type { PlacedWorkflows } from "#crud/workflows/definition/placed-workflows.ts";
import { hasExpression } from "#crud/workflows/definition/expressions.ts";
import { expressions } from "#crud/forms/definition/fill-form.ts";
import { placesOf, suggestOf } from "#crud/forms/definition/form-fields.ts";
import type { Suggest } from "#crud/forms/definition/form-shape.ts";
import { scopeOf, type FormCaller, type FoundForm } from "./find-form.ts";

export interface SuggestContext {
  readonly execute: Parameters<typeof executeCall>[0];
  readonly catalogue: { readonly snapshot: Snapshot };
  readonly workflows: PlacedWorkflows;
  /** Items given before. */
  readonly cursors: SealedCursors<number>;
  readonly now: () => Date;
}
export interface SuggestAsk {
  readonly field: string;
  readonly q: string;
  /** JSON of the data so far. */
  readonly with?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly signal: AbortSignal;
}
interface Item {
  readonly label: string;
  readonly value: unknown;
}
type ToolSuggest = Extract<Suggest, { readonly tool: string }>;

const MAX_MS = 2000;
/** Items of an answer that are looked at. */
const MAX_ITEMS = 500;

const identityNodes: Omit<ToolSuggest, "min_chars" | "limit"> = {
  tool: "sallyport.local.search_identities",
  with: { search: "${ q }", limit: 100 },
  items: "${ result.nodes }",
  label: "${ item.name }",
  value: "${ item.id }",
};

const dataOf = (text: string | undefined): Readonly<Record<string, unknown>> => {
  try {
    const data: unknown = JSON.parse(text ?? "{}");
    if (isObject(data)) return data;
  } catch {
    // Refused below.
  }
  throw new Problem("unprocessable", { errors: [{ path: "query.with", message: "must be a JSON object" }] });
};

/** Items of an answer where the form does not say where they are: the answer itself, or its first list. */
const listIn = (result: unknown): unknown => (isObject(result) ? Object.values(result).find(Array.isArray) : result);
const named = (item: unknown): unknown => (isObject(item) ? (item["title"] ?? item["name"] ?? item["label"] ?? item["id"]) : item);
const keyed = (item: unknown): unknown => (isObject(item) ? (item["id"] ?? item["value"] ?? item["name"]) : item);
const textOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

/** The tool itself looks for what is typed where its arguments read that. */
const looksItself = (given: unknown): boolean => hasExpression(given) && /\bq\b/.test(JSON.stringify(given));

/** Evaluates what may be wrong with what a tool gave. */
const evaluate = (value: unknown, scope: Readonly<Record<string, unknown>>): unknown => {
  try {
    return expressions.evaluate(value, scope);
  } catch (cause) {
    const detail = `x-suggest: ${cause instanceof Error ? cause.message : "cannot be evaluated"}`;
    throw new Problem("unprocessable", { detail, cause });
  }
};

const itemsOf = async (
  parts: SuggestContext,
  {
    asked,
    suggest,
    scope,
  }: {
    readonly asked: SuggestAsk;
    readonly suggest: Omit<ToolSuggest, "min_chars" | "limit">;
    readonly scope: Readonly<Record<string, unknown>>;
  },
  by: FormCaller,
): Promise<{ readonly items: readonly Item[]; readonly isCut: boolean }> => {
  if (findTool(parts.catalogue.snapshot, suggest.tool)?.rules.isReadOnly !== true) throw new Problem("unknown_tool");
  const signal = AbortSignal.any([asked.signal, AbortSignal.timeout(MAX_MS)]);
  const call = { name: suggest.tool, arguments: evaluate(suggest.with, scope), idempotencyKey: undefined, signal };
  const answer = await executeCall(parts.execute, { ...by, ...call });
  if (signal.aborted) throw new Problem("upstream_timeout", { detail: `Suggestions take at most ${MAX_MS} ms.` });
  if (!answer.success) throw new Problem("upstream_error", { detail: answer.error?.message });
  const result = answer.data;
  const found = suggest.items === undefined ? listIn(result) : evaluate(suggest.items, { ...scope, result });
  const list: readonly unknown[] = Array.isArray(found) ? found : [];
  const { label, value } = suggest;
  const items = list.slice(0, MAX_ITEMS).map((item) => ({
    label: textOf(label === undefined ? named(item) : evaluate(label, { item })),
    value: value === undefined ? keyed(item) : evaluate(value, { item }),
  }));
  const typed = asked.q.toLowerCase();
  return {
    items: looksItself(suggest.with) ? items : items.filter((item) => item.label.toLowerCase().includes(typed)),
    isCut: answer.truncated || answer.next_cursor !== undefined || list.length > MAX_ITEMS,
  };
};

/**
 * Values for a field: its tool is called as the caller, with its own filters and masks. Throws `not_found` for a field without suggestions,
 * `upstream_timeout` after 2 s, `unprocessable`, and what the call throws.
 */
export const suggestValues = async (
  parts: SuggestContext,
  { found, asked }: { readonly found: FoundForm; readonly asked: SuggestAsk },
  by: FormCaller,
): Promise<ReplyOf<typeof formSuggestions>> => {
  const place = placesOf(found.schema).find(({ path }) => pointerText(path) === asked.field);
  const suggest = place === undefined ? undefined : suggestOf(place.schema);
  if (suggest === undefined) throw new Problem("not_found", { detail: `${asked.field} has no suggestions.` });
  if (asked.q.length < suggest.min_chars) return { items: [], truncated: false };
  const limit = Math.min(asked.limit, suggest.limit);
  const { caller } = by;
  const bound = ["suggest", caller.tenant, caller.sub, found.form?.id ?? "", found.title, asked.field, asked.q, asked.with ?? ""];
  const from = asked.cursor === undefined ? 0 : parts.cursors.open(asked.cursor, bound);
  const scope = { ...scopeOf(by, parts.now()), data: dataOf(asked.with), q: asked.q, limit };
  const isOfWorkflows = "query" in suggest && suggest.query === "workflows";
  const { items, isCut } = isOfWorkflows
    ? { items: workflowsFor(parts.workflows, caller.tenant, asked.q), isCut: false }
    : await itemsOf(parts, { asked, suggest: "query" in suggest ? identityNodes : suggest, scope }, by);
  const next = from + limit;
  return {
    items: items.slice(from, next),
    ...(items.length > next ? { nextCursor: parts.cursors.seal(next, bound) } : {}),
    truncated: isCut,
  };
};

const workflowsFor = (workflows: PlacedWorkflows, tenant: string, q: string): readonly Item[] =>
  workflows
    .visibleTo(tenant)
    .map(({ document: { title, name } }) => ({ label: title, value: name }))
    .filter(({ label }) => label.toLowerCase().includes(q.toLowerCase()))
    .toSorted((one, other) => (one.label < other.label ? -1 : 1));
