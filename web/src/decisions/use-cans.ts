import { useQueries } from "@tanstack/react-query";
import type { Ask } from "./ask.ts";
import { canOf, decisionQuery, freshFor, type Can } from "./decision-query.ts";
import { standingOf, type Standing } from "./use-can.ts";
import { useLoadDecision } from "./decisions-context.ts";

/** As `useStanding`, of several questions, in their order. */
export const useStandings = (asks: readonly Ask[]): readonly Standing[] => {
  const load = useLoadDecision();
  return useQueries({ queries: asks.map((ask) => decisionQuery(ask, load)) }).map((query) =>
    standingOf(canOf(query, freshFor(query.dataUpdatedAt) > 0), query.data),
  );
};

/** As `useCan`, of several. */
export const useCans = (asks: readonly Ask[]): readonly Can[] => useStandings(asks).map(({ can }) => can);
