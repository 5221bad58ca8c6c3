import { useQueries } from "@tanstack/react-query";
import { useContext } from "react";
import type { Ask } from "./ask.ts";
import { canOf, decisionQuery, freshFor, type Can } from "./decision-query.ts";
import { DecisionContext } from "./decisions-context.ts";

/** As `useCan`, of several questions, in their order. */
export const useCans = (asks: readonly Ask[]): readonly Can[] => {
  const load = useContext(DecisionContext);
  if (load === undefined) throw new Error("no decisions around this component");
  return useQueries({ queries: asks.map((ask) => decisionQuery(ask, load)) }).map((query) =>
    canOf(query, freshFor(query.dataUpdatedAt) > 0),
  );
};
