import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { plainText, timestamp } from "./ids.ts";
import { switchedOff } from "./switched-off.ts";

/** Kill switches: what is switched off at once, on every node within a second, for callers of the tenant that says so. */

export const KILL_SCOPES = "must be all, view:<name>, system:<provider.instance>, tool:<name> or the id of an agent (agent:<name>)";
/** What a switch may be about. */
export const killScope = z
  .string()
  .regex(
    /^(?:all|view:[a-z][a-z0-9-]{0,30}|system:[a-z][a-z0-9-]{0,24}\.[a-z][a-z0-9-]{0,24}|tool:[A-Za-z][A-Za-z0-9._-]{0,127}|agent:[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,190})$/,
    KILL_SCOPES,
  );
const killSwitch = switchedOff.extend({ at: timestamp });
export type KillSwitch = z.output<typeof killSwitch>;

const reading = withoutAgents({ scope: ["config.read"], decision: "kill_switch/set" });
const writing = withoutAgents({ scope: ["config.write"], decision: "kill_switch/set" });
const named = z.object({
  scope: plainText(1, 200).describe("`all`, `view:`, `system:` or `tool:` with a name, or the id of an agent."),
});

export const listKillSwitches = endpoint("crud", "GET", "/config/kill-switches", {
  reply: z.object({ kill_switches: z.array(killSwitch) }),
  ...reading,
  summary: "What is switched off in the caller's tenant, by scope.",
});

export const readKillSwitch = endpoint("crud", "GET", "/config/kill-switches/{scope}", {
  params: named,
  reply: killSwitch,
  ...reading,
  problems: ["not_found"],
  summary: "One kill switch.",
});

export const putKillSwitch = endpoint("crud", "PUT", "/config/kill-switches/{scope}", {
  params: named,
  query: z.strictObject({
    force: z.enum(["true", "false"]).default("false").describe("Switches off what is not there too, should it come."),
  }),
  body: z.strictObject({
    reason: plainText(1, 500),
    until: timestamp.optional().describe("It ends by itself then; unless said it stays until it is lifted."),
  }),
  reply: killSwitch,
  ...writing,
  problems: ["unprocessable"],
  summary: "Switch something off at once: new calls are refused, running ones are cancelled, lists change.",
});

export const deleteKillSwitch = endpoint("crud", "DELETE", "/config/kill-switches/{scope}", {
  params: named,
  reply: killSwitch,
  ...writing,
  problems: ["not_found"],
  summary: "Lift a kill switch.",
});
