import type { Decider } from "#decide/decider.ts";
import type { CsrfDoor } from "./csrf.ts";
import type { DecideRoute } from "./decide-route.ts";
import type { PublicOrigins } from "./front-door/public-origins.ts";
import type { RateDoor } from "./limits/rate-door.ts";
import type { Recogniser } from "./recognise.ts";
import type { RevealDoor } from "./reveal-door.ts";

/** The doors that a request passes, each made once, and what they go by. */
export interface Doors {
  readonly origins: PublicOrigins;
  readonly isTrustedProxy: (address: string) => boolean;
  readonly rate: RateDoor;
  readonly recogniser: Recogniser;
  readonly csrf: CsrfDoor;
  readonly decider: Decider;
  readonly decide: DecideRoute;
  readonly reveal: RevealDoor;
}
