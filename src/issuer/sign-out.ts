import type Provider from "oidc-provider";
import type { KoaContextWithOIDC } from "oidc-provider";
import { messagePage, pageHeaders, renderPage, signOutPage, type Page } from "./page.ts";

const show = (ctx: KoaContextWithOIDC, page: Page): void => {
  ctx.set(pageHeaders(page));
  ctx.status = page.status ?? 200;
  ctx.body = renderPage(page);
};

const formIdOf = (form: string): string => /\bid="([^"]+)"/.exec(form)?.[1] ?? "";

/** Ends what this session's codes and refresh tokens may still do. */
const revokeGrants = async (provider: Provider, ctx: KoaContextWithOIDC): Promise<void> => {
  for (const { grantId } of Object.values(ctx.oidc.session?.authorizations ?? {})) {
    if (grantId === undefined) continue;
    await Promise.all(
      [provider.AccessToken, provider.RefreshToken, provider.AuthorizationCode].map((model) => model.revokeByGrantId(grantId)),
    );
    const grant = await provider.Grant.find(grantId);
    await grant?.destroy();
  }
};

/** Tells every client of this session that it is over, as the library does where the person was asked. */
const tellClients = async (provider: Provider, ctx: KoaContextWithOIDC): Promise<void> => {
  const { session } = ctx.oidc;
  const accountId = session?.accountId;
  if (session === undefined || accountId === undefined) return;
  const reported = Object.keys(session.authorizations ?? {}).map(async (clientId) => {
    const client = await provider.Client.find(clientId);
    if (client?.backchannelLogoutUri === undefined) return;
    const sid = session.sidFor(clientId);
    // The library's own call; its types leave it out.
    const { backchannelLogout } = client as typeof client & { backchannelLogout(sub: string, sid: string | undefined): Promise<void> };
    await backchannelLogout.call(client, accountId, sid).catch((error: Error) => {
      provider.emit("backchannel.error", ctx, error, client, accountId, sid);
    });
  });
  await Promise.all(reported);
};

/**
 * Sign-out on request of a client. With the person's own ID token as hint it is done at once: the person pressed the
 * button there already. Without it (anybody can link here) the person is asked, in a form, without script.
 */
export const signOutPages = (parts: { readonly provider: () => Provider; readonly publicOrigins: readonly string[] }) => ({
  logoutSource: async (ctx: KoaContextWithOIDC, form: string): Promise<void> => {
    const { session, entities, params } = ctx.oidc;
    const hinted = entities.IdTokenHint?.payload["sub"];
    if (session === undefined || hinted === undefined || hinted !== session.accountId) {
      show(ctx, signOutPage(form, formIdOf(form), parts.publicOrigins));
      return;
    }
    const provider = parts.provider();
    await revokeGrants(provider, ctx);
    await tellClients(provider, ctx);
    await session.destroy();
    ctx.cookies.set(provider.cookieName("session"), null);
    const target = params?.["post_logout_redirect_uri"];
    if (typeof target !== "string") {
      show(ctx, messagePage("Signed out", "You are signed out."));
      return;
    }
    const url = new URL(target);
    if (typeof params?.["state"] === "string") url.searchParams.set("state", params["state"]);
    ctx.status = 303;
    ctx.redirect(url.href);
  },
  postLogoutSuccessSource: (ctx: KoaContextWithOIDC): void => show(ctx, messagePage("Signed out", "You are signed out.")),
});

/** What the provider says when a request of the browser cannot be served. */
export const renderError = (
  ctx: KoaContextWithOIDC,
  out: { readonly error: string; readonly error_description?: string | undefined },
): void => {
  const status = ctx.status;
  const text = out.error_description ?? "The request cannot be served.";
  show(ctx, messagePage("That did not work", `${text} (${out.error}) Go back to Sallyport and start again.`, status));
};
