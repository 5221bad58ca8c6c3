import { readReplay, replayDecision, startReplay, stopReplay } from "#contract/replay.ts";
import { replayTools } from "#contract/replay-tools.ts";
import { Problem } from "#contract/problem.ts";
import type { Router } from "#http/serve.ts";
import type { Caller } from "#authn/model/caller.ts";
import { sideOf } from "#pdp/lifecycle/compare/difference-classes.ts";
import { differences, outcomeOf } from "#pdp/lifecycle/compare/outcome.ts";
import { decideAgain } from "#pdp/lifecycle/replay/decide-again.ts";
import { replayTools as decideToolsAgain } from "#pdp/lifecycle/replay/replay-tools.ts";
import { given } from "./given.ts";
import { quietly } from "#pdp/rights/policy-sight.ts";
import type { Serving } from "#pdp/context/serving.ts";

type ReplayEndpoints = Pick<Serving, "guard" | "sightOf" | "rollouts" | "replays" | "records" | "engines" | "viewers" | "pepOf" | "now">;

/** Recorded decisions decided again: many in the background, or one. */
export const serveReplays = (router: Router<Caller>, parts: ReplayEndpoints): void => {
  const { guard, rollouts, replays, records, engines } = parts;

  router.serve(startReplay, async (call) => {
    const admin = await guard(call, "view");
    const { version } = await quietly(await parts.sightOf(call.caller), rollouts.requireAskable(call.body.version));
    // Decisions made from now on, this one among them, are none of those to be decided again.
    const filter = { ...given(call.body.filter), to: call.body.filter.to ?? parts.now().toISOString() };
    return { replay_id: await replays.start(admin, call.caller.tenant, { version, filter, most: call.body.limit }) };
  });

  router.serve(readReplay, async (call) => {
    const admin = await guard(call, "view");
    const { id, version, state, progress } = await replays.read(call.params.id, call.caller.tenant);
    const { classes, before: _before, tries: _tries, ...counts } = progress;
    // Counts stand without the samples: a sign-in that would show them is not asked for.
    const sees = await admin.seesDecisions();
    const { isWhole } = await parts.sightOf(call.caller);
    const unnamed = <S extends { readonly policies: string[] }>(side: S): S => (isWhole ? side : { ...side, policies: [] });
    const kinds = Object.values(classes)
      .toSorted((a, b) => b.count - a.count)
      .map((kind) => ({ ...kind, active: unnamed(kind.active), other: unnamed(kind.other) }));
    return {
      replay_id: id,
      version,
      state,
      ...counts,
      classes: kinds.map(({ sample, ...kind }) => (sees && sample !== undefined ? { ...kind, sample } : kind)),
    };
  });

  router.serve(stopReplay, async (call) => {
    await replays.stop(await guard(call, "view"), call.params.id, call.caller.tenant);
    return undefined;
  });

  router.serve(replayTools, async ({ caller, body }) => {
    // What a tool would become is the tool service's to say, and whose decisions it may count its own to know.
    if (!parts.pepOf(caller).isInternal) throw new Problem("access_denied");
    const { engine } = engines.current();
    return decideToolsAgain({ records, engine }, body);
  });

  router.serve(replayDecision, async ({ params, body, caller, correlationId }) => {
    const recorded = (await records.find([params.id])).get(params.id);
    const facts = recorded === undefined ? undefined : await records.factsOf(recorded);
    const controllers = facts?.agent?.controllers ?? [];
    const wanted = body?.version === undefined ? "own" : "full";
    const viewer = await parts.viewers.classOf(parts.pepOf(caller), params.id, recorded, controllers, correlationId, wanted);
    if (recorded === undefined || viewer === "none") throw new Problem("not_found");
    // What another version would say is for who may see all decisions; one's own are asked by the one that decides.
    if (viewer !== "full" && (viewer !== "own" || body?.version !== undefined))
      await parts.viewers.refuse(parts.pepOf(caller), params.id, correlationId, wanted);
    const current = engines.current();
    const version =
      body?.version === undefined
        ? current.version
        : (await quietly(await parts.sightOf(caller), rollouts.requireAskable(body.version))).version;
    const engine = version === current.version ? current.engine : await engines.of(version);
    const now = engine === undefined ? undefined : decideAgain(recorded, facts, engine, records.emptyContext);
    if (now === undefined) throw new Problem("not_replayable");
    const before = outcomeOf(recorded.item);
    const samePolicies = before.policies.join() === now.policies.join();
    return {
      decision_id: recorded.decision_id,
      // oxlint-disable-next-line unicorn/no-thenable -- a record, never a function
      then: { policy_version: recorded.policy_version, ...sideOf(before) },
      now: { policy_version: version, ...sideOf(now) },
      changed: [...differences(before, now), ...(samePolicies ? [] : (["policies"] as const))],
    };
  });
};
