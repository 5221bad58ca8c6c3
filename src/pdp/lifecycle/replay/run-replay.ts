import { setImmediate as nextTurn } from "node:timers/promises";
import type { Facts } from "#contract/facts.ts";
import { createClasses } from "#pdp/lifecycle/compare/difference-classes.ts";
import { countIn, outcomeOf, type Outcome } from "#pdp/lifecycle/compare/outcome.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import type { DecisionLog } from "#pdp/records/decision-log.ts";
import type { Recorded } from "#pdp/records/record.ts";
import { decideAgain } from "./decide-again.ts";
import type { Replay, ReplayProgress } from "./replay-store.ts";

const PER_PAGE = 200;
const SLICE_MS = 8;
const MAX_CLASSES = 500;

const fits = ({ item }: Recorded, { action, decision }: Replay["filter"]): boolean =>
  (action === undefined || action === item.action || action === `${item.type}/${item.action}`) &&
  (decision === undefined || decision === item.decision);

/**
 * Decides recorded decisions again by another version, newest first, from where the progress says. `save` is called after
 * every page of calls and says whether to go on, so that nothing is done twice and a restart goes on where it was.
 */
export const runReplay = async (
  replay: Replay,
  engine: Engine,
  records: DecisionLog,
  save: (progress: ReplayProgress, done: boolean) => Promise<boolean>,
): Promise<void> => {
  const { classes: before, ...rest } = replay.progress;
  const counts = { ...rest, tries: 0 };
  const classes = createClasses(MAX_CLASSES, before);

  const compare = (recorded: Recorded, now: Outcome | undefined): void => {
    counts.evaluated += 1;
    const { item } = recorded;
    const then = outcomeOf(item);
    if (now === undefined) counts.not_replayable += 1;
    else if (countIn(counts, then, now)) {
      const kept = classes.add({
        decisionId: recorded.decision_id,
        at: recorded.decided_at,
        type: item.type,
        action: item.action,
        subject: recorded.subject,
        agent: recorded.agent,
        resourceId: item.id,
        active: then,
        other: now,
      });
      counts.truncated ||= !kept;
    }
  };

  for (;;) {
    const { from, to, subject } = replay.filter;
    const { recorded, next } = await records.page({ tenant: replay.tenant, before: counts.before, subject, from, to, limit: PER_PAGE });
    const wanted = recorded.filter((one) => fits(one, replay.filter)).slice(0, replay.most - counts.evaluated);
    const facts: ReadonlyMap<string, Facts> = await records.factsOfAll(wanted);
    let started = performance.now();
    for (const one of wanted) {
      compare(one, decideAgain(one, one.item.facts === undefined ? undefined : facts.get(one.item.facts), engine, records.emptyContext));
      if (performance.now() - started < SLICE_MS) continue;
      await nextTurn();
      started = performance.now();
    }
    if (next !== undefined) counts.before = next;
    const done = next === undefined || counts.evaluated >= replay.most;
    if (!(await save({ ...counts, classes: Object.fromEntries(classes.entries) }, done)) || done) return;
  }
};
