import type { z } from "zod";
import type { Endpoint, ReplyOf } from "#contract/endpoint.ts";

/** A JSON answer of the gateway itself; the type of the value is the endpoint's. Never kept by anybody. */
export const reply = <E extends Endpoint<z.ZodType, z.ZodType, z.ZodType, z.ZodType>>(
  endpoint: E,
  value: ReplyOf<E>,
  more: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): Response =>
  new Response(JSON.stringify(value), {
    status: more.status ?? endpoint.status ?? 200,
    headers: { "content-type": "application/json", "cache-control": "no-store", ...more.headers },
  });

/** A redirect of the gateway itself; cookies in the order given. */
export const redirect = (status: 302 | 303, location: string, cookies: readonly string[] = []): Response => {
  const headers = new Headers({ location, "cache-control": "no-store" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status, headers });
};
