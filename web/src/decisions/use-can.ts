import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore, type ReactNode } from "react";
import type { Ask } from "./ask.ts";
import { AUTHZ, canOf, decisionQuery, freshFor, watchExpiry, type Can } from "./decision-query.ts";
import { useLoadDecision, type Answered } from "./decisions-context.ts";

export { AUTHZ, type Can } from "./decision-query.ts";

export interface Standing {
  readonly can: Can;
  /** Under which id a denial is on record. */
  readonly decisionId: string | undefined;
  /** Denied for want of a stronger sign-in alone. */
  readonly isStepUp: boolean;
}

export const standingOf = (can: Can, answered: Answered | undefined): Standing => ({
  can,
  decisionId: can === "denied" ? answered?.decisionId : undefined,
  isStepUp: can === "denied" && answered?.isStepUp === true,
});

/** May the signed-in person do this, and which decision says so? Kept at most a minute, in memory; asked again when Sallyport says things changed. */
export const useStanding = (ask: Ask): Standing => {
  const query = useQuery(decisionQuery(ask, useLoadDecision()));
  const { dataUpdatedAt } = query;
  // Nothing else draws the page anew at the moment an answer becomes old.
  const subscribe = useCallback((listener: () => void) => watchExpiry(dataUpdatedAt, listener), [dataUpdatedAt]);
  const isFresh = useSyncExternalStore(subscribe, () => freshFor(dataUpdatedAt) > 0);
  return standingOf(canOf(query, isFresh), query.data);
};

export const useCan = (ask: Ask): Can => useStanding(ask).can;

/**
 * Shows its children only while they are allowed, or would be after a stronger sign-in, to which the act itself leads; they are not in
 * the document otherwise.
 */
export const Gate = ({ ask, children }: { readonly ask: Ask; readonly children: ReactNode }): ReactNode => {
  const { can, isStepUp } = useStanding(ask);
  return can === "allowed" || isStepUp ? children : null;
};

/** True while a question on screen has no usable answer. */
export const useIsAnyUnknown = (): boolean => {
  const cache = useQueryClient().getQueryCache();
  return useSyncExternalStore(
    (listener) => cache.subscribe(listener),
    () => cache.findAll({ queryKey: [AUTHZ] }).some((query) => query.state.status === "error" && query.getObserversCount() > 0),
  );
};
