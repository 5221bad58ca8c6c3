import type { interactionPolicy } from "oidc-provider";

/** Whether an authorization request asks for a second factor. `acr_values` is a list in order of preference. */
export const asksStrong = (acrValues: unknown): boolean => typeof acrValues === "string" && acrValues.split(" ").includes("strong");

/**
 * When a person is asked to sign in: as OpenID Connect says (no session, `max_age`, `prompt=login`), and when `strong` is
 * asked of a session that is not. Nobody is asked for consent: every client is Sallyport's own.
 */
export const signInPolicy = (library: typeof interactionPolicy): interactionPolicy.DefaultPolicy => {
  const policy = library.base();
  policy.remove("consent");
  policy
    .get("login")
    ?.checks.add(
      new library.Check("strong_sign_in", "a second factor is required", "unmet_authentication_requirements", (ctx) =>
        asksStrong(ctx.oidc.params?.["acr_values"]) && ctx.oidc.session?.acr !== "strong"
          ? library.Check.REQUEST_PROMPT
          : library.Check.NO_NEED_TO_PROMPT,
      ),
    );
  return policy;
};
