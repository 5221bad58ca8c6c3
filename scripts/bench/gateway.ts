import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { pinning } from "./kit/programs.ts";
import type { Section } from "./kit/report.ts";
import { measureBulk } from "./gateway/bulk.ts";
import { measureDying } from "./gateway/dying.ts";
import { measureProxied } from "./gateway/proxied.ts";
import { measureStreams } from "./gateway/streams.ts";
import { measureVerify } from "./gateway/verify.ts";
import { openGatewayWorld } from "./gateway/world.ts";

export const gatewayOptions = {
  rounds: { type: "string", default: "5" },
  seconds: { type: "string", default: "4" },
  only: { type: "string" },
  minutes: { type: "string", default: "0.5" },
} as const satisfies ParseArgsOptionsConfig;

/** The gateway's own figures. `--rounds N` `--seconds N` a round, `--minutes N` of event streams (10 is the full
 * measure), `--only proxied,verify,streams,bulk,dying`. */
export const benchGateway = async (argv: readonly string[]): Promise<Section> => {
  const { values } = parseArgs({ args: [...argv], options: gatewayOptions });
  const effort = { rounds: Number(values.rounds), seconds: Number(values.seconds), minutes: Number(values.minutes) };
  const parts = { proxied: measureProxied, verify: measureVerify, streams: measureStreams, bulk: measureBulk, dying: measureDying };
  const chosen = values.only?.split(",") ?? Object.keys(parts);
  await using world = await openGatewayWorld();
  const figures = [];
  for (const [name, measure] of Object.entries(parts)) if (chosen.includes(name)) figures.push(...(await measure(world, effort)));
  return {
    title: "Gateway",
    conditions: [
      `Median of ${effort.rounds} rounds of ${effort.seconds} s, taken in turn with the reference; ${pinning}.`,
      "The gateway runs as `npm start -- --serve gateway` on PostgreSQL: 61 rows, 1,000 living sessions used in turn, log level info, metrics on.",
      "Proxied request: 259-byte JSON POST on a row with `auth: session`, `authz: none` and no token policy (session look-up, CSRF, route match, headers both ways); wrk, 32 connections; the upstream is nginx.",
      "CPU counted: all threads of the gateway; of nginx + auth_request the nginx master, its worker and the verifier; of the others their process. Not counted: wrk, upstream, PostgreSQL.",
      "The verifier and the Fastify hooks do the same session look-up (same store, same cache), CSRF check and route match. Both and the gateway write one log line a request to a file.",
      "The unchecked proxy and the bare 200 are floors of the runtime, without a target: the same requests, no check, no log line; the first passes the body on in one piece to the same upstream, the second answers by itself.",
      "Event streams: one a session, raw sockets; a slow client takes what lies in its socket once in 2 s; heap after a full collection.",
      "Latency: our own open-loop generator at a fixed rate, measured from the moment a request was due, after a second at that rate that does not count.",
    ],
    figures,
  };
};
