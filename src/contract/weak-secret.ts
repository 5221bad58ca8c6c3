/** Why bytes are no key that was made at random, in words that follow a name; undefined where nothing speaks against it. */
export const keyWeakness = (bytes: Uint8Array): string | undefined => {
  const values = new Set(bytes);
  // Of 32 random bytes some 30 differ; 16 or fewer come about in no lifetime.
  if (values.size <= bytes.length / 2) return "repeats itself: it was not made at random";
  const steps = new Set(bytes.subarray(1).map((byte, index) => byte - (bytes[index] ?? 0)));
  if (steps.size === 1) return "counts up: it was not made at random";
  if ([...values].every((byte) => byte >= 0x20 && byte < 0x7f)) return "is text that somebody typed: it was not made at random";
  return undefined;
};

/** Words of what stands in these documents, in those of others, and in everybody's first try. */
const examples = /change-?me|example|placeholder|sallyport|of-the-gateways|passw[o0]rd|secret|letmein|admin|default|demo|test/gi;
const SHORTEST = 16;
const FEWEST_CHARACTERS = 8;

/** Why a text is a secret of documents, not one's own; undefined where nothing speaks against it. */
export const exampleWeakness = (text: string): string | undefined => {
  // A random text may hold such a word by chance; what is hardly more than such words is an example's.
  const rest = text.replaceAll(examples, "");
  return rest.length < text.length && rest.length < SHORTEST / 2 ? "is an example's, not one of your own" : undefined;
};

/** As `keyWeakness`, of a secret that is text, such as a provider gives it. */
export const secretWeakness = (text: string): string | undefined => {
  const example = exampleWeakness(text);
  if (example !== undefined) return example;
  if (text.length < SHORTEST) return `has fewer than ${SHORTEST} characters`;
  return new Set(text).size < FEWEST_CHARACTERS ? "repeats itself: it was not made at random" : undefined;
};
