import { isRawNumber } from "./exact-numbers.ts";

/** Whether a value of JSON is an object: neither null nor a list, nor a number that is stored as its text. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);
