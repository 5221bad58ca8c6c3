import { createContext } from "react";
import type { Waiting } from "#contract/waiting.ts";

/** How many things wait for this person, by the id of the screen that has them. A screen without an entry shows no count. */
export const WaitingCounts = createContext<Readonly<Partial<Record<string, number>>> & Waiting>({});
