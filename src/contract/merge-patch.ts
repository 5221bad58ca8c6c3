import { isObject } from "./is-object.ts";

/**
 * What a merge patch (RFC 7396) makes of a value: members of objects are merged at every depth, null takes one away, and anything else,
 * a list too, takes the place of what was there. Neither of the two is changed.
 */
export const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch;
  // Not assigned to an object: a member `__proto__` would be its prototype.
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch))
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  return Object.fromEntries(merged);
};
