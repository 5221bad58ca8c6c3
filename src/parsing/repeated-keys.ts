import { isScalar, visit, type Document, type Scalar } from "yaml";

/**
 * Keys that stand a second time in one map of a document, in its order. The parser's own check compares each key with each: seconds for a
 * map of thousands. Cost: O(n).
 */
export const repeatedKeys = (document: Document): readonly Scalar[] => {
  const found: Scalar[] = [];
  visit(document, {
    Map: (_key, { items }) => {
      const names = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (names.has(key.value)) found.push(key);
        names.add(key.value);
      }
    },
  });
  return found;
};
