import { isMap, parseDocument } from "yaml";
import { canonicalJson } from "#contract/canonical-json.ts";
import { isObject } from "#contract/is-object.ts";

type Path = readonly string[];

/** Operations and their members; deeper a value is written as one. */
const MAX_LEVELS = 3;

/**
 * A YAML text that says `after` in place of `before`, with the comments, order and quotes of all that did not change. Undefined for a text that
 * is no map of YAML, or where it would say something else.
 */
export const rewriteSystem = (text: string, before: unknown, after: unknown): string | undefined => {
  const document = parseDocument(text, { version: "1.2", stringKeys: true, uniqueKeys: false });
  if (document.errors.length > 0 || !isMap(document.contents)) return undefined;
  const put = (path: Path, from: unknown, to: unknown): void => {
    if (canonicalJson(from) === canonicalJson(to)) return;
    if (path.length === MAX_LEVELS || !isObject(from) || !isObject(to)) {
      document.setIn(path, document.createNode(to, { aliasDuplicateObjects: false }));
      return;
    }
    for (const name of Object.keys(from)) if (!Object.hasOwn(to, name)) document.deleteIn([...path, name]);
    for (const [name, value] of Object.entries(to)) {
      if (Object.hasOwn(from, name)) put([...path, name], from[name], value);
      else document.setIn([...path, name], document.createNode(value, { aliasDuplicateObjects: false }));
    }
  };
  put([], before, after);
  const written = document.toString({ lineWidth: 140 });
  return canonicalJson(parseDocument(written, { version: "1.2", stringKeys: true, uniqueKeys: false }).toJS()) === canonicalJson(after)
    ? written
    : undefined;
};
