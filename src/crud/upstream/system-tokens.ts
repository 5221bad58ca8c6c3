import { setMaxListeners } from "node:events";
import type { Dispatcher } from "undici";
import {
  clientCredentialsRequest,
  createHeldToken,
  MAX_TOKEN_BYTES,
  readForeignToken,
  type ForeignToken,
} from "#authn/exchange/client-credentials.ts";
import { Problem } from "#contract/problem.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import type { Invocation } from "#crud/tools/tool.ts";
import { createShares } from "#http/shares.ts";
import type { AuthRules } from "#crud/systems/system-document.ts";
import { exchangeHttp } from "./http-exchange.ts";

type Client = Extract<AuthRules, { readonly type: "oauth2_client" }>;

const TIMEOUT_MS = 10_000;

const refused = (detail: string): UpstreamError =>
  new UpstreamError(new Problem("upstream_auth_failed", { detail }), "not_sent", { isFinal: true });

/** Access tokens of one system, by client credentials (RFC 6749 4.4); each tenant has its own. */
export const createSystemTokens = (
  { tokenUrl, clientId, clientSecret, scopes }: Client,
  { agent, userAgent, now }: { readonly agent: Dispatcher; readonly userAgent: string; readonly now: () => Date },
) => {
  const url = new URL(tokenUrl);
  const held = new Map<string, ReturnType<typeof createHeldToken>>();

  const ask = async ({ secret }: Pick<Invocation, "secret">): Promise<ForeignToken> => {
    const asked = now().getTime();
    const [id, password] = await Promise.all([secret(clientId), secret(clientSecret)]);
    const { headers, body } = clientCredentialsRequest({ id, secret: password, scopes });
    const reply = await exchangeHttp(agent, {
      origin: url.origin,
      path: url.pathname,
      method: "POST",
      headers: { ...headers, "user-agent": userAgent },
      body,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_TOKEN_BYTES,
      // A token is no call's answer: it takes of no share.
      claim: createShares({ total: 2 * MAX_TOKEN_BYTES, perKey: 2 * MAX_TOKEN_BYTES })(tokenUrl),
      isReadOnly: true,
      // Several calls may wait for it: none of them ends it.
      signal: new AbortController().signal,
    }).catch((error: unknown) => {
      throw error instanceof UpstreamError ? new UpstreamError(error.problem, "not_sent", { isFinal: error.isFinal }) : error;
    });
    if (reply.status !== 200) throw refused(`The token endpoint answered ${reply.status}.`);
    const read = readForeignToken(reply.body, asked);
    if (read === undefined) throw refused("The token endpoint gave no bearer token.");
    return read;
  };

  const within = async (work: Promise<string>, signal: AbortSignal): Promise<string> => {
    setMaxListeners(0, signal);
    const { promise, reject } = Promise.withResolvers<never>();
    const end = (): void => reject(new UpstreamError(new Problem("upstream_timeout"), "not_sent", { isFinal: true }));
    if (signal.aborted) end();
    signal.addEventListener("abort", end);
    try {
      return await Promise.race([work, promise]);
    } finally {
      signal.removeEventListener("abort", end);
    }
  };

  return {
    /** Throws `UpstreamError`: nothing was sent to the system then. */
    token: async (call: Pick<Invocation, "caller" | "secret" | "signal">): Promise<string> => {
      const { tenant } = call.caller;
      const own = held.get(tenant) ?? createHeldToken(now);
      held.set(tenant, own);
      return within(
        own.token(() => ask(call)),
        call.signal,
      );
    },
    /** The system did not take it: the next call asks for another. */
    drop: (tenant: string, token: string): void => held.get(tenant)?.drop(token),
  };
};
export type SystemTokens = ReturnType<typeof createSystemTokens>;
