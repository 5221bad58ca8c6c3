import type { ExplainRequest } from "#contract/routes.ts";
import { guardFrame } from "#gateway/ingress/frame.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import { wholeBody } from "#gateway/model/read-body.ts";

/**
 * The head that a request of this kind would have from where the viewer is, through the ingress's own check. It brings
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
  const { target: _target, ...from } = viewer;
  return { ...from, method: frame.method, headers: frame.headers, body: bytes && wholeBody(bytes) };
};
