import { createHash } from "node:crypto";
import { differenceClass, type DifferenceClass } from "#contract/replay.ts";
import { z } from "zod";
import type { Outcome } from "./outcome.ts";

/** One decision that two versions differ in. */
export interface Difference {
  readonly decisionId: string;
  readonly at: string;
  readonly type: string;
  readonly action: string;
  readonly subject: string;
  readonly agent?: string;
  /** Absent for a secret. */
  readonly resourceId?: string;
  readonly active: Outcome;
  readonly other: Outcome;
}

type Sample = NonNullable<DifferenceClass["sample"]>;

const MAX_SAMPLES = 20;

const keyOf = ({ type, action, active, other }: Pick<Difference, "type" | "action" | "active" | "other">): string =>
  createHash("sha256")
    .update(JSON.stringify([type, action, active, other]))
    .digest("base64url")
    .slice(0, 32);

/** An outcome as it goes on the wire. */
export const sideOf = ({ decision, reason, obligations, policies }: Outcome) => ({
  decision,
  reason,
  obligations: [...obligations],
  policies: [...policies],
});

/** Two samples in one, each who-and-what once, the earlier first. */
export const mergeSamples = (one: Sample, other: Sample): Sample => {
  const seen = new Set<string>();
  return [...one, ...other]
    .filter(({ subject, agent, resource_id: id }) => {
      const key = JSON.stringify([subject, agent, id]);
      return !seen.has(key) && seen.add(key) !== undefined;
    })
    .slice(0, MAX_SAMPLES);
};

/** Differences gathered by their kind: what was asked for, and both answers. */
export interface DifferenceClasses {
  /** False: as many kinds as are kept are there already, and this is another. */
  add(difference: Difference): boolean;
  readonly entries: ReadonlyMap<string, DifferenceClass>;
}

export const createClasses = (max: number, before: Readonly<Record<string, DifferenceClass>> = {}): DifferenceClasses => {
  const entries = new Map(Object.entries(before));
  return {
    entries,
    add: (difference) => {
      const key = keyOf(difference);
      const held = entries.get(key);
      if (held === undefined && entries.size >= max) return false;
      const { decisionId, at, subject, agent, resourceId } = difference;
      const sample: Sample = [{ decision_id: decisionId, subject, agent, resource_id: resourceId }];
      entries.set(key, {
        resource_type: difference.type,
        action: difference.action,
        active: sideOf(difference.active),
        other: sideOf(difference.other),
        count: (held?.count ?? 0) + 1,
        first_seen: held === undefined || at < held.first_seen ? at : held.first_seen,
        last_seen: held === undefined || at > held.last_seen ? at : held.last_seen,
        sample: held === undefined ? sample : mergeSamples(held.sample ?? [], sample),
      });
      return true;
    },
  };
};

export const storedClasses = z.record(z.string(), differenceClass);
