import type { ConfigObjectKind } from "#contract/configs.ts";

/** Whom a system serves, by its name: null is everybody, undefined a system that is not known. */
export type TenantsOfSystem = (name: string) => readonly string[] | null | undefined;

/** Whether the same act publishes an object of that name. */
export type IsComing = (kind: ConfigObjectKind, name: string) => boolean;

/** For whom a document is published, and which other tenants there are. */
export interface PublishScope {
  readonly tenant: string;
  readonly others: readonly string[];
  readonly tenantsOfSystem: TenantsOfSystem;
  readonly correlationId: string;
  readonly isComing?: IsComing;
  /** An earlier version is put in force again. */
  readonly isRollback?: boolean;
}

/** Of an override: whether there is such a system is another tenant's own. */
export const UNSEEN = "is of no system that you see";

/** Tenants that a text which does not load names: it is not for others to see. Undefined where it names none. */
export const tenantsIn = (text: string): readonly string[] | undefined => {
  const named = text.match(/\btenant:[a-z0-9-]{1,64}/g);
  return named === null ? undefined : [...new Set(named)];
};

/** Of a view's name: names are one for all tenants, and whose it is nobody is told. */
export const TAKEN = "is taken already: choose another name";

/** `<provider>.<instance>` of a tool's name. */
export const systemOfTool = (tool: string): string => tool.split(".", 2).join(".");
