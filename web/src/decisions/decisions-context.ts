import { createContext } from "react";
import type { Ask } from "./ask.ts";

/** Loads one decision, batched with those asked at the same moment. */
export type LoadDecision = (ask: Ask) => Promise<"allowed" | "denied">;

export const DecisionContext = createContext<LoadDecision | undefined>(undefined);
