import type { Assurance } from "#authn/model/assurance.ts";
import type { Identity } from "#authn/model/claims.ts";

export interface BeginSignIn {
  /** One of ours, registered at the provider, e.g. `http://localhost:8080/auth/callback`. */
  readonly redirectUri: string;
  readonly acrValues?: string;
  readonly maxAge?: number;
  readonly prompt?: "login" | "none";
  readonly loginHint?: string;
  /** Services outside Sallyport whose tokens the session's own is to be: asked for only of a provider that is known to take it. */
  readonly audiences?: readonly string[];
}

/** What must come back; kept by the gateway in its sealed transaction, never in the browser's reach. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface FinishSignIn extends SignInChecks {
  /** The callback as the browser called it: the redirect URI with its query. */
  readonly currentUrl: URL;
  /** What a step-up asked for; a sign-in that is less is `step_up_not_met`. */
  readonly assurance?: Assurance;
  readonly maxAge?: number;
}

export interface ProviderTokens {
  readonly accessToken: string;
  /** Seconds since 1970. */
  readonly accessExpiresAt: number;
  readonly refreshToken?: string;
  readonly idToken?: string;
  readonly scope?: string;
}

export interface UpstreamTokenAsk {
  readonly audience: string;
  /** `undefined`: the provider's choice. */
  readonly scopes: readonly string[] | undefined;
}

export interface SignedIn extends Identity {
  readonly name: string;
  readonly issuer: string;
  /** The provider's session, for sign-out from there. */
  readonly idpSession?: string;
  /** The provider's own name of the person (`sub`), by which it asks for a sign-out everywhere. */
  readonly idpSubject?: string;
  readonly tokens: ProviderTokens;
}

/**
 * What became of a refresh. `denied`: the provider knows the token no more (`invalid_grant`). `unsent`: the provider did
 * not take it, so it is unspent. `unanswered`: it was sent and no clear answer came; it may be spent.
 */
export type RefreshOutcome =
  | { readonly kind: "tokens"; readonly tokens: ProviderTokens }
  | { readonly kind: "denied" }
  | { readonly kind: "unsent" | "unanswered"; readonly cause: unknown };

export interface OidcClient {
  readonly issuer: string;
  /** Where to send the browser. Throws `identity_provider_unavailable`. */
  begin(ask: BeginSignIn): Promise<{ readonly url: string } & SignInChecks>;
  /** Checks the callback, redeems the code. Throws `login_failed`, `identity_rejected`, `step_up_not_met`, `identity_provider_unavailable`. */
  finish(given: FinishSignIn): Promise<SignedIn>;
  /** Redeems a refresh token, once: waits at most 10 s. Never throws. */
  refresh(refreshToken: string): Promise<RefreshOutcome>;
  /** RFC 8693: a token for another audience in the name of a subject token's owner. Throws `upstream_auth_failed` (502) when it is refused, `identity_provider_unavailable`. */
  exchange(ask: UpstreamTokenAsk & { readonly subjectToken: string }): Promise<ProviderTokens>;
  /** A token of this client itself, by its credentials. Throws as `exchange`. */
  clientCredentials(ask: UpstreamTokenAsk): Promise<ProviderTokens>;
  /** Who a provider's claims are about, as Sallyport names people; `undefined` when they do not say. */
  subjectOf(claims: Readonly<Record<string, unknown>>): string | undefined;
  /** RFC 7009; true once the provider took it, or offers no revocation. */
  revoke(refreshToken: string): Promise<boolean>;
  /** Where to send the browser to sign out there too; `undefined` if the provider has no such page or is down. */
  endSessionUrl(ask: { readonly idToken?: string; readonly postLogoutRedirectUri?: string }): Promise<string | undefined>;
  /** Asks the provider for its metadata anew; throws `identity_provider_unavailable`. For health checks. */
  ready(): Promise<void>;
}
