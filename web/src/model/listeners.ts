/** Who is to hear of a change, until they leave. */
export const createListeners = () => {
  const listeners = new Set<() => void>();
  return {
    tell: (): void => {
      for (const listener of listeners) listener();
    },
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return (): void => void listeners.delete(listener);
    },
  };
};
