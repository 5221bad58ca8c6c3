import type { Outcome } from "#membership/graph/put-node.ts";

/** The header that names the version of the graph which an answer is of. */
export const versioned = (version: bigint | number): Record<string, string> => ({ "x-graph-version": String(version) });

/** How a page by `limit` and `skip` lies in the whole. */
export const skippedPage = ({ limit, skip }: { readonly limit: number; readonly skip: number }, shown: number, total: number) => ({
  total,
  limit,
  skip,
  has_more: skip + shown < total,
});

/** The answer of a write that took something away. */
export const gone = (version: bigint): Response => new Response(null, { status: 204, headers: versioned(version) });

/** 201 where something is there that was not. */
export const statusOf = (...outcomes: readonly (Outcome | "gone")[]): 200 | 201 => (outcomes.includes("new") ? 201 : 200);
