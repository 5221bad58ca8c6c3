import type { ServiceParts } from "#authn/callers/service-parts.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createClasses, sideOf, type DifferenceClasses } from "#pdp/lifecycle/compare/difference-classes.ts";
import { differences, outcomeBy, outcomeOf } from "#pdp/lifecycle/compare/outcome.ts";
import type { Verdict } from "#pdp/engine/decision-point.ts";
import type { Engines, Version } from "#pdp/engine/engines.ts";
import { readDecision, type ShadowedDecision } from "./shadow-decisions.ts";
import { addSeen, readSeen, type ShadowSeen, type ShadowTotals } from "./shadow-store.ts";

export interface ShadowItem {
  readonly decisionId: string;
  readonly verdict: Verdict;
}

/** A version that decides beside the active one, after the answer; nobody waits for it and nothing depends on it. */
export interface Shadow {
  offer(items: readonly ShadowItem[], at: Date): void;
  /** What it decided otherwise, with what this process has not written yet. */
  read(version: string, tenant: string): ReturnType<typeof readSeen>;
  /** What it made of one decision, as the record shows it; `undefined`: it was not asked, or is not heard of yet. */
  decisionOf(decisionId: string): ReturnType<typeof readDecision>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Decisions that wait for the shadow; beyond it they are dropped and counted. */
const MAX_WAITING = 2_000;
/** Longest that it holds the event loop at a time. */
const SLICE_MS = 4;
const WRITE_MS = 1_000;
const MAX_CLASSES = 500;
/** Decisions kept for their records until the next write; beyond it they are only counted. */
const MAX_DECISIONS = 10_000;

interface Pending extends ShadowTotals {
  readonly tenants: Map<string, DifferenceClasses>;
  readonly decisions: ShadowedDecision[];
}

export const createShadow = (
  parts: Pick<ServiceParts, "database" | "metrics" | "log"> & {
    readonly engines: Engines;
    /** Share of decisions, 0 to 1. */
    readonly sample: number;
    readonly random: () => number;
  },
): Shadow => {
  const { database, metrics, log } = parts;
  const waiting: { readonly shadow: Version; readonly item: ShadowItem; readonly at: Date }[] = [];
  let pending = new Map<string, Pending>();
  let working: Promise<void> | undefined;
  let writing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const pendingOf = (version: string): Pending => {
    const held = pending.get(version) ?? {
      evaluated: 0,
      dropped: 0,
      different: 0,
      tenants: new Map<string, DifferenceClasses>(),
      decisions: [],
    };
    pending.set(version, held);
    timer ??= setTimeout(() => void write(), WRITE_MS).unref();
    return held;
  };

  const decide = ({ shadow, item: { decisionId, verdict }, at }: (typeof waiting)[number]): void => {
    const { question, ask } = verdict;
    const seen = pendingOf(shadow.version);
    seen.evaluated += 1;
    // What was refused before any policy was asked, every version refuses.
    if (question === undefined) return metrics.count("pdp_shadow_total", { result: "same" });
    const active = outcomeOf(verdict);
    const other = outcomeBy(shadow.engine, question, ask.supported);
    if (seen.decisions.length < MAX_DECISIONS)
      seen.decisions.push({ decisionId, at, outcome: { policy_version: shadow.version, ...sideOf(other) } });
    if (differences(active, other).length === 0) return metrics.count("pdp_shadow_total", { result: "same" });
    metrics.count("pdp_shadow_total", { result: "different" });
    seen.different += 1;
    const classes = seen.tenants.get(question.tenant) ?? createClasses(MAX_CLASSES);
    seen.tenants.set(question.tenant, classes);
    classes.add({
      decisionId,
      at: at.toISOString(),
      type: ask.resource.type,
      action: ask.action,
      subject: ask.subject.id,
      agent: ask.agents[0],
      ...(ask.resource.type === "secret" ? {} : { resourceId: ask.resource.id }),
      active,
      other,
    });
  };

  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      // After the answers that are under way.
      await nextTurn();
      const started = performance.now();
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
        try {
          decide(one);
        } catch (cause) {
          metrics.count("pdp_shadow_total", { result: "failed" });
          log.warn("pdp_shadow_failed", { version: one.shadow.version, cause });
        }
        if (performance.now() - started >= SLICE_MS) break;
      }
    }
  };

  const kick = (): void => {
    if (waiting.length === 0) return;
    working ??= work().finally(() => {
      working = undefined;
      kick();
    });
  };

  const write = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const taken = pending;
    pending = new Map();
    writing = writing.then(async () => {
      for (const [version, { tenants, ...totals }] of taken) {
        const seen: ShadowSeen = { ...totals, classes: new Map([...tenants].map(([tenant, { entries }]) => [tenant, entries])) };
        await addSeen(database, version, seen).catch((cause: unknown) => log.warn("pdp_shadow_unwritten", { version, cause }));
      }
    });
    return writing;
  };

  return {
    offer: (items, at) => {
      const { shadow } = parts.engines.current();
      if (shadow === undefined) return;
      for (const item of items) {
        if (parts.sample < 1 && parts.random() >= parts.sample) continue;
        if (waiting.length >= MAX_WAITING) {
          pendingOf(shadow.version).dropped += 1;
          metrics.count("pdp_shadow_total", { result: "dropped" });
        } else waiting.push({ shadow, item, at });
      }
      kick();
    },
    decisionOf: async (decisionId) => {
      // First in, first out: this ends however much is asked meanwhile.
      while (waiting.some(({ item }) => item.decisionId === decisionId)) await nextTurn();
      await write();
      return readDecision(database, decisionId);
    },
    read: async (version, tenant) => {
      while (working !== undefined) await working;
      await write();
      return readSeen(database, version, tenant);
    },
    [Symbol.asyncDispose]: async () => {
      while (working !== undefined) await working;
      await write();
      clearTimeout(timer);
    },
  };
};
