import { parseExactJson, rawNumberPaths } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import { parsePointer } from "#contract/json-pointer.ts";
import { z } from "zod";
import { pointerTo } from "../../ui/json-pointer.ts";
import { MASKED_META, maskedPlace, type MaskedPlace } from "#contract/masked-places.ts";
import type { RpcResponse } from "#contract/json-rpc.ts";
import type { Issue } from "#contract/problem.ts";

/** What a tool call came to, as the page shows it. */
export type CallOutcome =
  | { readonly kind: "done"; readonly parts: readonly ResultPart[]; readonly masked: readonly MaskedPlace[] }
  | {
      readonly kind: "refused";
      readonly code: string;
      readonly message: string;
      readonly detail: string | undefined;
      readonly correlationId: string | undefined;
      readonly decisionId: string | undefined;
      readonly issues: readonly Issue[];
      /** All that the error's data holds, e.g. `step_up`. */
      readonly data: Readonly<Record<string, unknown>>;
    };

export type ResultPart = { readonly kind: "data"; readonly value: unknown } | { readonly kind: "text"; readonly text: string };

const content = z.object({
  _meta: z.looseObject({ [MASKED_META]: z.array(maskedPlace).optional().catch(undefined) }).optional(),
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
});
const issue = z.object({ path: z.string(), message: z.string() });

const partOf = (text: string): ResultPart => {
  try {
    const value = parseExactJson(text);
    // A table would show another number.
    return rawNumberPaths(value).length === 0 ? { kind: "data", value } : { kind: "text", text };
  } catch {
    return { kind: "text", text };
  }
};

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Reads the answer of `tools/call`; `undefined` when it is neither a result nor an error. */
export const readOutcome = (response: RpcResponse): CallOutcome | undefined => {
  const { error } = response;
  if (error !== undefined) {
    const data: Readonly<Record<string, unknown>> = error.data ?? {};
    return {
      kind: "refused",
      code: textOf(data["code"]) ?? String(error.code),
      message: error.message,
      detail: textOf(data["detail"]),
      correlationId: textOf(data["correlation_id"]),
      decisionId: textOf(data["decision_id"]),
      issues: z.array(issue).safeParse(data["errors"]).data ?? [],
      data,
    };
  }
  const result = content.safeParse(response.result);
  if (!result.success) return undefined;
  return {
    kind: "done",
    masked: result.data._meta?.[MASKED_META] ?? [],
    parts: result.data.content.map((item) => (item.text === undefined ? { kind: "data", value: item } : partOf(item.text))),
  };
};

export interface RowTable {
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** Where the rows lie in the value, RFC 6901. */
  readonly at: string;
}

/** Who hid it: `tool` with the tool's name, `data_scope` with the type of the rows. */
export const ruleOf = ({ rule }: MaskedPlace): { readonly by: string; readonly name: string } => {
  const at = rule.indexOf(":");
  return { by: rule.slice(0, at), name: rule.slice(at + 1) };
};

const leavesSomething: ReadonlySet<MaskedPlace["kind"]> = new Set(["hash", "last4", "year"]);

/** The rule that hid something of the value at a place. Where it would have left something and there is nothing, there was nothing before. */
export const maskAt = (masked: readonly MaskedPlace[], path: string, value: unknown): MaskedPlace | undefined => {
  const mask = masked.find((one) => one.path === path);
  return mask !== undefined && value === null && leavesSomething.has(mask.kind) ? undefined : mask;
};

/** Places right under one that were left out altogether, so that nothing of them is there to be marked. */
export const leftOutUnder = (
  masked: readonly MaskedPlace[],
  before: string,
): readonly { readonly name: string; readonly mask: MaskedPlace }[] =>
  masked.flatMap((mask) => {
    const rest = mask.kind === "drop" && mask.path.startsWith(`${before}/`) ? mask.path.slice(before.length + 1) : "/";
    return rest.includes("/") ? [] : [{ name: parsePointer(`/${rest}`)[0] ?? "", mask }];
  });

const isPlain = (value: unknown): boolean => value === null || typeof value !== "object";
const fitsCell = (value: unknown): boolean =>
  isPlain(value) || (Array.isArray(value) && value.length <= MOST_IN_CELL && value.every(isPlain));
const MAX_COLUMNS = 12;
const MOST_IN_CELL = 8;

/** Rows of plain values and short lists of them (a list, or the one list inside an object) as a table; `undefined` = show it as a tree. */
export const tableOf = (value: unknown): RowTable | undefined => {
  const lists = Array.isArray(value)
    ? [["", value] as const]
    : isObject(value)
      ? Object.entries(value).flatMap(([name, inner]) => (Array.isArray(inner) ? [[pointerTo("", name), inner] as const] : []))
      : [];
  const [[at, list] = []] = lists;
  if (lists.length !== 1 || at === undefined || list === undefined || list.length === 0) return undefined;
  if (!list.every((row): row is Readonly<Record<string, unknown>> => isObject(row))) return undefined;
  if (!list.every((row) => Object.values(row).every(fitsCell))) return undefined;
  const columns = [...new Set(list.flatMap((row) => Object.keys(row)))];
  return columns.length === 0 || columns.length > MAX_COLUMNS ? undefined : { columns, rows: list, at };
};
