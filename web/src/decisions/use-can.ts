import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useContext, useSyncExternalStore } from "react";
import { keyOf, type Ask } from "./ask.ts";
import { DecisionContext } from "./decisions-context.ts";

/** Only `allowed` may show anything. `unknown`: no fresh answer could be had. */
export type Can = "pending" | "allowed" | "denied" | "unknown";

export const AUTHZ = "authz";

const FRESH_MS = 60_000;
const REFRESH_MS = 50_000;
const AFTER_FAILURE_MS = 5_000;

/** May the signed-in person do this? Kept at most a minute, in memory; asked again when the house says things changed. */
export const useCan = (ask: Ask): Can => {
  const load = useContext(DecisionContext);
  if (load === undefined) throw new Error("no decisions around this component");
  const query = useQuery({
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
    refetchInterval: (asked) => (asked.state.status === "error" ? AFTER_FAILURE_MS : REFRESH_MS),
    retry: false,
  });
  if (query.isPending) return "pending";
  if (query.isError || Date.now() - query.dataUpdatedAt > FRESH_MS + 5_000) return "unknown";
  return query.data;
};

/** True while a question on screen has no usable answer. */
export const useIsAnyUnknown = (): boolean => {
  const cache = useQueryClient().getQueryCache();
  return useSyncExternalStore(
    (listener) => cache.subscribe(listener),
    () => cache.findAll({ queryKey: [AUTHZ] }).some((query) => query.state.status === "error" && query.getObserversCount() > 0),
  );
};
