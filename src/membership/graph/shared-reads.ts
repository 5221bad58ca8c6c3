/**
 * Reads by a key, as many at once as ask: those that ask for it while it is being read share the next read, one that begins after all of
 * them, and is as true for each as one of its own.
 */
export const createSharedReads = <T>(read: (key: string) => Promise<T>): ((key: string) => Promise<T>) => {
  const underWay = new Map<string, { readonly value: Promise<T>; next?: Promise<T> }>();
  const begin = (key: string): Promise<T> => {
    const reading: { readonly value: Promise<T>; next?: Promise<T> } = { value: read(key) };
    underWay.set(key, reading);
    const end = (): void => {
      if (underWay.get(key) === reading) underWay.delete(key);
    };
    reading.value.then(end, end);
    return reading.value;
  };
  return (key) => {
    const reading = underWay.get(key);
    if (reading === undefined) return begin(key);
    const after = (): Promise<T> => begin(key);
    reading.next ??= reading.value.then(after, after);
    return reading.next;
  };
};
