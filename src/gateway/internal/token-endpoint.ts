import { requireOrigin } from "#gateway/model/inbound.ts";
import type { BuiltInHandler } from "#gateway/steps/built-in.ts";
import { readBody } from "#gateway/model/read-body.ts";

const MAX_BYTES = 32_768;

/** `POST /oauth/token`: token exchange for registered agents. Clients prove themselves; a cookie is not looked at. */
export const createTokenEndpoint = (exchange: (request: Request) => Promise<Response>): BuiltInHandler => {
  return async ({ inbound }) => {
    const origin = requireOrigin(inbound);
    const headers = new Headers();
    for (const name of ["content-type", "authorization", "accept"]) {
      const value = inbound.headers.get(name);
      if (value !== undefined) headers.set(name, value);
    }
    const body = await readBody(inbound, MAX_BYTES);
    return exchange(new Request(`${origin}/oauth/token`, { method: "POST", headers, body, signal: inbound.signal }));
  };
};
