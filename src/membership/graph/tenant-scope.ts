import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";

declare const checked: unique symbol;

/** Whose part of the graph may be read. Every reader takes one and binds it in every statement. */
export interface TenantScope {
  /** A tenant's id, or `*` for Sallyport's own services. */
  readonly tenant: string;
  /** Of one write, where who runs the deployment may write what is shared too. */
  readonly shared?: SharedReach | undefined;
  /** Of a write by request: the tool server alone names tools. Absent: an act of the deployment itself, which names anything. */
  readonly names?: "tools" | "others" | undefined;
  readonly [checked]: true;
}

/** Whether a write may change what is shared, and whether it wanted to. */
export interface SharedReach {
  isPermitted: boolean;
  wasWanted: boolean;
}

/** Whether what belongs to no tenant may be written; that it was wanted is noted for who asks for the right. */
export const mayWriteShared = ({ tenant, shared }: TenantScope): boolean => {
  if (tenant === "*") return true;
  if (shared !== undefined) shared.wasWanted = true;
  return shared?.isPermitted === true;
};

/** The system of what comes with the deployment itself: its services, roles and tools, which no request changes. */
export const BUILT_IN_SYSTEM = "sallyport";

/** A tenant's own part, for work on behalf of it inside a write. */
export const scopeOfTenant = (tenant: string): TenantScope => ({ tenant }) as TenantScope;

/** Throws `tenant_required` when the token names no tenant. */
export const tenantScopeOf = (caller: Pick<Caller, "tenant">): TenantScope => {
  if (caller.tenant === "") throw new Problem("tenant_required");
  return scopeOfTenant(caller.tenant);
};

/** For what Sallyport does on its own: sweeping, seeding, looking up clients. */
export const wholeGraph: TenantScope = scopeOfTenant("*");

/** SQL: the row `alias` is seen by the tenant bound as `$1`. */
export const visible = (alias: string): string => `($1::text = '*' or ${alias}.tenant_id is null or ${alias}.tenant_id = $1::text)`;
