import assert from "node:assert/strict";
import { silentLog } from "#telemetry/log.ts";
import type { Database } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { testEvents } from "#testing/events.ts";
import { until } from "#testing/until.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { createConfigWatch } from "./config-watch.ts";

const event = (kind: string, tenant = "tenant:acme"): EventDraft => ({
  type: `thing.${kind}`,
  tenant,
  stream: "config",
  kind,
  key: "k",
  data: {},
});

forEachDatabase(
  "who watches hears of what moved, of the kinds that count, and of nothing while nothing moves",
  ["events"],
  async (t, database) => {
    let heads = 0;
    const counted: Database = {
      ...database,
      run: (text, values) => {
        if (text.name === "events.heads") heads += 1;
        return database.run(text, values);
      },
    };
    const { bus, change } = await testEvents(t, counted);
    const tell = (...drafts: EventDraft[]) => change(async () => ({ result: undefined, events: drafts }));
    const watch = createConfigWatch({ bus, kinds: new Set(["graph", "policy"]), log: silentLog });
    const seen = bus.subscribe({ stream: "config", tenant: "tenant:acme", subject: [], seesAll: true })[Symbol.asyncIterator]();
    await seen.next();
    let moved = 0;
    const stops = [1, 2].map(() => watch.watch("tenant:acme", () => void (moved += 1)));
    await until(() => moved === 2);
    moved = 0;

    // Several rounds of the bus's clock, which looks each time where the stream stands.
    const read = heads;
    await until(() => heads >= read + 3);
    assert.equal(moved, 0, "nothing moved");

    await tell(event("budget"), event("graph", "tenant:globex"));
    await seen.next();
    assert.equal(moved, 0, "nothing of what counts, here");
    await tell(event("graph"));
    await until(() => moved === 2);
    stops[0]?.();
    await tell(event("policy"));
    await until(() => moved === 3);
    stops[1]?.();
    await tell(event("policy"));
    for (let reported = 0; reported < 3; reported += 1) await seen.next();
    assert.equal(moved, 3);
    await seen.return?.(undefined);
  },
);
