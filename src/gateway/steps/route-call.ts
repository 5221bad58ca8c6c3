import type { Answer } from "#gateway/model/answer.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import type { Recognised } from "./recognise.ts";
import type { Route } from "#gateway/routes/route-table.ts";

/** A request of a row that has been recognised. */
export interface Entered {
  readonly inbound: Inbound;
  readonly route: Route;
  readonly captures: ReadonlyMap<string, string>;
  readonly who: Recognised;
}

/** A request of a row that has passed every step. */
export interface RouteCall extends Entered {
  /**
   * Checks again, for an answer that lasts. Answers until when the session lives, milliseconds since 1970; throws when the caller
   * may no longer.
   */
  readonly recheck: () => Promise<number>;
}

export type InternalHandler = (call: RouteCall) => Promise<Answer>;
