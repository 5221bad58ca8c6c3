/** Values that the route file may name as `${NAME}`; an absent or empty one is unset. */
export type Variables = Readonly<Record<string, string | undefined>>;

const PLACEHOLDER = /\$\{([A-Z][A-Z0-9_]*)\}/g;

/** Fills `${NAME}` from the allowed variables, or names those that are unknown or unset. */
export const fillPlaceholders = (text: string, variables: Variables): { readonly text: string; readonly unset: readonly string[] } => {
  const unset: string[] = [];
  const filled = text.replace(PLACEHOLDER, (whole, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value !== undefined && value !== "") return value;
    unset.push(name);
    return whole;
  });
  return { text: filled, unset };
};

export const hasPlaceholder = (text: string): boolean => text.includes("${");
