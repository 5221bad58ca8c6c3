import type { IncomingMessage } from "node:http";
import { BlockList } from "node:net";
import { OAuthError } from "#authn/oauth-error.ts";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** What a browser or a proxy adds, and a command of this machine does not. */
const foreignHeaders = ["origin", "sec-fetch-site", "cookie", "x-forwarded-for", "forwarded", "via", "x-real-ip"] as const;

const isLoopback = (address: string): boolean => loopback.check(address, address.includes(":") ? "ipv6" : "ipv4");

/** Lets only programs of this machine through: a page in a browser here, or a proxy that stands here, is no such program. */
export const guardLocalCommand = (request: IncomingMessage): void => {
  const address = request.socket.remoteAddress;
  if (address === undefined || !isLoopback(address))
    throw new OAuthError("unauthorized_client", "the development sign-in is for this machine alone");
  if (foreignHeaders.some((name) => request.headers[name] !== undefined))
    throw new OAuthError("unauthorized_client", "the development sign-in is for the command line alone");
};
