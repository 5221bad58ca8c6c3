import { z } from "zod";
import { decisionContext, type EvaluationReply, type semantics } from "#contract/authzen.ts";
import type { SearchReply } from "#contract/searches.ts";

/** What an answer of the decision point must be to be believed; each reader answers `undefined` for anything else. */
export type ReadAnswer<T> = (value: unknown) => T | undefined;

export type Semantic = z.infer<typeof semantics>;

const replyShape = z.looseObject({ decision: z.boolean(), context: decisionContext.optional() });
const manyShape = z.looseObject({ evaluations: z.array(replyShape) });

/** True of the decision after which nothing more of a batch is decided. */
export const isLast = (semantic: Semantic, { decision }: { readonly decision: boolean }): boolean =>
  semantic === (decision ? "permit_on_first_permit" : "deny_on_first_deny");

export const readEvaluation: ReadAnswer<readonly EvaluationReply[]> = (value) => {
  const read = replyShape.safeParse(value);
  return read.success ? [read.data as EvaluationReply] : undefined;
};

/** As many decisions as were asked for, or cut exactly where the semantic cuts: behind the first that ends it. */
export const readEvaluations =
  (count: number, semantic: Semantic): ReadAnswer<readonly EvaluationReply[]> =>
  (value) => {
    const read = manyShape.safeParse(value);
    if (!read.success) return undefined;
    const items = read.data.evaluations;
    const first = items.findIndex((item) => isLast(semantic, item));
    const isWhole = first === -1 ? items.length === count : items.length === first + 1 && items.length <= count;
    return isWhole && items.length > 0 ? (items as readonly EvaluationReply[]) : undefined;
  };

const pageShape = z.looseObject({ next_token: z.string() });
const entity = z.looseObject({ type: z.string(), id: z.string() });
const named = z.looseObject({ name: z.string() });

/** Results of the searched type alone, no more than a page holds. */
export const readSearch =
  (kind: "subject" | "resource" | "action", type: string | undefined, limit: number): ReadAnswer<SearchReply> =>
  (value) => {
    const results = z.array(kind === "action" ? named : entity).max(limit);
    const read = z.looseObject({ results, page: pageShape.optional() }).safeParse(value);
    if (!read.success) return undefined;
    if (kind !== "action" && read.data.results.some((result) => result["type"] !== type)) return undefined;
    return read.data as unknown as SearchReply;
  };
