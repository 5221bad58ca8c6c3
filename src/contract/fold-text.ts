import { plainText } from "./ids.ts";

/** NFKC and lower case, the same for what is kept and what is searched for. */
export const foldText = (text: string): string => text.normalize("NFKC").toLowerCase();

const MAX_CHARACTERS = 200;
/** What somebody looks for. One character may fold to eighteen, and how long a search takes is decided by what it folds to. */
export const searchText = plainText(1, MAX_CHARACTERS).refine(
  (text) => foldText(text).length <= MAX_CHARACTERS,
  `must have at most ${MAX_CHARACTERS} characters in compatibility form (NFKC)`,
);
