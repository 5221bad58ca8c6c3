import type { JWTPayload } from "jose";
import type { OnBehalfOf } from "./service-identity.ts";

/** The `act` of these actors, of whom the outermost comes first. */
export const actOf = (actors: readonly string[]): JWTPayload | undefined =>
  actors.toReversed().reduce<JWTPayload | undefined>((inner, sub) => (inner === undefined ? { sub } : { sub, act: inner }), undefined);

/** `use` of a token that one service signed for one call to another; what Sallyport gives to clients has none. */
export const SERVICE_CALL = "call";

/** What a service says of a call to another: for whom, with what, and how that person signed in. */
export const claimsOfCall = (audience: string, subject: OnBehalfOf): JWTPayload => {
  const act = actOf(subject.actors ?? []);
  return {
    aud: audience,
    use: SERVICE_CALL,
    sub: subject.sub,
    tenant: subject.tenant,
    scope: [...subject.scopes].join(" "),
    act,
    client_id: subject.clientId,
    acr: subject.acr,
    ...(subject.amr === undefined || subject.amr.length === 0 ? {} : { amr: [...subject.amr] }),
    auth_time: subject.authTime,
  };
};
