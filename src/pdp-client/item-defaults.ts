import { isObject } from "#contract/is-object.ts";
type Members = Readonly<Record<string, unknown>>;

/** What has a type, which an item may leave out where the default says it (certification scenario of the standard, 3.2.7). */
const typed: ReadonlySet<string> = new Set(["subject", "resource"]);

/**
 * The entities and the context of one item of a batch: an item's own member takes the place of the whole default, as AuthZEN 1.0 has
 * it, and at most a missing `type` is taken over. Whatever is still missing then is that item's own fault.
 */
export const withDefaults = (item: unknown, defaults: Members): unknown => {
  if (!isObject(item)) return item;
  const whole: Record<string, unknown> = {};
  for (const name of ["subject", "action", "resource", "context"]) {
    const standard = Object.hasOwn(defaults, name) ? defaults[name] : undefined;
    const own = Object.hasOwn(item, name) ? item[name] : standard;
    const type = typed.has(name) && isObject(own) && !Object.hasOwn(own, "type") && isObject(standard) ? standard["type"] : undefined;
    if (own !== undefined) whole[name] = type === undefined ? own : { type, ...(own as Members) };
  }
  return whole;
};
