/** Remembers answers for a short while, at most so many; the oldest goes first. */
export interface Recent<V> {
  get(key: string): V | undefined;
  set(key: string, value: V, untilMs: number): void;
}

export const createRecent = <V>(most: number, now: () => Date): Recent<V> => {
  const held = new Map<string, { readonly value: V; readonly untilMs: number }>();
  return {
    get: (key) => {
      const found = held.get(key);
      if (found === undefined) return undefined;
      if (now().getTime() < found.untilMs) return found.value;
      held.delete(key);
      return undefined;
    },
    set: (key, value, untilMs) => {
      held.delete(key);
      if (held.size >= most) held.delete(held.keys().next().value ?? "");
      held.set(key, { value, untilMs });
    },
  };
};
