import { applyMask, mergeMasks, type MaskKind } from "#contract/data-scope.ts";
import { isObject } from "#contract/is-object.ts";
import { isLongerThan, issueOfJson } from "#contract/json-members.ts";
import { Problem } from "#contract/problem.ts";
import type { MaskedPlace } from "#contract/masked-places.ts";
import { sha256Of } from "#crud/model/digest.ts";
import { pointerText, type Pointer } from "#contract/json-pointer.ts";
import { schemaIssues } from "#parsing/schema-issues.ts";
import { createYieldingOfLong, yielding } from "#http/yielding.ts";
import { changeAt, valueAt } from "#crud/model/value-at.ts";
import type { RowRules, Tool, UpstreamAnswer } from "#crud/tools/tool.ts";
import type { AuthorizedCall } from "./check-chain.ts";
import type { KeptReply } from "#crud/mcp/call/steps/idempotency.ts";
import type { RowScope } from "#crud/tools/row-scope.ts";
import { absentRow } from "#crud/model/upstream-error.ts";

export interface Shaped {
  readonly value: unknown;
  readonly rowsOut: number;
  /** What was hidden, each place once. */
  readonly masked: readonly MaskedPlace[];
}

/** What an answer is shaped by. */
type ShapedCall = Pick<AuthorizedCall, "tool" | "scope" | "lifted"> & {
  readonly call?: AuthorizedCall["call"];
  readonly given: Pick<AuthorizedCall["given"], "value" | "page">;
};

const MAX_BYTES = 1_048_576;

/** One value hidden; `undefined` takes its member away. */
const hide = (value: unknown, kind: MaskKind): unknown => applyMask({ value }, { value: kind }).row["value"];

interface Mask {
  readonly pointer: Pointer;
  readonly kind: MaskKind;
  readonly rule: string;
  readonly unless?: string;
}

const isOneRow = (value: unknown, { rows }: RowRules): boolean => rows.length === 0 && !Array.isArray(value);

/** Masks of both sources, each place once: of two the stricter, of equals the data scope's, which no right of the tool lifts. */
const masksOf = (value: unknown, tool: Tool, scope: RowScope | undefined, lifted: ReadonlySet<string>): readonly Mask[] => {
  const { rows, masks } = tool.rules;
  const scoped = rows === undefined || scope === undefined ? [] : Object.entries(scope.masks);
  const before = rows === undefined || isOneRow(value, rows) ? [] : [...rows.rows, "*"];
  const byPath = new Map<string, Mask>();
  const add = (mask: Mask): void => {
    const path = pointerText(mask.pointer);
    const held = byPath.get(path);
    if (held === undefined || mergeMasks({ at: held.kind }, { at: mask.kind })["at"] !== held.kind) byPath.set(path, mask);
  };
  for (const [column, kind] of scoped) {
    const pointer = rows?.columns.get(column);
    if (pointer !== undefined) add({ pointer: [...before, ...pointer], kind, rule: `data_scope:${rows?.resourceType ?? ""}` });
  }
  for (const { pointer, kind, unlessAllowed } of masks) {
    if (unlessAllowed !== undefined && lifted.has(unlessAllowed)) continue;
    const unless = unlessAllowed === undefined || rows === undefined ? {} : { unless: `${rows.resourceType}/${unlessAllowed}` };
    add({ pointer, kind, rule: `tool:${tool.name}`, ...unless });
  }
  return [...byPath.values()];
};

/** Rows that the scope keeps. A single document is one row; absent when it is not kept. */
const keepRows = (value: unknown, tool: Tool, scope: RowScope): { value: unknown; rowsOut: number } => {
  const rules = tool.rules.rows;
  if (rules === undefined) return { value, rowsOut: 0 };
  const found = valueAt(value, rules.rows);
  if (isOneRow(found, rules)) {
    if (typeof found !== "object") throw new Problem("data_scope_unavailable", { detail: "The answer is no row." });
    // Of a write that was done it stays an issue of its answer: nobody is to take it for undone.
    if (found === null || !scope.keeps(found)) throw tool.rules.isReadOnly ? absentRow() : new Problem("not_found");
    return { value: found, rowsOut: 1 };
  }
  if (!Array.isArray(found)) throw new Problem("data_scope_unavailable", { detail: "The answer's rows are no list." });
  const kept = found.filter((row) => scope.keeps(row));
  return { value: changeAt(value, rules.rows, () => kept), rowsOut: kept.length };
};

