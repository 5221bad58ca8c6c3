import { createRouter, type Router } from "#http/serve.ts";
import type { Caller } from "#authn/caller.ts";
import { createCallRate } from "./endpoints/call-rate.ts";
import { withFitText } from "./endpoints/fit-text.ts";
import type { Pep } from "./endpoints/parse-ask.ts";
import { parsePdpBody } from "./endpoints/parse-body.ts";
import type { PdpParts } from "./pdp-parts.ts";

const MAX_BODY_BYTES = 2 * 1_048_576;

/** The way in, and who a caller is as an enforcement point: the house's own are not counted. */
export const openRouter = (parts: PdpParts): { readonly router: Router<Caller>; readonly pepOf: (caller: Caller) => Pep } => {
  const { config, log, now } = parts;
  const house = new Set(config.houseClients.map((name) => `service:${name}`));
  const callRate = createCallRate(config.callsPerSecond, now);
  const pepOf = (caller: Caller): Pep => ({ caller, isHouse: caller.isHouseService && house.has(caller.sub) });
  const router = createRouter<Caller>({
    ...(parts.tracing === undefined ? {} : { tracing: parts.tracing }),
    name: "pdp",
    authenticate: async (request, endpoint) => {
      const caller = await parts.authenticate(request, endpoint);
      if (endpoint.auth !== "none" && !pepOf(caller).isHouse) callRate(caller.sub);
      return caller;
    },
    log,
    validateReplies: parts.environment !== "production",
    maxBodyBytes: MAX_BODY_BYTES,
    parseJson: parsePdpBody,
    badInputStatus: 400,
  });
  return { router: withFitText(router), pepOf };
};
