import type { Peer } from "#contract/ask.ts";
import type { HouseIdentity, OnBehalfOf } from "#authn/house-identity.ts";

/** What it takes to ask membership something. */
export interface MembershipParts {
  readonly membership: Peer;
  readonly membershipAudience: string;
  readonly identity: HouseIdentity;
}

type Headers = Readonly<Record<"authorization" | "x-correlation-id", string>>;

/** Headers of questions to membership that this service asks in its own name. */
export const asService = async (parts: MembershipParts, scopes: readonly string[], correlationId: string): Promise<Headers> => ({
  authorization: `Bearer ${await parts.identity.asService(parts.membershipAudience, scopes)}`,
  "x-correlation-id": correlationId,
});

/** Headers of questions to membership on behalf of a caller, which are answered by that caller's rights. */
export const onBehalfOf = async (parts: MembershipParts, subject: OnBehalfOf, correlationId: string): Promise<Headers> => ({
  authorization: `Bearer ${await parts.identity.onBehalfOf(parts.membershipAudience, subject)}`,
  "x-correlation-id": correlationId,
});
