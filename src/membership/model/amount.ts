import { microFromUsd } from "#contract/ids.ts";

/** What is wrong with an amount that `microOf` does not know. */
export const AMOUNT_ISSUE = "has more than 6 decimals";

/** Micro-USD of an amount in a body; `undefined` where it is finer than money is counted. */
export const microOf = (usd: number): bigint | undefined => {
  try {
    return microFromUsd(usd);
  } catch {
    return undefined;
  }
};
