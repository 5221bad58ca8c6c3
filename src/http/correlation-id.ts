import { randomUUID } from "node:crypto";
import { correlationIdPattern } from "#contract/ids.ts";

/** Taken from the caller if it is well formed, else made anew. */
export const correlationIdOf = (given: string | null | undefined): string =>
  given !== null && given !== undefined && correlationIdPattern.test(given) ? given : randomUUID();