/**
 * SHA-256 of all that says where in an answer rows and columns stand and what hides them. Under another one an answer that was kept
 * is not shaped: a mask would miss what has moved.
 */
export const shapeMark = ({ digest, rules }: Pick<Tool, "digest" | "rules">): string =>
  sha256Of({
    digest,
    rows: rules.rows === undefined ? null : { ...rules.rows, columns: [...rules.rows.columns], guard: null },
    masks: rules.masks.map((mask) => ({ ...mask })),
    wanted: rules.wantedRows ?? null,
  });

/**
 * An answer that an idempotency key keeps, as whoever sends the key again may see it now. Throws `reply_withheld` where nothing of
 * it may be shown, or nobody can tell: what was done stays done.
 */
export const shapeKept = async (kept: KeptReply, decided: ShapedCall): Promise<Pick<Shaped, "value" | "masked">> => {
  try {
    if (kept.mark === shapeMark(decided.tool)) return await shapeOutput(kept.upstream, decided);
  } catch (cause) {
    throw new Problem("reply_withheld", { cause });
  }
  throw new Problem("reply_withheld", { detail: "The tool's rules have changed since." });
};

/** How many rows of a raw answer the caller would see; for stopping a paged read when there are enough. */
export const countKept = (value: unknown, tool: Tool, scope: RowScope | undefined): number => {
  const found = valueAt(value, tool.rules.rows?.rows ?? []);
  return Array.isArray(found) ? found.filter((row) => scope?.keeps(row) ?? true).length : 0;
};

const cutRows = (value: unknown, tool: Tool, wanted: unknown): unknown => {
  const rules = tool.rules.rows;
  if (rules === undefined || typeof wanted !== "number") return value;
  return changeAt(value, rules.rows, (rows) => (Array.isArray(rows) ? rows.slice(0, wanted) : rows));
};

/** Where the list of an answer lies that may be cut: at its rows, or in its only member that is a list. */
const listOf = (value: Readonly<Record<string, unknown>>, { rules }: Tool): Pointer | undefined => {
  const rows = rules.rows?.rows ?? [];
  if (rows.length > 0) return Array.isArray(valueAt(value, rows)) ? rows : undefined;
  const lists = Object.keys(value).filter((name) => Array.isArray(value[name]));
  return lists.length === 1 ? lists : undefined;
};

/** As what a list is given that is the whole answer, where answers are cut: what it is cut to is told beside it. */
const ITEMS = "items";
const isBareList = (value: unknown, { rules }: Tool): value is readonly unknown[] =>
  rules.cutsAtBytes !== undefined && Array.isArray(value);

/** What `truncated` and `next_cursor` add to an answer, in bytes. */
const CUT_BYTES = 512;
const STRIDE = 200;

/** Of the list of an answer as many whole items as fit, from where the cursor says. It stops now and then. */
const cutBytes = function* (value: unknown, tool: Tool, page: ShapedCall["given"]["page"]): Generator<void, unknown> {
  const max = tool.rules.cutsAtBytes;
  const at = max === undefined || !isObject(value) ? undefined : listOf(value, tool);
  if (max === undefined || page === undefined || at === undefined) return value;
  const left = (valueAt(value, at) as readonly unknown[]).slice(page.from);
  const whole = changeAt(value, at, () => left) as Readonly<Record<string, unknown>>;
  let bytes = Buffer.byteLength(JSON.stringify(changeAt(value, at, () => []))) + CUT_BYTES;
  let kept = 0;
  for (; kept < left.length; kept++) {
    if (kept % STRIDE === STRIDE - 1) yield;
    bytes += Buffer.byteLength(JSON.stringify(left[kept]) ?? "null") + 1;
    if (bytes > Math.min(max, MAX_BYTES)) break;
  }
  if (kept === left.length) return whole;
  if (kept === 0) throw new Problem("output_too_large", { detail: `One item of the answer has more than response.maxBytes (${max}).` });
  const given = changeAt(whole, at, () => left.slice(0, kept)) as Readonly<Record<string, unknown>>;
  return { ...given, truncated: true, next_cursor: page.next(page.from + kept) };
};

