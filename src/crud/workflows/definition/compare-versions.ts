/** Parts of a semantic version, without what is built. */
const partsOf = (version: string): readonly [readonly string[], readonly string[]] => {
  const [plain = ""] = version.split("+", 1);
  const dash = plain.indexOf("-");
  return dash === -1 ? [plain.split("."), []] : [plain.slice(0, dash).split("."), plain.slice(dash + 1).split(".")];
};

const compareParts = (one: string, other: string): number => {
  const [isNumber, isOtherNumber] = [one, other].map((part) => /^\d+$/.test(part));
  if (isNumber === true && isOtherNumber === true) return BigInt(one) < BigInt(other) ? -1 : one === other ? 0 : 1;
  if (isNumber !== isOtherNumber) return isNumber === true ? -1 : 1;
  return one < other ? -1 : one === other ? 0 : 1;
};

const compareLists = (one: readonly string[], other: readonly string[]): number => {
  for (const [at, part] of one.entries()) {
    const against = other[at];
    const order = against === undefined ? 1 : compareParts(part, against);
    if (order !== 0) return order;
  }
  return one.length - other.length;
};

/** The order of two semantic versions: below 0 where the first is lower. A version before a release is lower than the release. */
export const compareVersions = (one: string, other: string): number => {
  const [[numbers, before], [others, otherBefore]] = [partsOf(one), partsOf(other)];
  const order = compareLists(numbers, others);
  if (order !== 0) return order;
  if (before.length === 0 || otherBefore.length === 0) return otherBefore.length - before.length;
  return compareLists(before, otherBefore);
};
