import { Problem } from "#contract/problem.ts";
import type { AllowedMounts } from "./allowed-mounts.ts";
import type { SecretPrefix, SecretUri } from "./secret-uri.ts";

/** A secret URI that was found to be the tenant's. Providers, decisions and records take nothing less. */
export interface SecretRef extends SecretUri {
  readonly tenant: string;
}

export interface TenantGuardParts {
  readonly mounts: AllowedMounts;
  /** TENANT_ID: then no other tenant is served here. */
  readonly tenantId: string | undefined;
}

/** Throws `tenant_required`, `tenant_mismatch` or `tenant_mount` (403). Asks nobody. */
export type TenantGuard = (tenant: string, uri: SecretUri) => SecretRef;

/** Exact scheme, exact mount, and every segment of the place leads the secret's: `team` is no prefix of `team2`. */
const isWithin = (uri: SecretUri, place: SecretPrefix): boolean =>
  uri.scheme === place.scheme &&
  uri.mount === place.mount &&
  place.segments.length <= uri.segments.length &&
  place.segments.every((segment, at) => segment === uri.segments[at]);

export const createTenantGuard =
  (parts: TenantGuardParts): TenantGuard =>
  (tenant, uri) => {
    if (tenant === "" || tenant === "*") throw new Problem("tenant_required");
    if (parts.tenantId !== undefined && tenant !== parts.tenantId) throw new Problem("tenant_mismatch");
    if (!(parts.mounts.get(tenant) ?? []).some((place) => isWithin(uri, place))) throw new Problem("tenant_mount");
    return Object.freeze({ ...uri, tenant });
  };
