import { canonicalise, decodeCapture } from "#gateway/model/canonical-path.ts";

/** One piece of a row's path: a literal, `{name}` for one segment, or `*` for all the rest. */
export type PatternSegment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "capture"; readonly name: string }
  | { readonly kind: "rest"; readonly name: "path" };

/** A row's path, taken apart. The `*` capture is called `path`. */
export interface RoutePattern {
  readonly text: string;
  readonly segments: readonly PatternSegment[];
  readonly names: ReadonlySet<string>;
  /** Equal for two patterns that match the same paths. */
  readonly shape: string;
}

const CAPTURE = /^\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** Reads a row's path, or says what is wrong with it. */
export const parsePattern = (text: string): RoutePattern | string => {
  if (!text.startsWith("/")) return "must begin with /";
  const parts = text.slice(1).split("/");
  const segments: PatternSegment[] = [];
  const names = new Set<string>();
  const hasRest = parts.at(-1) === "*";
  for (const [index, part] of parts.entries()) {
    const name = CAPTURE.exec(part)?.[1];
    if (part === "*" && index === parts.length - 1) {
      segments.push({ kind: "rest", name: "path" });
      names.add("path");
    } else if (name !== undefined) {
      if (names.has(name)) return `captures {${name}} twice`;
      if (name === "path" && hasRest) return "{path} is the name of what * captures";
      names.add(name);
      segments.push({ kind: "capture", name });
    } else if (/[{}*]/.test(part)) return "may have * only as its whole last segment and {name} only as a whole segment";
    else segments.push({ kind: "literal", text: part });
  }
  const sample = samplePath(segments);
  try {
    const target = canonicalise(sample);
    if (target.path !== sample || target.query !== "" || target.marks.size > 0) return "is not in its canonical form";
  } catch (error) {
    return `is not in its canonical form: ${(error as Error).message}`;
  }
  const shape = segments
    .map((segment) => (segment.kind === "literal" ? `=${segment.text}` : segment.kind === "capture" ? "{}" : "*"))
    .join("/");
  return { text, segments, names, shape };
};

/** A path that the pattern matches. */
export const samplePath = (segments: readonly PatternSegment[]): string =>
  `/${segments.map((segment) => (segment.kind === "literal" ? segment.text : "x")).join("/")}`;

/** Names that a template takes from the captures: `{id}` in `/forms/{id}`. */
export const namesIn = (template: string): string[] => [...template.matchAll(/(?<!\$)\{([^{}]*)\}/g)].map((found) => found[1] as string);

/** Puts captures into a template as they stand in the canonical path, so still encoded: for building an upstream path. */
export const fillPath = (template: string, captures: ReadonlyMap<string, string>): string =>
  template.replace(/\{([^{}]*)\}/g, (_whole, name: string) => captures.get(name) ?? "");

/** Puts captures into a template percent-decoded once: for ids and properties of a decision. */
export const fillText = (template: string, captures: ReadonlyMap<string, string>, route: string): string =>
  template.replace(/\{([^{}]*)\}/g, (_whole, name: string) => (name === "route" ? route : decodeCapture(captures.get(name) ?? "")));
