import { keyOf, type Ask } from "./ask.ts";
import type { Answered, LoadDecision } from "./decisions-context.ts";

/** Only `allowed` may show anything. `unknown`: no fresh answer could be had. */
export type Can = "pending" | "allowed" | "denied" | "unknown";

export const AUTHZ = "authz";

/** An answer is shown no longer than this after it came. */
export const FRESH_MS = 60_000;
const REFRESH_MS = 50_000;
const AFTER_FAILURE_MS = 5_000;

/** How one decision is asked and kept: in memory, asked again before it is old. */
export const decisionQuery = (ask: Ask, load: LoadDecision) => ({
  queryKey: [
    AUTHZ,
    ask.type,
    ask.id ?? null,
    ask.action,
    keyOf(ask),
    ask.properties ?? null,
    ask.ui ?? null,
    ask.resourceAttributes ?? null,
  ],
  queryFn: async () => await load(ask),
  staleTime: FRESH_MS,
  gcTime: FRESH_MS,
  refetchInterval: (asked: { readonly state: { readonly status: string } }) =>
    asked.state.status === "error" ? AFTER_FAILURE_MS : REFRESH_MS,
  retry: false,
});

/** Milliseconds that an answer may still be shown; 0: none. */
export const freshFor = (updatedAt: number): number => Math.max(0, updatedAt + FRESH_MS - Date.now());

/** Tells when the answer becomes too old to show; the returned function takes the wish back. */
export const watchExpiry = (updatedAt: number, listener: () => void): (() => void) => {
  const left = freshFor(updatedAt);
  if (left === 0) return () => {};
  const timer = setTimeout(listener, left);
  return () => clearTimeout(timer);
};

export interface KeptDecision {
  readonly isPending: boolean;
  readonly isError: boolean;
  readonly data: Answered | undefined;
  readonly dataUpdatedAt: number;
}

/** What may be made of what is kept at this moment. */
export const canOf = (kept: KeptDecision, isFresh: boolean): Can => {
  if (kept.isPending) return "pending";
  return kept.isError || !isFresh || kept.data === undefined ? "unknown" : kept.data.can;
};
