import { pointerText } from "#contract/json-pointer.ts";

/** The pointer of a member; a place in a list is `*`, as rules say it. */
export const pointerTo = (before: string, part: string, isItem = false): string => before + (isItem ? "/*" : pointerText([part]));
