import {
  createRollout,
  deleteRollout,
  listRollouts,
  promoteRollout,
  readRollout,
  rollBack,
  rolloutDifferences,
  rolloutMatrix,
} from "#contract/rollouts.ts";
import { tagsOf } from "#http/entity-tags.ts";
import { answer, type Router } from "#http/serve.ts";
import type { Caller } from "#authn/model/caller.ts";
import { shownFiles } from "#pdp/bundle/policy-files.ts";
import { epochTag } from "#pdp/lifecycle/rollout/pointer.ts";
import { shownVersion } from "#pdp/lifecycle/rollout/version-store.ts";
import type { Serving } from "#pdp/context/serving.ts";
import { pageOf } from "#authn/sealing/sealed-cursors.ts";

type RolloutEndpoints = Pick<Serving, "guard" | "rollouts" | "shadow" | "cursors">;

/** Versions over HTTP: drafted, looked at, put in the shadow, made to decide, taken back. */
export const serveRollouts = (router: Router<Caller>, { guard, rollouts, shadow, cursors }: RolloutEndpoints): void => {
  const tagNow = async (): Promise<{ readonly etag: string }> => ({ etag: epochTag((await rollouts.requirePointer()).epoch) });
  const ifMatchOf = (request: Request): string | null => tagsOf(request.headers, "if-match");

  router.serve(listRollouts, async (call) => {
    await guard(call, "view_all");
    const { state, limit, cursor } = call.query;
    const bound = `rollouts ${call.caller.sub} ${state ?? ""}`;
    const before = cursor === undefined ? undefined : BigInt(cursors.open(cursor, bound).index);
    const { page, last } = pageOf(await rollouts.list(state, before, limit + 1), limit);
    const nextCursor = last && cursors.seal({ callId: "rollouts", index: Number(last.seq) }, bound);
    return answer({ rollouts: page.map(shownVersion), nextCursor }, { headers: await tagNow() });
  });

  router.serve(createRollout, async (call) => {
    const { stored, report } = await rollouts.draft(await guard(call, "edit"), call.body, ifMatchOf(call.request));
    return answer({ rollout: shownVersion(stored), report }, { headers: await tagNow() });
  });

  router.serve(readRollout, async (call) => {
    await guard(call, "view_all");
    const stored = await rollouts.requireVersion(call.params.version);
    const { files, report } = await rollouts.contentOf(stored.version);
    return answer({ ...shownVersion(stored), files: shownFiles(files), report }, { headers: await tagNow() });
  });

  router.serve(deleteRollout, async (call) => {
    await rollouts.drop(await guard(call, "edit"), call.params.version, ifMatchOf(call.request));
    return undefined;
  });

  router.serve(rolloutMatrix, async (call) => {
    await guard(call, "view_all");
    return answer(await rollouts.matrix(call.params.version, call.query.against), { headers: await tagNow() });
  });

  router.serve(rolloutDifferences, async (call) => {
    const admin = await guard(call, "view_all");
    const { version } = await rollouts.requireVersion(call.params.version);
    const { classes, ...totals } = await shadow.read(version, call.caller.tenant);
    // Counts stand without the samples: a sign-in that would show them is not asked for.
    const sees = await admin.seesDecisions();
    return { version, ...totals, classes: classes.map(({ sample, ...kind }) => (sees ? { ...kind, sample } : kind)) };
  });

  router.serve(promoteRollout, async (call) =>
    answer(shownVersion(await rollouts.promote(await guard(call, "activate"), call.params.version, call.body, ifMatchOf(call.request))), {
      headers: await tagNow(),
    }),
  );

  router.serve(rollBack, async (call) => {
    const admin = await guard(call, "activate");
    const stored = await rollouts.rollBack(admin, call.params.version, call.body?.message, ifMatchOf(call.request));
    return answer(shownVersion(stored), { headers: await tagNow() });
  });
};
