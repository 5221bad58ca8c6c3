import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { CsrfGuard } from "./csrf.ts";
import type { DecideRoute } from "./authorize-route.ts";
import type { PublicOrigins } from "#gateway/model/public-origins.ts";
import type { RateLimit } from "./rate-limit.ts";
import type { Recogniser } from "./recognise.ts";
import type { RevealGuard } from "./guard-reveal.ts";

/** The steps that a request passes, each made once, and what they go by. */
export interface Steps {
  readonly origins: PublicOrigins;
  readonly isTrustedProxy: (address: string) => boolean;
  readonly rate: RateLimit;
  readonly recogniser: Recogniser;
  readonly csrf: CsrfGuard;
  readonly pdpClient: PdpClient;
  readonly decide: DecideRoute;
  readonly reveal: RevealGuard;
}
