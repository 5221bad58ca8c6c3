import type { ExplainRequest } from "#contract/routes.ts";
import { guardFrame } from "#gateway/front-door/frame.ts";
import type { Inbound, InboundBody } from "#gateway/front-door/inbound.ts";

const bodyOf = (bytes: Uint8Array<ArrayBuffer>): InboundBody => ({
  length: bytes.byteLength,
  whole: async () => Buffer.from(bytes),
  stream: () => new Blob([bytes]).stream(),
  failure: () => undefined,
});

/**
 * The head that a request of this kind would have from where the viewer is, through the front door's own check. It brings
 * no credential: who it would come from is said beside it. Throws what the frame refuses.
 */
export const imagineRequest = (ask: ExplainRequest, viewer: Inbound): Omit<Inbound, "target"> => {
  const bytes = ask.body === undefined ? undefined : new TextEncoder().encode(JSON.stringify(ask.body));
  const agent = viewer.headers.get("user-agent");
  const frame = guardFrame({
    method: ask.method,
    httpVersion: "1.1",
    rawHeaders: [
      "host",
      viewer.host,
      ...(agent === undefined ? [] : ["user-agent", agent]),
      ...(bytes === undefined ? [] : ["content-type", "application/json", "content-length", String(bytes.byteLength)]),
    ],
  });
  const { host, origin, peerAddress, clientAddress, isSecure, correlationId, signal } = viewer;
  return {
    method: frame.method,
    headers: frame.headers,
    body: bytes === undefined ? undefined : bodyOf(bytes),
    host,
    origin,
    peerAddress,
    clientAddress,
    isSecure,
    correlationId,
    signal,
  };
};