const requireFit = (bytes: number, { rules: { cutsAtBytes = MAX_BYTES } }: Tool): void => {
  if (bytes > MAX_BYTES)
    throw new Problem("output_too_large", { detail: `The answer is too long: no tool gives more than ${MAX_BYTES} bytes.` });
  if (bytes > cutsAtBytes)
    throw new Problem("output_too_large", {
      detail: `The answer has ${bytes} bytes, more than response.maxBytes (${cutsAtBytes}), and no list that onExceed: truncate could cut: neither rows nor exactly one list among its members.`,
    });
};

/**
 * What leaves of an upstream's answer: rows filtered, columns masked once (by the data scope and by the file unless it was
 * lifted; the stricter wins), cut to what was wanted, held against the output schema, bounded. Fail closed throughout. A large answer is
 * shaped step by step, others in between.
 * Throws `data_scope_unavailable`, `not_found`, `output_invalid`, `output_too_large`.
 */
export const shapeOutput = async (
  upstream: Pick<UpstreamAnswer, "value" | "isCut">,
  { call, tool, given, scope, lifted }: ShapedCall,
): Promise<Shaped> => {
  const turn = createYieldingOfLong();
  const masked: MaskedPlace[] = [];
  if (tool.rules.rows !== undefined && scope === undefined) throw new Problem("data_scope_unavailable");
  const shaped = scope === undefined ? { value: upstream.value, rowsOut: 0 } : keepRows(upstream.value, tool, scope);
  let { value } = shaped;
  for (const { pointer, ...mask } of masksOf(value, tool, scope, lifted)) {
    await turn();
    let hidden = false;
    value = changeAt(value, pointer, (held) => {
      hidden ||= mask.kind === "drop" || held !== null;
      return hide(held, mask.kind);
    });
    if (hidden) masked.push({ path: pointerText(pointer), ...mask });
  }
  const wanted = tool.rules.wantedRows === undefined ? undefined : given.value[tool.rules.wantedRows];
  value = cutRows(value, tool, wanted);
  const isBare = isBareList(value, tool);
  if (isBare) value = { [ITEMS]: value };
  if (upstream.isCut === true && isObject(value) && !(typeof wanted === "number" && shaped.rowsOut >= wanted)) {
    value = { ...value, truncated: true };
  }
  value = await yielding(cutBytes(value, tool, given.page), turn);
  if (isLongerThan(value, MAX_BYTES)) requireFit(MAX_BYTES + 1, tool);
  // It is digested for the record: what cannot be is refused here, where the act can still be told to have been done.
  const unfit = issueOfJson(value, true);
  if (unfit !== undefined) throw new Problem("output_invalid", { detail: `The answer ${unfit}.` });
  await turn();
  const text = JSON.stringify(value) ?? "";
  requireFit(Buffer.byteLength(text), tool);
  await turn();
  const { checkOutput } = tool.rules;
  const issues =
    checkOutput === undefined
      ? []
      : await schemaIssues(checkOutput, value, { text, tenant: call?.caller.tenant }).catch((cause: unknown) => {
          // The act is done: it must not look as if it could be tried again.
          throw new Problem("output_invalid", { detail: "The answer could not be checked against its schema.", cause });
        });
  if (issues.length > 0) throw new Problem("output_invalid", { errors: [...issues] });
  await turn();
  const at = isBare ? [ITEMS] : tool.rules.rows?.rows;
  const rows = scope === undefined || at === undefined ? undefined : valueAt(value, at);
  const rowsOut = Array.isArray(rows) ? rows.length : shaped.rowsOut;
  return { value, rowsOut, masked: isBare ? masked.map((mask) => ({ ...mask, path: `/${ITEMS}${mask.path}` })) : masked };
};
