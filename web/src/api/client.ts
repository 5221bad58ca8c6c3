import { askAnswer, type Answered, type AskOptions, type Peer } from "#contract/ask.ts";
import type { Endpoint, ReplyOf } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { GatewayError } from "../model/gateway-error.ts";
import { throughGateway } from "./gateway-paths.ts";

/** Typed calls of Sallyport through the gateway. Every failure is a `GatewayError`, but for what the page itself gave up. */
export interface Client {
  ask<E extends Endpoint>(endpoint: E, options?: AskOptions<E>): Promise<ReplyOf<E>>;
  /** The value with status and headers, e.g. `etag`, `x-decision-id`. */
  askAnswer<E extends Endpoint>(endpoint: E, options?: AskOptions<E>): Promise<Answered<ReplyOf<E>> & { readonly correlationId: string }>;
}

const filled = (path: string, params: Readonly<Record<string, string>> | undefined): string =>
  path.replace(/\{([^}]+)\}/g, (whole, name: string) => (params?.[name] === undefined ? whole : encodeURIComponent(params[name])));

export const createClient = (parts: { readonly peer: Peer; readonly origin: string; readonly newId: () => string }): Client => {
  const askWithHeaders: Client["askAnswer"] = async (endpoint, options = {}) => {
    const correlationId = parts.newId();
    const there = throughGateway(endpoint);
    const call = { method: there.method, path: filled(there.path, options.params as Readonly<Record<string, string>> | undefined) };
    try {
      const answered = await askAnswer(parts.peer, there, {
        ...options,
        headers: { ...options.headers, "x-correlation-id": correlationId },
        baseUrl: parts.origin,
      });
      return { ...answered, correlationId };
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
      if (error instanceof Problem) throw new GatewayError(error, correlationId, call);
      throw new GatewayError(new Problem("internal", { cause: error }), correlationId, call);
    }
  };
  return { askAnswer: askWithHeaders, ask: async (endpoint, options) => (await askWithHeaders(endpoint, options)).value };
};
