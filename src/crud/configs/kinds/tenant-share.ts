import { stringify } from "yaml";
import { isObject } from "#contract/is-object.ts";
import { parsePointer } from "#contract/json-pointer.ts";
import { printJson } from "#parsing/yaml-document.ts";
import { rewriteSystem } from "#crud/systems/rewrite-system.ts";
import type { TenantShare } from "#crud/configs/config-kind.ts";
import { systemOfTool, tenantsIn, TAKEN, UNSEEN, type TenantsOfSystem } from "#crud/configs/publish-scope.ts";
import { digestOf } from "#crud/versions/version-store.ts";

interface Parsed {
  readonly text: string;
  readonly value: unknown;
}

/** A text of so many characters is read and written as YAML within some ten milliseconds; a larger one is written as JSON. */
const MAX_YAML_CHARACTERS = 8192;

const CROSS_TENANT = { code: "cross_tenant" };

const viewsOf = (value: unknown): readonly unknown[] => (isObject(value) && Array.isArray(value["views"]) ? value["views"] : []);
const overridesOf = (value: unknown) => Object.entries(isObject(value) && isObject(value["overrides"]) ? value["overrides"] : {});
const isViewOf = (view: unknown, tenant: string): boolean => {
  const tenants = isObject(view) ? view["tenants"] : undefined;
  return !Array.isArray(tenants) || tenants.length === 0 || tenants.includes(tenant);
};

/** Without comments: they may speak of what the reader does not see. */
const print = (value: unknown): string => {
  const printed = printJson(value);
  return printed.length > MAX_YAML_CHARACTERS ? printed : stringify(value, { lineWidth: 0 });
};
/** Of a document in part. It names no version, so a change of what the reader does not see leaves it as it is. */
const tagOf = (value: unknown): string => `"${digestOf(printJson(value), {}).slice(0, 12)}"`;

/**
 * What each tenant sees of the tools document, which holds parts of several: views that are for it or for everybody, and overrides of tools
 * of systems that it sees. The rest exists for no answer and for no change of that tenant. Cost: O(views and overrides).
 */
export const createTenantShare = (tenantsOfSystem: TenantsOfSystem): TenantShare => {
  const isOverrideOf = (tool: string, tenant: string): boolean => tenantsOfSystem(systemOfTool(tool))?.includes(tenant) !== false;
  /** The document with what the tenant sees of it. */
  const select = (value: unknown, tenant: string): unknown => ({
    ...(isObject(value) ? value : {}),
    views: viewsOf(value).filter((view) => isViewOf(view, tenant)),
    overrides: Object.fromEntries(overridesOf(value).filter(([tool]) => isOverrideOf(tool, tenant))),
  });
  const isWhole = (value: unknown, tenant: string): boolean =>
    viewsOf(value).every((view) => isViewOf(view, tenant)) && overridesOf(value).every(([tool]) => isOverrideOf(tool, tenant));
  const isSame = (before: Parsed, after: Parsed, tenant: string): boolean =>
    isWhole(before.value, tenant) && isWhole(after.value, tenant)
      ? before.text === after.text
      : tagOf(select(before.value, tenant)) === tagOf(select(after.value, tenant));

  return {
    partFor: (value, tenant) => {
      if (isWhole(value, tenant)) return undefined;
      const part = select(value, tenant);
      return { value: part, text: print(part), tag: tagOf(part) };
    },
    objectFor: (object, tenant) => {
      const { head, prepared, serving } = object;
      const served = prepared?.yaml.value ?? {};
      const faulty = viewsOf(object.found);
      const issues = object.issues.filter(({ path }) => {
        const [member, one] = path.startsWith("/") ? parsePointer(path) : [];
        if (one === undefined) return true;
        // A faulty view may name its tenants otherwise than as a list.
        if (member === "views") return tenantsIn(printJson(faulty[Number(one)] ?? null))?.includes(tenant) !== false;
        return member !== "overrides" || isOverrideOf(one, tenant);
      });
      if (head === undefined || head.text === null || (serving === head.version && isWhole(served, tenant))) return { ...object, issues };
      const value = select(served, tenant);
      const part = prepared === undefined ? {} : { prepared: { ...prepared, yaml: { ...prepared.yaml, value } } };
      // Who changed what the tenant does not see, and why, is not for it either.
      const unseen = head.tenants?.includes(tenant) === false ? { author: "", reason: "" } : {};
      return { ...object, ...part, issues, head: { ...head, ...unseen, text: print(value), tag: tagOf(value) } };
    },
    join: (whole, mine, tenant) => {
      if (isWhole(whole.value, tenant)) return mine.text;
      if (mine.text === print(select(whole.value, tenant))) return whole.text;
      const joined = {
        ...(isObject(mine.value) ? mine.value : {}),
        views: [...viewsOf(mine.value), ...viewsOf(whole.value).filter((view) => !isViewOf(view, tenant))],
        overrides: Object.fromEntries([
          ...overridesOf(mine.value),
          ...overridesOf(whole.value).filter(([tool]) => !isOverrideOf(tool, tenant)),
        ]),
      };
      const isLarge = whole.text.length + mine.text.length > MAX_YAML_CHARACTERS;
      return (isLarge ? undefined : rewriteSystem(mine.text, mine.value, joined)) ?? printJson(joined);
    },
    conflicts: (whole, { value, issue }, tenant) => {
      const taken = new Set(viewsOf(whole).flatMap((view) => (isViewOf(view, tenant) || !isObject(view) ? [] : [view["name"]])));
      return [
        ...viewsOf(value).flatMap((view, at) =>
          isObject(view) && taken.has(view["name"]) ? [issue(["views", at, "name"], TAKEN, { code: "already_exists" })] : [],
        ),
        ...overridesOf(value).flatMap(([tool]) => (isOverrideOf(tool, tenant) ? [] : [issue(["overrides", tool], UNSEEN, CROSS_TENANT)])),
      ];
    },
    changedFor: (before, after, all) => {
      const changed = all.filter((tenant) => !isSame(before, after, tenant));
      return changed.length === all.length ? null : changed;
    },
  };
};
