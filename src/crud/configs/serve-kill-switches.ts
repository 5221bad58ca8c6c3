import { deleteKillSwitch, killScope, listKillSwitches, putKillSwitch, readKillSwitch } from "#contract/kill-switches.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { Router } from "#http/serve.ts";
import type { KillSwitches } from "#crud/tools/kill-switches.ts";
import { createScopeCheck, type KnownScopeParts } from "./known-scope.ts";
import { writerOf, type Asked } from "#crud/versions/config-events.ts";

/** Kill switches of the caller's tenant. While the decision point is away none can be set, and nothing can be called either. */
export const serveKillSwitches = (
  router: Router<Caller>,
  parts: KnownScopeParts & { readonly kills: KillSwitches; readonly pdpClient: Pick<PdpClient, "require">; readonly now: () => Date },
): void => {
  const { kills, pdpClient, now } = parts;
  const scopeIssues = createScopeCheck(parts);
  const enter = async ({ caller, correlationId }: Asked) => {
    const { decisionId } = await pdpClient.require(caller, { type: "kill_switch", action: "set" }, correlationId);
    return writerOf(caller, correlationId, decisionId);
  };
  router.serve(listKillSwitches, async (call) => {
    await enter(call);
    return { kill_switches: [...kills.list(call.caller.tenant)] };
  });
  router.serve(readKillSwitch, async (call) => {
    await enter(call);
    const found = kills.list(call.caller.tenant).find(({ scope }) => scope === call.params.scope);
    if (found === undefined) throw new Problem("not_found");
    return found;
  });
  router.serve(putKillSwitch, async (call) => {
    const by = await enter(call);
    const { reason, until } = call.body;
    if (until !== undefined && Date.parse(until) <= now().getTime())
      throw new Problem("unprocessable", { errors: [{ path: "/until", message: "is over already" }] });
    const { scope } = call.params;
    const isForced = call.query.force === "true" && killScope.safeParse(scope).success;
    const isHeld = kills.list(by.tenant).some((one) => one.scope === scope);
    const errors = isForced || isHeld ? [] : await scopeIssues({ scope, tenant: by.tenant, correlationId: call.correlationId });
    if (errors.length > 0) throw new Problem("unprocessable", { errors });
    return kills.set(by, scope, reason, until);
  });
  router.serve(deleteKillSwitch, async (call) => kills.lift(await enter(call), call.params.scope));
};
