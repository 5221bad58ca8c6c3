import { Problem } from "#contract/problem.ts";
import { listenerLimits } from "#http/listener-limits.ts";
import { lowerName } from "#gateway/model/header-name.ts";
import { ingressProblem } from "#gateway/model/ingress-problem.ts";
import { inboundMethods, type InboundHeaders, type InboundMethod } from "#gateway/model/inbound.ts";

/** What the parser made of a request's head, before anybody relies on it. */
export interface RawHead {
  readonly method: string;
  readonly httpVersion: string;
  /** Names and values in turn, as they arrived. */
  readonly rawHeaders: readonly string[];
}

/** A head with one reading. */
export interface Frame {
  readonly method: InboundMethod;
  readonly headers: InboundHeaders;
  readonly host: string;
  readonly body: { readonly length: number | undefined } | undefined;
}

/** Two servers in a row may each pick another one of two lines; so there is one line, or none. */
const singleLine: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "content-type",
  "authorization",
  "cookie",
  "origin",
  "transfer-encoding",
  "x-csrf-token",
  "x-csrftoken",
  "x-requested-with",
  "last-event-id",
  "x-plugin-id",
  "x-correlation-id",
  "sec-fetch-site",
  "sec-fetch-mode",
  "expect",
  "x-deadline-ms",
]);

/** Anything else would name headers that the next hop must drop, an identity header among them. */
const connectionOptions: ReadonlySet<string> = new Set(["close", "keep-alive", "te", "upgrade", "http2-settings"]);
const withoutBody: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const HOST = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9.])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/;

const ambiguous = (detail: string): Problem => ingressProblem("ambiguous_headers", { detail });

const listOf = (value: string | undefined): readonly string[] =>
  value === undefined
    ? []
    : value
        .split(",")
        .map((item) => item.trim().toLowerCase())
        .filter((item) => item !== "");

const readHeaders = (rawHeaders: readonly string[]): InboundHeaders => {
  if (rawHeaders.length / 2 > listenerLimits.maxHeaderLines)
    throw ingressProblem("headers_too_large", { detail: `More than ${listenerLimits.maxHeaderLines} header lines.` });
  const pairs: (readonly [string, string])[] = [];
  const byName = new Map<string, string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = lowerName(rawHeaders[at] as string);
    const value = rawHeaders[at + 1] as string;
    const held = byName.get(name);
    if (held !== undefined && singleLine.has(name)) throw ambiguous(`The header ${name} is sent twice.`);
    byName.set(name, held === undefined ? value : `${held}, ${value}`);
    pairs.push([name, value]);
  }
  return { get: (name) => byName.get(name), pairs };
};

const guardConnection = (headers: InboundHeaders): void => {
  for (const option of listOf(headers.get("connection")))
    if (!connectionOptions.has(option)) throw ambiguous("The Connection header has an option that is not accepted.");
  if (listOf(headers.get("upgrade")).some((protocol) => protocol.split("/")[0] === "websocket"))
    throw ambiguous("WebSocket is not served.");
};

const parseMethod = (method: string): InboundMethod => {
  if ((inboundMethods as readonly string[]).includes(method)) return method as InboundMethod;
  throw new Problem("method_not_allowed", { headers: { allow: inboundMethods.join(", ") } });
};

const parseHost = (headers: InboundHeaders): string => {
  const host = headers.get("host")?.toLowerCase();
  if (host === undefined) throw ambiguous("The header host is missing.");
  if (!HOST.test(host)) throw ambiguous("The header host is malformed.");
  return host;
};

const parseBody = (head: RawHead, headers: InboundHeaders): Frame["body"] => {
  const coding = headers.get("transfer-encoding");
  const length = headers.get("content-length");
  if (coding !== undefined) {
    if (head.httpVersion === "1.0") throw ambiguous("HTTP/1.0 has no Transfer-Encoding.");
    if (length !== undefined || coding.toLowerCase() !== "chunked")
      throw ingressProblem("bad_framing", { detail: "The only transfer coding is chunked." });
    return { length: undefined };
  }
  if (length === undefined || length === "0") return undefined;
  if (!/^(?:0|[1-9][0-9]{0,14})$/.test(length)) throw ingressProblem("bad_framing", { detail: "Content-Length is not a number." });
  return { length: Number(length) };
};

/**
 * Refuses a head with more than one reading. What it throws ends the connection: nothing after such a head can be
 * trusted to be a request.
 */
export const guardFrame = (head: RawHead): Frame => {
  // The parser takes 0.9 and 2.0 in a request line too; their rules are not the ones that it reads by.
  if (head.httpVersion !== "1.1" && head.httpVersion !== "1.0")
    throw ingressProblem("bad_framing", { detail: "Only HTTP/1.1 and HTTP/1.0 are served." });
  const headers = readHeaders(head.rawHeaders);
  guardConnection(headers);
  const method = parseMethod(head.method);
  const expect = headers.get("expect");
  if (expect !== undefined && expect.toLowerCase() !== "100-continue") throw ingressProblem("expectation_failed");
  const host = parseHost(headers);
  const body = parseBody(head, headers);
  if (body !== undefined && withoutBody.has(method)) throw ingressProblem("body_not_allowed");
  return { method, headers, host, body };
};
