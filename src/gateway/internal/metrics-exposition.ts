import { requireScope } from "#authn/model/caller.ts";
import { Problem } from "#contract/problem.ts";
import { isOpenScraper } from "#http/ops-endpoints.ts";
import type { BuiltInHandler } from "#gateway/steps/built-in.ts";
import type { Steps } from "#gateway/steps/steps.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { hasBearer } from "#gateway/steps/recognise.ts";

export interface MetricsExpositionParts extends Pick<Steps, "recogniser" | "rate">, Pick<GatewayParts, "metrics"> {
  readonly isAllowedNetwork: (address: string) => boolean;
}

/** `GET /metrics`: for this machine, for listed networks, or with a token of scope `metrics.read`. */
export const createMetricsExposition = (parts: MetricsExpositionParts): BuiltInHandler => {
  return async ({ inbound }) => {
    const { peerAddress, host, headers } = inbound;
    if (!isOpenScraper({ peerAddress, host, headerNames: headers.pairs.map(([name]) => name) }, parts.isAllowedNetwork)) {
      if (!hasBearer(inbound))
        throw new Problem("access_denied", { detail: "Metrics are for this machine, or for a token with scope metrics.read." });
      await parts.rate.requireByCaller(inbound, "bearer", async () => {
        const caller = await parts.recogniser.ownBearer(inbound);
        requireScope(caller, ["metrics.read"]);
        return { kind: "bearer", caller, principal: caller };
      });
    }
    return new Response(await parts.metrics.text(), {
      headers: { "content-type": parts.metrics.contentType, "cache-control": "no-store" },
    });
  };
};
