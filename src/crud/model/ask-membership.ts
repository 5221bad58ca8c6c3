import type { Peer } from "#contract/ask.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { ServiceIdentity, OnBehalfOf } from "#authn/keys/service-identity.ts";

/** What it takes to ask membership something. */
export interface MembershipParts {
  readonly membership: Peer;
  readonly membershipAudience: string;
  readonly identity: ServiceIdentity;
  /** Who asks about others: the answers are of this caller's tenant. Absent: what is asked about is what a checked token names. */
  readonly within?: Pick<Caller, "sub" | "tenant">;
}

type Headers = Readonly<Record<"authorization" | "x-correlation-id", string>>;

/** Headers of questions to membership that this service asks in its own name, or within the tenant that `within` says. */
export const asService = async (parts: MembershipParts, scopes: readonly string[], correlationId: string): Promise<Headers> =>
  parts.within === undefined
    ? {
        authorization: `Bearer ${await parts.identity.asService(parts.membershipAudience, scopes)}`,
        "x-correlation-id": correlationId,
      }
    : withinTenant(parts, parts.within, scopes, correlationId);

/** Headers of questions to membership on behalf of a caller, which are answered by that caller's rights. */
export const onBehalfOf = async (parts: MembershipParts, subject: OnBehalfOf, correlationId: string): Promise<Headers> => ({
  authorization: `Bearer ${await parts.identity.onBehalfOf(parts.membershipAudience, subject)}`,
  "x-correlation-id": correlationId,
});

/** Headers of this service's questions about a caller's own tenant: what is another's is answered as what is not there. */
export const withinTenant = (
  parts: MembershipParts,
  { sub, tenant }: Pick<Caller, "sub" | "tenant">,
  scopes: readonly string[],
  correlationId: string,
): Promise<Headers> => {
  const { clientId } = parts.identity;
  return onBehalfOf(parts, { sub, tenant, scopes, actors: [clientId], clientId }, correlationId);
};
