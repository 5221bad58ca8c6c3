import { ProtocolError, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { parseLosslessJson, sentJson } from "#contract/exact-numbers.ts";
import { Problem } from "#contract/problem.ts";
import { UpstreamError, beyondShare } from "#crud/model/upstream-error.ts";
import type { Connector, Invocation } from "#crud/tools/tool.ts";
import type { McpDocument } from "#crud/systems/system-document.ts";
import type { Children } from "./mcp-children.ts";
import { tooLarge } from "./answer-body.ts";
import { ANSWER_BEYOND_SHARE, ANSWER_TOO_LARGE, ANSWER_UNREADABLE, isNotSent } from "./stdio-transport.ts";

/** Whose child serves a call. */
const childKey = (isolation: McpDocument["isolation"], call: Pick<Invocation, "caller">): string => {
  switch (isolation) {
    case "shared":
      return "shared";
    case "per_tenant":
      return call.caller.tenant;
    case "per_principal":
      return `${call.caller.tenant} ${call.caller.sub}`;
  }
};

const MAX_DETAIL = 1000;

/** It answered, and what it said is no answer to a call of a tool: unreadable, of none of the protocol's forms, or a question. */
const isNoResult = (error: unknown): boolean =>
  (SdkError.isInstance(error) && (error.code === SdkErrorCode.InvalidResult || error.code === SdkErrorCode.UnsupportedResultType)) ||
  (ProtocolError.isInstance(error) && error.code === ANSWER_UNREADABLE);

type Content = readonly Readonly<Record<string, unknown>>[];

const textOf = (content: Content): string =>
  content
    .filter((item) => item["type"] === "text" && typeof item["text"] === "string")
    .map((item) => item["text"] as string)
    .join("\n");

/** Calls one tool of an external MCP server. What it says of failure is passed on as text, bounded. */
export const createMcpConnector = (options: {
  readonly children: Children;
  readonly isolation: McpDocument["isolation"];
  readonly upstreamName: string;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly isReadOnly: boolean;
}): Connector => {
  const lost = (cause: unknown): UpstreamError =>
    options.isReadOnly
      ? new UpstreamError(new Problem("upstream_timeout", { cause }), "failed")
      : new UpstreamError(new Problem("outcome_unknown", { cause }), "unknown");
  return (call) =>
    options.children.use(childKey(options.isolation, call), async (client) => {
      const result = await client
        .request(
          {
            method: "tools/call",
            params: {
              name: options.upstreamName,
              arguments: parseLosslessJson(sentJson(call.arguments)) as Record<string, unknown>,
              ...(call.idempotencyKey === undefined ? {} : { _meta: { "sallyport/idempotencyKey": call.idempotencyKey } }),
            },
          },
          { signal: call.signal, timeout: options.timeoutMs },
        )
        .catch((error: unknown) => {
          // The children see to it that it is sent to a fresh one.
          if (isNotSent(error) || error instanceof UpstreamError) throw error;
          if (isNoResult(error))
            throw new UpstreamError(
              new Problem("output_invalid", { detail: "What the server answered is no result of a tool.", cause: error }),
              "done",
            );
          if (!ProtocolError.isInstance(error)) throw lost(error);
          if (error.code === ANSWER_TOO_LARGE) throw new UpstreamError(tooLarge(options.maxBytes), "done", { isFinal: true });
          if (error.code === ANSWER_BEYOND_SHARE) throw beyondShare(options.isReadOnly);
          throw new UpstreamError(new Problem("upstream_error", { detail: error.message.slice(0, MAX_DETAIL), cause: error }), "failed");
        });
      const bytes = Buffer.byteLength(JSON.stringify(result));
      if (bytes > options.maxBytes) throw new UpstreamError(tooLarge(options.maxBytes), "done", { isFinal: true });
      if (!call.claim.take(bytes)) throw beyondShare(options.isReadOnly);
      const content = (result.content ?? []) as Content;
      if (result.isError === true) {
        throw new UpstreamError(
          new Problem("upstream_error", { detail: textOf(content).slice(0, MAX_DETAIL) || "The upstream says that it failed." }),
          "failed",
        );
      }
      const media = content.filter((item) => item["type"] !== "text");
      return { value: result.structuredContent ?? textOf(content), ...(media.length === 0 ? {} : { media }) };
    });
};
