/** Whom a system serves, by its name: null is everybody, undefined a system that is not known. */
export type TenantsOfSystem = (name: string) => readonly string[] | null | undefined;

/** For whom a document is published, and which other tenants there are. */
export interface PublishScope {
  readonly tenant: string;
  readonly others: readonly string[];
  readonly tenantsOfSystem: TenantsOfSystem;
  readonly correlationId: string;
}

/** Of an override: whether there is such a system is another tenant's own. */
export const UNSEEN = "is of no system that you see";

/** `<provider>.<instance>` of a tool's name. */
export const systemOfTool = (tool: string): string => tool.split(".", 2).join(".");
