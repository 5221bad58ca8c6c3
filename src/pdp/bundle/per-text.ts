import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";

/** Texts whose answers are held: thousands of policies. What is made of a text is many times as large as it is. */
const MAX_CHARACTERS = 4 * 2 ** 20;

/**
 * Holds what a pure look at texts answered: of a bundle in which one policy changed the rest is not looked at anew. An answer is shared
 * and changed by nobody. Cost where it is held: a digest of the texts.
 */
export const perText = <Answer extends object>(): ((texts: readonly string[], look: () => Answer) => Answer) => {
  const held = new LRUCache<string, Answer>({ maxSize: MAX_CHARACTERS });
  return (texts, look) => {
    const whole = JSON.stringify(texts);
    const key = createHash("sha256").update(whole).digest("base64");
    const known = held.get(key);
    if (known !== undefined) return known;
    const answer = look();
    held.set(key, answer, { size: whole.length });
    return answer;
  };
};
