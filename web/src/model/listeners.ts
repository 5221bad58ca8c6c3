/** Who is to hear of a change, until they leave. */
export const createListeners = <T = void>() => {
  const listeners = new Set<(value: T) => void>();
  return {
    tell: (value: T): void => {
      for (const listener of listeners) listener(value);
    },
    subscribe: (listener: (value: T) => void) => {
      listeners.add(listener);
      return (): void => void listeners.delete(listener);
    },
  };
};
