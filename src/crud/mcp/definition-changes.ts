import type { DefinitionChange } from "#contract/configs.ts";
import { isObject } from "#contract/is-object.ts";
import { parsePointer, shownPointer } from "#contract/json-pointer.ts";
import { canonicalText } from "#crud/model/digest.ts";
import type { Definition } from "#crud/tools/tool.ts";

type Risk = DefinitionChange["risk"];
type Schema = Readonly<Record<string, unknown>>;

const MAX_CHANGES = 50;
const MAX_DEPTH = 8;
const same = (one: unknown, other: unknown): boolean =>
  one === other || (one !== undefined && other !== undefined && canonicalText(one) === canonicalText(other));
const escaped = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");
const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map((one) => (typeof one === "string" ? one : canonicalText(one))) : [];
const propertiesOf = (schema: Schema): Readonly<Record<string, unknown>> => (isObject(schema["properties"]) ? schema["properties"] : {});

/** Text that a person reads as they judge the change; longer values would hide the others. */
export const shown = (value: unknown): unknown => {
  const text = typeof value === "string" ? value : value === undefined ? undefined : canonicalText(value);
  return text !== undefined && text.length > 400 ? `${text.slice(0, 400)}…` : value;
};

/** Keywords that are looked at one by one below; every other is told as a whole. */
const LOOKED_AT = new Set(["properties", "required", "enum", "type", "description", "title", "items"]);

/**
 * How a definition differs from another in what it means for who calls it: what a model reads (`review`: a changed text can mislead it), what
 * it may or must send (`breaking` where calls that were right are wrong now), what it is told to expect. At most 50. Cost: O(size).
 */
export const definitionChanges = (before: Definition, after: Definition): readonly DefinitionChange[] => {
  const found: DefinitionChange[] = [];
  const tell = (path: string, kind: DefinitionChange["kind"], from: unknown, to: unknown, risk: Risk): void => {
    if (found.length >= MAX_CHANGES || same(from, to)) return;
    found.push({ path: shownPointer(parsePointer(path)), kind, before: shown(from), after: shown(to), risk });
  };

  const compareSchema = (path: string, from: Schema, to: Schema, depth: number): void => {
    for (const word of ["title", "description"]) tell(`${path}/${word}`, "text", from[word], to[word], "review");
    tell(`${path}/type`, "type_changed", from["type"], to["type"], "breaking");
    const [had, has] = [propertiesOf(from), propertiesOf(to)];
    const [must, mustNow] = [new Set(texts(from["required"])), new Set(texts(to["required"]))];
    for (const key of new Set([...Object.keys(had), ...Object.keys(has)])) {
      const at = `${path}/properties/${escaped(key)}`;
      const [one, other] = [had[key], has[key]];
      if (one === undefined) tell(at, "param_added", undefined, other, mustNow.has(key) ? "breaking" : "review");
      else if (other === undefined) tell(at, "param_removed", one, undefined, "breaking");
      else compare(at, one, other, depth + 1);
    }
    const added = [...mustNow].filter((key) => !must.has(key));
    const removed = [...must].filter((key) => !mustNow.has(key));
    if (added.length > 0) tell(`${path}/required`, "required_added", undefined, added, "breaking");
    if (removed.length > 0) tell(`${path}/required`, "required_removed", removed, undefined, "none");
    const [words, wordsNow] = [texts(from["enum"]), new Set(texts(to["enum"]))];
    if (!same(from["enum"], to["enum"])) {
      const isWider = to["enum"] === undefined || (words.length > 0 && words.every((word) => wordsNow.has(word)));
      tell(`${path}/enum`, isWider ? "enum_widened" : "enum_narrowed", from["enum"], to["enum"], isWider ? "review" : "breaking");
    }
    if (from["items"] !== undefined || to["items"] !== undefined) compare(`${path}/items`, from["items"], to["items"], depth + 1);
    for (const word of new Set([...Object.keys(from), ...Object.keys(to)]))
      if (!LOOKED_AT.has(word)) tell(`${path}/${escaped(word)}`, "schema", from[word], to[word], "review");
  };
  const compare = (path: string, from: unknown, to: unknown, depth: number): void => {
    if (isObject(from) && isObject(to) && depth <= MAX_DEPTH) compareSchema(path, from, to, depth);
    else tell(path, "schema", from, to, "breaking");
  };

  tell("/title", "text", before.title, after.title, "review");
  tell("/description", "text", before.description, after.description, "review");
  compareSchema("/inputSchema", before.inputSchema, after.inputSchema, 0);
  if (before.outputSchema !== undefined || after.outputSchema !== undefined) {
    if (before.outputSchema === undefined || after.outputSchema === undefined)
      tell("/outputSchema", "schema", before.outputSchema, after.outputSchema, "review");
    else compareSchema("/outputSchema", before.outputSchema, after.outputSchema, 0);
  }
  const [hints, hintsNow] = [before.annotations ?? {}, after.annotations ?? {}];
  for (const key of new Set([...Object.keys(hints), ...Object.keys(hintsNow)]))
    tell(`/annotations/${escaped(key)}`, "hint_flipped", hints[key], hintsNow[key], "review");
  return found;
};
