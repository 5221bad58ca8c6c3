/** Values that the route file may name as `${NAME}`; an absent or empty one is unset. */
export type Variables = Readonly<Record<string, string | undefined>>;

const PLACEHOLDER = /\$\{([A-Z][A-Z0-9_]*)\}/g;

/** Fills `${NAME}` from the allowed variables; `issue` is told of each that is unknown or unset. */
export const fillPlaceholders = (text: string, variables: Variables, issue: (message: string) => void): string =>
  text.replace(PLACEHOLDER, (whole, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value !== undefined && value !== "") return value;
    issue(`\${${name}} is not set, or not one that this file may name`);
    return whole;
  });

export const hasPlaceholder = (text: string): boolean => text.includes("${");
