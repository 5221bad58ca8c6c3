import { isLoopbackHost } from "#contract/loopback.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";

/** A page of any site can make a browser on this machine ask; a name that leads here may be any site's, too. */
const requireNoPage = ({ headers, url }: Request): void => {
  const host = (headers.get("host") ?? new URL(url).host).toLowerCase();
  if (!isLoopbackHost(host))
    throw new Problem("access_denied", { detail: "Without a token this is answered at localhost alone: send a token." });
  const site = headers.get("sec-fetch-site");
  if (headers.has("origin") || (site !== null && site !== "none" && site !== "same-origin"))
    throw new Problem("access_denied", { detail: "Without a token no page of a browser is answered: send a token." });
};

/** Whom a request without token is, where dev or test allow it. Throws `access_denied` for what a page in a browser may have sent. */
export const anonymousOf = (request: Request, tenant: string, now: Date): Caller => {
  requireNoPage(request);
  return {
    sub: "service:anonymous",
    tenant,
    scopes: new Set(),
    actors: [],
    amr: [],
    issuer: "none",
    isInternalService: false,
    token: "",
    expiresAt: Math.floor(now.getTime() / 1000) + 60,
  };
};
