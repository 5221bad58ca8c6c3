/** What one piece of work takes of its key's share; all of it is given back when the work ends. */
export interface Claim extends Disposable {
  /** What it takes now. */
  readonly taken: number;
  /** Takes so much more, or nothing: false where it is beyond the share, or the work has ended. */
  take(amount: number): boolean;
  /** Gives back what is beyond so much. */
  shrinkTo(amount: number): void;
}

/** Shares of something that a process has `total` of: calls, or bytes. All claims of one key together take at most `perKey`. */
export const createShares = ({ total, perKey }: { readonly total: number; readonly perKey: number }): ((key: string) => Claim) => {
  const perKeyTaken = new Map<string, number>();
  let all = 0;
  return (key) => {
    let taken = 0;
    let hasEnded = false;
    const add = (amount: number): void => {
      const ofKey = (perKeyTaken.get(key) ?? 0) + amount;
      all += amount;
      taken += amount;
      if (ofKey === 0) perKeyTaken.delete(key);
      else perKeyTaken.set(key, ofKey);
    };
    const shrinkTo = (amount: number): void => add(Math.min(0, amount - taken));
    return {
      get taken() {
        return taken;
      },
      take: (amount) => {
        if (hasEnded || all + amount > total || (perKeyTaken.get(key) ?? 0) + amount > perKey) return false;
        add(amount);
        return true;
      },
      shrinkTo,
      [Symbol.dispose]: () => {
        hasEnded = true;
        shrinkTo(0);
      },
    };
  };
};
