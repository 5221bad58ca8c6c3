import type { Issue } from "#contract/problem.ts";
import { secretSchemes, type Scheme } from "#contract/secret-schemes.ts";

/** Lower-case name, alias or scheme itself, to the scheme it stands for. */
export type SchemeTable = ReadonlyMap<string, Scheme>;

/** ASCII only: `toLowerCase` alone would turn the Kelvin sign into `k` and so open a second spelling. */
export const lowerAscii = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- the class is exactly ASCII
  /^[\x00-\x7f]*$/.test(text) ? text.toLowerCase() : text;

const aliasName = /^[a-z][a-z0-9+.-]{0,31}$/;

/**
 * Reads `name=scheme,name=scheme`. Aliases are replaced while parsing, so one secret has one name internally.
 * An alias may not stand for an alias, nor take a scheme's own name.
 */
export const parseSchemeAliases = (
  pairs: readonly string[],
  variable: string,
): { readonly schemes: SchemeTable; readonly issues: readonly Issue[] } => {
  const schemes = new Map<string, Scheme>(secretSchemes.map((name) => [name, name]));
  const issues: Issue[] = [];
  const issue = (message: string): void => void issues.push({ path: variable, message });
  const isScheme = (name: string): boolean => (secretSchemes as readonly string[]).includes(name);
  const named = new Set(pairs.map((pair) => lowerAscii(pair.split("=", 1)[0] ?? "")).filter((name) => !isScheme(name)));
  for (const pair of pairs) {
    const cut = pair.indexOf("=");
    const name = lowerAscii(cut < 0 ? pair : pair.slice(0, cut));
    const target = cut < 0 ? "" : lowerAscii(pair.slice(cut + 1));
    const scheme = secretSchemes.find((known) => known === target);
    if (cut < 0 || !aliasName.test(name)) issue(`"${pair}" is not name=scheme`);
    else if (isScheme(name)) issue(`"${name}" is a scheme itself`);
    else if (schemes.has(name)) issue(`"${name}" is given twice`);
    else if (named.has(target)) issue(`"${name}" is an alias of the alias "${target}"`);
    else if (scheme === undefined) issue(`"${name}" stands for the unknown scheme "${target}"`);
    else schemes.set(name, scheme);
  }
  return { schemes, issues };
};
