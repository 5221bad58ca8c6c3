import { asProblem } from "#http/problem-body.ts";
import { correlationIdOf } from "#http/correlation-id.ts";
import type { Pipeline } from "./raw-server.ts";
import { guardFrame } from "./frame.ts";
import { toResponse } from "#gateway/model/answer.ts";
import type { InboundBody } from "#gateway/model/inbound.ts";
import type { ClientAddress } from "#gateway/limits/client-address.ts";
import type { PublicOrigins } from "#gateway/model/public-origins.ts";
import { canonicalise } from "#gateway/model/canonical-path.ts";

/**
 * The pipeline behind a `fetch`, for tests of what lies behind the ingress. A `Request` has lost what the raw listener
 * sees (its path is normalised, its header lines are joined), so the ingress itself is tested over sockets.
 */
export const createFetchAdapter = (
  pipeline: Pipeline,
  origins: PublicOrigins,
  clientAddress: ClientAddress,
  peerAddress = "127.0.0.1",
): ((request: Request) => Promise<Response>) => {
  return async (request) => {
    const url = new URL(request.url);
    const correlationId = correlationIdOf(request.headers.get("x-correlation-id"));
    const pairs = [...request.headers].filter(([name]) => name !== "host");
    const hasBody = request.body !== null;
    if (hasBody && !request.headers.has("content-length")) pairs.push(["transfer-encoding", "chunked"]);
    try {
      const frame = guardFrame({
        method: request.method,
        httpVersion: "1.1",
        rawHeaders: ["host", request.headers.get("host") ?? url.host, ...pairs.flat()],
      });
      const origin = origins.originOf(frame.host);
      const body: InboundBody | undefined = frame.body && {
        length: frame.body.length,
        whole: async () => Buffer.from(await request.arrayBuffer()),
        stream: () => request.body as ReadableStream<Uint8Array>,
        failure: () => undefined,
      };
      const answer = await pipeline.handle({
        method: frame.method,
        target: canonicalise(`${url.pathname}${url.search}`),
        headers: frame.headers,
        host: frame.host,
        origin,
        peerAddress,
        clientAddress: clientAddress({ peerAddress, headers: frame.headers }),
        isSecure: false,
        correlationId,
        body,
        signal: request.signal,
      });
      return toResponse(answer);
    } catch (error) {
      return toResponse(
        pipeline.refuse(asProblem(error), { method: request.method, correlationId, isSecure: false, rawTarget: url.pathname }),
      );
    }
  };
};
