import type { SettlePerson } from "#authn/provider/oidc-sign-in.ts";
import { ask } from "#contract/ask.ts";
import { settleSignIn } from "#contract/sign-ins.ts";
import type { Opening } from "./opening.ts";

const MAX_GROUPS = 5000;

/** A claim that can be kept: one line of text. */
const plain = (value: unknown, max: number): string | undefined =>
  typeof value === "string" && value !== "" && value.length <= max && !/\p{Cc}/u.test(value) && value.isWellFormed() ? value : undefined;

const groupsOf = (claim: unknown): readonly string[] =>
  [claim]
    .flat()
    .flatMap((value) => plain(value, 256) ?? [])
    .slice(0, MAX_GROUPS);

/**
 * Who somebody is who has signed in at a provider that is not Sallyport's own. Membership is asked where it may have to write; a link alone
 * is read where it lies, so that a gateway whose deployment provisions nobody needs no membership for it.
 */
export const settlePersonBy = ({ callers, common, plan, provider }: Opening): SettlePerson | undefined => {
  const { oidcProvision, oidcGroupsClaim } = plan.settings.authn;
  if (provider.isEmbedded) return undefined;
  if (oidcProvision === "off" && oidcGroupsClaim === undefined)
    return ({ issuer, subject, tenant }) => callers.personOf(issuer, subject, tenant);
  const identity = callers.identityFor("gateway");
  return async ({ issuer, subject, tenant, claims }) => {
    const token = await identity.asService(common.audiences.membership, ["membership.sign_in"]);
    const { person } = await ask(common.peers.membership, settleSignIn, {
      headers: { authorization: `Bearer ${token}` },
      body: {
        issuer,
        subject,
        tenant,
        name: plain(claims["name"], 256),
        login: plain(claims["preferred_username"], 254),
        // Only `true` says that the provider looked; a text does not.
        email: claims["email_verified"] === true ? plain(claims["email"], 254) : undefined,
        ...(oidcGroupsClaim === undefined ? {} : { groups: [...groupsOf(claims[oidcGroupsClaim])] }),
      },
    });
    return person ?? undefined;
  };
};
