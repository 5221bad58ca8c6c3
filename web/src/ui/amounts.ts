export interface Amounts {
  readonly used: number;
  readonly held: number;
}

/**
 * What is used and held of a limit. The stream only says what is left; where that is newer than what was read, the
 * difference to what is known to be held counts as used.
 */
export const amountsOf = (used: number, held: number, lent: number, max: number, left: number | undefined): Amounts => {
  if (left === undefined) return { used, held };
  const taken = Math.max(0, max - lent - left);
  const stillHeld = Math.min(held, Math.max(0, taken - used));
  return { used: Math.max(0, taken - stillHeld), held: stillHeld };
};
