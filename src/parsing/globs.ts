/** Whether a name matches as a whole. Cost: one pass over the name. */
const compileGlob = (head: string, rest: readonly string[]): ((name: string) => boolean) => {
  const tail = rest.at(-1) ?? "";
  const middle = rest.slice(0, -1).filter((part) => part !== "");
  return (name) => {
    const end = name.length - tail.length;
    let at = head.length;
    if (end < at || !name.startsWith(head) || !name.endsWith(tail)) return false;
    // The first place of each part leaves the most to the next: no other place is tried.
    return middle.every((part) => {
      const found = name.indexOf(part, at);
      at = found + part.length;
      return found !== -1 && at <= end;
    });
  };
};

/**
 * Compiles patterns in which `*` stands for any text: whether a name matches one of them as a whole. Each pattern is read once. Cost of a
 * name: one look-up for all patterns without `*`, and at most one pass over it for each other.
 */
export const compileGlobs = (patterns: readonly string[]): ((name: string) => boolean) => {
  const exact = new Set<string>();
  const globs: ((name: string) => boolean)[] = [];
  for (const pattern of new Set(patterns)) {
    const [head = "", ...rest] = pattern.split("*");
    if (rest.length === 0) exact.add(pattern);
    else globs.push(compileGlob(head, rest));
  }
  return (name) => exact.has(name) || globs.some((matches) => matches(name));
};
