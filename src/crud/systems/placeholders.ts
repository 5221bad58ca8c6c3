/**
 * `${NAME}` in capitals is filled when a file is loaded, from an allow-list of settings; `${ ... }` with blanks is CEL.
 * A name that is known but has no value here (the demo's upstream without the demo) switches the system off.
 */
export type Placeholders = Readonly<Record<string, string | undefined>>;

export type Filled =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "off"; readonly name: string }
  | { readonly kind: "unknown"; readonly name: string };

const pattern = /\$\{([A-Z][A-Z0-9_]*)\}/g;

export const fillPlaceholders = (text: string, known: Placeholders): Filled => {
  for (const [, name] of text.matchAll(pattern)) {
    if (name === undefined) continue;
    if (!Object.hasOwn(known, name)) return { kind: "unknown", name };
    if (known[name] === undefined) return { kind: "off", name };
  }
  return { kind: "text", text: text.replace(pattern, (_whole, name: string) => known[name] ?? "") };
};
