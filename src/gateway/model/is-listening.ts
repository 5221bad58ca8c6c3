import type { Inbound } from "#gateway/model/inbound.ts";

/**
 * Whether a stream is asked for in order to listen: it has no end of its own, and nobody loses an answer when it is ended. Of
 * MCP the request says so in a header that is there for those on its way.
 */
export const isListening = ({ method, headers }: Pick<Inbound, "method" | "headers">): boolean =>
  method === "GET" || headers.get("mcp-method") === "subscriptions/listen";
