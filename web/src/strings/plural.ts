import { formatCount } from "./format.ts";

/** A count with its noun, e.g. `2 steps`. */
export const plural = (count: number, one: string, many: string): string => `${formatCount(count)} ${count === 1 ? one : many}`;
