import type { IncomingMessage } from "node:http";
import { isLoopbackAddress } from "#http/addresses.ts";
import { OAuthError } from "#authn/oauth-error.ts";

/** What a browser or a proxy adds, and a command of this machine does not. */
const foreignHeaders = ["origin", "sec-fetch-site", "cookie", "x-forwarded-for", "forwarded", "via", "x-real-ip"] as const;

/** Lets only programs of this machine through: a page in a browser here, or a proxy that stands here, is no such program. */
export const guardLocalCommand = (request: IncomingMessage): void => {
  const address = request.socket.remoteAddress;
  if (address === undefined || !isLoopbackAddress(address))
    throw new OAuthError("unauthorized_client", "the development sign-in is for this machine alone");
  if (foreignHeaders.some((name) => request.headers[name] !== undefined))
    throw new OAuthError("unauthorized_client", "the development sign-in is for the command line alone");
};
