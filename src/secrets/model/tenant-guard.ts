import { Problem } from "#contract/problem.ts";
import { PLATFORM } from "#contract/secret-schemes.ts";
import type { AllowedMounts } from "./allowed-mounts.ts";
import type { SecretPrefix, SecretUri } from "./secret-uri.ts";

/** A secret URI that was found to be the tenant's. Providers, decisions and records take nothing less. */
export interface SecretRef extends SecretUri {
  readonly tenant: string;
  /** It is the platform's, and no tenant's own. */
  readonly isPlatform?: boolean;
}

export interface TenantGuardParts {
  readonly mounts: AllowedMounts;
  /** TENANT_ID: then no other tenant is served here. */
  readonly tenantId: string | undefined;
  /** The operator's tenant, which alone reaches what is the platform's; nobody's unless given. */
  readonly operator?: () => string | undefined;
}

/**
 * `uses`: the tool server, which may use what is the platform's in a call of any tenant. Throws `tenant_required`, `tenant_mismatch` or
 * `tenant_mount` (403). Asks nobody.
 */
export type TenantGuard = (tenant: string, uri: SecretUri, uses?: boolean) => SecretRef;

const requireTenant = (parts: TenantGuardParts, tenant: string): void => {
  if (tenant === "" || tenant === "*" || tenant === PLATFORM) throw new Problem("tenant_required");
  if (parts.tenantId !== undefined && tenant !== parts.tenantId) throw new Problem("tenant_mismatch");
};

/** Exact scheme, exact mount, and every segment of the other leads the place's: `team` is no prefix of `team2`. */
export const isBelow = (place: SecretPrefix, other: SecretPrefix): boolean =>
  place.scheme === other.scheme &&
  place.mount === other.mount &&
  other.segments.length <= place.segments.length &&
  other.segments.every((segment, at) => segment === place.segments[at]);

/** The tenant whose place a secret lies at, or `PLATFORM`; `undefined`: nobody's. */
export const ownerOf = (mounts: AllowedMounts, uri: SecretPrefix): string | undefined =>
  [...mounts].find(([, places]) => places.some((place) => isBelow(uri, place)))?.[0];

const placesOf = ({ mounts, operator }: TenantGuardParts, tenant: string, uses = false): readonly SecretPrefix[] => [
  ...(mounts.get(tenant) ?? []),
  ...(uses || operator?.() === tenant ? (mounts.get(PLATFORM) ?? []) : []),
];

/** Of a tenant's places, those at and below a prefix, a wider one narrowed; no two hold one another. Throws as the guard does. */
export type NarrowPlaces = (tenant: string, prefix: SecretPrefix | undefined) => readonly SecretPrefix[];

export const createNarrowPlaces =
  (parts: TenantGuardParts): NarrowPlaces =>
  (tenant, prefix) => {
    requireTenant(parts, tenant);
    const places = placesOf(parts, tenant).flatMap((place) =>
      prefix === undefined || isBelow(place, prefix) ? [place] : isBelow(prefix, place) ? [prefix] : [],
    );
    const widest = places.filter(
      (place, at) => !places.some((other, index) => index !== at && isBelow(place, other) && !(isBelow(other, place) && at < index)),
    );
    if (widest.length === 0) throw new Problem("tenant_mount");
    return widest;
  };

export const createTenantGuard =
  (parts: TenantGuardParts): TenantGuard =>
  (tenant, uri, uses) => {
    requireTenant(parts, tenant);
    if (!placesOf(parts, tenant, uses).some((place) => isBelow(uri, place))) throw new Problem("tenant_mount");
    return Object.freeze({ ...uri, tenant, ...(ownerOf(parts.mounts, uri) === PLATFORM ? { isPlatform: true } : {}) });
  };
