/** Clients and upstreams use few names; what a stranger makes up is written small anew each time once this is full. */
const MAX_NAMES = 500;
const MAX_NAME = 64;
const known = new Map<string, string>();

/**
 * A header's name in lower case, the same string each time: who looks it up later finds it without reading it again.
 * Names as they arrive are new strings with every request.
 */
export const lowerName = (name: string): string => {
  const held = known.get(name);
  if (held !== undefined) return held;
  const lower = name.toLowerCase();
  if (known.size < MAX_NAMES && name.length <= MAX_NAME) known.set(name, lower);
  return lower;
};
