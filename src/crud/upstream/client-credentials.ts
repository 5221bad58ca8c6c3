import { setMaxListeners } from "node:events";
import type { Dispatcher } from "undici";
import { z } from "zod";
import { Problem } from "#contract/problem.ts";
import { UpstreamFault } from "#crud/mcp/call/upstream-fault.ts";
import type { Invocation } from "#crud/mcp/tool.ts";
import type { AuthRules } from "#crud/systems/system-document.ts";
import { exchangeHttp } from "./http-exchange.ts";

/** Access tokens of one system, by client credentials (RFC 6749 4.4); each tenant has its own. */
export interface SystemTokens {
  /** Throws `UpstreamFault`: nothing was sent to the system then. */
  token(call: Pick<Invocation, "caller" | "secret" | "signal">): Promise<string>;
  /** The system did not take it: the next call asks for another. */
  drop(tenant: string, token: string): void;
}

type Client = Extract<AuthRules, { readonly type: "oauth2_client" }>;

/** A token is renewed this long before it ends. */
const EARLY_MS = 30_000;
const DEFAULT_LIFE_S = 60;
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 65_536;

const tokenReply = z.looseObject({
  access_token: z.string().regex(/^[\x21-\x7e]{1,16384}$/),
  token_type: z.string().regex(/^bearer$/i),
  expires_in: z.number().positive().optional(),
});

/** As RFC 6749 2.3.1 wants client id and secret inside Basic. */
const formEncoded = (text: string): string => new URLSearchParams({ v: text }).toString().slice(2);

const refused = (detail: string): UpstreamFault =>
  new UpstreamFault(new Problem("upstream_auth_failed", { detail }), "not_sent", { isFinal: true });

export const createSystemTokens = (
  { tokenUrl, clientId, clientSecret, scopes }: Client,
  { agent, userAgent, now }: { readonly agent: Dispatcher; readonly userAgent: string; readonly now: () => Date },
): SystemTokens => {
  const url = new URL(tokenUrl);
  const held = new Map<string, { readonly token: string; readonly until: number }>();
  const asking = new Map<string, Promise<string>>();

  const ask = async ({ caller, secret }: Pick<Invocation, "caller" | "secret">): Promise<string> => {
    const asked = now().getTime();
    const [id, password] = await Promise.all([secret(clientId), secret(clientSecret)]);
    const body = new URLSearchParams({ grant_type: "client_credentials", ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }) });
    const reply = await exchangeHttp(agent, {
      origin: url.origin,
      path: url.pathname,
      method: "POST",
      headers: {
        authorization: `Basic ${Buffer.from(`${formEncoded(id)}:${formEncoded(password)}`).toString("base64")}`,
        "content-type": "application/x-www-form-urlencoded",
        accept: "application/json",
        "user-agent": userAgent,
      },
      body: body.toString(),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      isReadOnly: true,
      // Several calls may wait for it: none of them ends it.
      signal: new AbortController().signal,
    }).catch((error: unknown) => {
      throw error instanceof UpstreamFault ? new UpstreamFault(error.problem, "not_sent", { isFinal: error.isFinal }) : error;
    });
    if (reply.status !== 200) throw refused(`The token endpoint answered ${reply.status}.`);
    const read = tokenReply.safeParse(reply.body).data;
    if (read === undefined) throw refused("The token endpoint gave no bearer token.");
    held.set(caller.tenant, { token: read.access_token, until: asked + (read.expires_in ?? DEFAULT_LIFE_S) * 1000 - EARLY_MS });
    return read.access_token;
  };

  const within = async (work: Promise<string>, signal: AbortSignal): Promise<string> => {
    setMaxListeners(0, signal);
    const { promise, reject } = Promise.withResolvers<never>();
    const end = (): void => reject(new UpstreamFault(new Problem("upstream_timeout"), "not_sent", { isFinal: true }));
    if (signal.aborted) end();
    signal.addEventListener("abort", end);
    try {
      return await Promise.race([work, promise]);
    } finally {
      signal.removeEventListener("abort", end);
    }
  };

  return {
    token: async (call) => {
      const { tenant } = call.caller;
      const known = held.get(tenant);
      if (known !== undefined && now().getTime() < known.until) return known.token;
      const running = asking.get(tenant) ?? ask(call).finally(() => asking.delete(tenant));
      asking.set(tenant, running);
      return within(running, call.signal);
    },
    drop: (tenant, token) => {
      if (held.get(tenant)?.token === token) held.delete(tenant);
    },
  };
};
