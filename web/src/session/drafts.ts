/** Unsaved input that survives a reload or a sign-in: in this tab only, by person, never a secret field. */

const PREFIX = "sallyport.draft.";

const keyOf = (subjectId: string, name: string): string => `${PREFIX}${subjectId}.${name}`;

export const readDraft = (storage: Storage, subjectId: string, name: string): unknown => {
  const text = storage.getItem(keyOf(subjectId, name));
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};

/** Keeps it, or with `undefined` forgets it. A full storage loses the draft, never the page. */
export const writeDraft = (storage: Storage, subjectId: string, name: string, value: unknown): void => {
  try {
    if (value === undefined) storage.removeItem(keyOf(subjectId, name));
    else storage.setItem(keyOf(subjectId, name), JSON.stringify(value));
  } catch {
    storage.removeItem(keyOf(subjectId, name));
  }
};

/** At sign-out: nobody's drafts stay. */
export const forgetDrafts = (storage: Storage): void => {
  const names = Array.from({ length: storage.length }, (_nothing, index) => storage.key(index));
  for (const name of names) if (name?.startsWith(PREFIX) === true) storage.removeItem(name);
};
