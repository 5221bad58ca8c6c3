import { isObject } from "#contract/is-object.ts";

/** Whether a system's document serves more than the one tenant that sees it here. */
export const isShared = (document: unknown): boolean => {
  const tenants = isObject(document) ? document["tenants"] : undefined;
  return !Array.isArray(tenants) || tenants.length !== 1;
};
