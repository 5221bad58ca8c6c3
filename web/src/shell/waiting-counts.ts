import { createContext } from "react";
import type { ScreenId } from "#contract/screens.ts";

/** How many things wait for this person on a screen. A screen without an entry shows no count. */
export const WaitingCounts = createContext<Readonly<Partial<Record<ScreenId, number>>>>({});
