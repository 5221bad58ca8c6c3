import type { z } from "zod";
import * as accessRequests from "./access-requests.ts";
import * as authzen from "./authzen.ts";
import * as budgets from "./budgets.ts";
import * as decisions from "./decisions.ts";
import * as delegations from "./delegations.ts";
import type { Endpoint } from "./endpoint.ts";
import * as facts from "./facts.ts";
import * as health from "./health.ts";
import * as membership from "./membership.ts";
import * as policies from "./policies.ts";
import * as replay from "./replay.ts";
import * as reservations from "./reservations.ts";
import * as rollouts from "./rollouts.ts";
import * as routes from "./routes.ts";
import * as searches from "./searches.ts";
import * as secrets from "./secrets.ts";
import * as session from "./session.ts";
import * as tools from "./tools.ts";
import * as whatIf from "./what-if.ts";

export interface EndpointRow {
  /** The name by which code knows it, e.g. `listDelegations`; unique. */
  readonly name: string;
  /** The file that declares it, without `.ts`. */
  readonly topic: string;
  readonly endpoint: Endpoint<z.ZodType, z.ZodType, z.ZodType, z.ZodType>;
}

const isEndpoint = (value: unknown): value is EndpointRow["endpoint"] =>
  typeof value === "object" && value !== null && "service" in value && "method" in value && "path" in value;

/** Everything that is said in this house: what the reference is made from, and what the guards walk. */
export const endpointTable: readonly EndpointRow[] = Object.entries({
  "access-requests": accessRequests,
  authzen,
  budgets,
  decisions,
  delegations,
  facts,
  health,
  membership,
  policies,
  replay,
  reservations,
  rollouts,
  routes,
  searches,
  secrets,
  session,
  tools,
  "what-if": whatIf,
}).flatMap(([topic, declared]) =>
  Object.entries(declared).flatMap(([name, value]): EndpointRow[] => (isEndpoint(value) ? [{ name, topic, endpoint: value }] : [])),
);
