import { z } from "zod";
import type { RpcResponse } from "#contract/json-rpc.ts";
import type { Fault } from "#contract/problem.ts";

/** What a tool call came to, as the page shows it. */
export type CallOutcome =
  | { readonly kind: "done"; readonly parts: readonly ResultPart[] }
  | {
      readonly kind: "refused";
      readonly code: string;
      readonly message: string;
      readonly detail: string | undefined;
      readonly correlationId: string | undefined;
      readonly decisionId: string | undefined;
      readonly faults: readonly Fault[];
      /** All that the error's data holds, e.g. `step_up`. */
      readonly data: Readonly<Record<string, unknown>>;
    };

export type ResultPart = { readonly kind: "data"; readonly value: unknown } | { readonly kind: "text"; readonly text: string };

const content = z.object({ content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })) });
const fault = z.object({ path: z.string(), message: z.string() });

const partOf = (text: string): ResultPart => {
  try {
    return { kind: "data", value: JSON.parse(text) as unknown };
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
      faults: z.array(fault).safeParse(data["errors"]).data ?? [],
      data,
    };
  }
  const result = content.safeParse(response.result);
  if (!result.success) return undefined;
  return {
    kind: "done",
    parts: result.data.content.map((item) => (item.text === undefined ? { kind: "data", value: item } : partOf(item.text))),
  };
};

export interface RowTable {
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isPlain = (value: unknown): boolean => value === null || typeof value !== "object";
const fitsCell = (value: unknown): boolean =>
  isPlain(value) || (Array.isArray(value) && value.length <= MOST_IN_CELL && value.every(isPlain));
const MOST_COLUMNS = 12;
const MOST_IN_CELL = 8;

/** Rows of plain values and short lists of them (a list, or the one list inside an object) as a table; `undefined` = show it as a tree. */
export const tableOf = (value: unknown): RowTable | undefined => {
  const lists = Array.isArray(value) ? [value] : isObject(value) ? Object.values(value).filter((inner) => Array.isArray(inner)) : [];
  const [list] = lists;
  if (lists.length !== 1 || list === undefined || list.length === 0) return undefined;
  if (!list.every((row): row is Readonly<Record<string, unknown>> => isObject(row))) return undefined;
  if (!list.every((row) => Object.values(row).every(fitsCell))) return undefined;
  const columns = [...new Set(list.flatMap((row) => Object.keys(row)))];
  return columns.length === 0 || columns.length > MOST_COLUMNS ? undefined : { columns, rows: list };
};
