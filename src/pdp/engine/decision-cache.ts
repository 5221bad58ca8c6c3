import { hash } from "node:crypto";
import { createTtlCache } from "#http/ttl-cache.ts";
import type { Engine, Judgement } from "./engine.ts";
import type { Question } from "#pdp/model/question.ts";

/** What one decision is asked under. */
export interface CacheMoment {
  readonly version: string;
  readonly graphVersion: number;
}

export interface DecisionCache {
  /**
   * The engine with a memory for one question: a judgement is taken from it only where Cedar would see exactly the same, byte
   * for byte, under the same policies and the same graph. So nothing in it can be out of date; the time limit bounds
   * what a fault elsewhere could do. `wasHit` is true when no policy had to be asked.
   */
  over(engine: Engine, question: Question, moment: CacheMoment): { readonly engine: Engine; readonly wasHit: () => boolean };
}

export const MAX_KEPT = 50_000;

/** Keeps judgements for at most so many seconds, and none beyond the end of a delegation that it rests on. */
export const createDecisionCache = (parts: {
  readonly seconds: number;
  readonly maxKept?: number;
  readonly now: () => Date;
}): DecisionCache => {
  const kept = createTtlCache<Judgement>(parts.maxKept ?? MAX_KEPT, parts.now);

  return {
    over: (engine, question, { version, graphVersion }) => {
      let asked = 0;
      let hits = 0;
      const now = parts.now().getTime();
      const ends = question.facts.delegation?.expires_at;
      const end = ends === undefined || ends === null ? Number.POSITIVE_INFINITY : Date.parse(ends);
      const judge: Engine["judge"] = (one, omit) => {
        asked += 1;
        // Questions about what would be are rare, and not decisions.
        if (omit !== undefined && omit.size > 0) return engine.judge(one, omit);
        const request = engine.requestOf(one);
        // Made the same way each time, members in the schema's order and lists in that of the facts, texts and whole numbers alone: what has
        // one text is one question, and what is the same in another order is at worst asked again.
        const key = hash("sha256", `${version}\n${graphVersion}\n${JSON.stringify(request)}`, "base64");
        const held = kept.get(key);
        if (held !== undefined && now < end) {
          hits += 1;
          return held;
        }
        const judgement = engine.judgeRequest(one.pair.key, request);
        const until = Math.min(now + parts.seconds * 1000, Number.isNaN(end) ? now : end);
        kept.set(key, judgement, until);
        return judgement;
      };
      return { engine: { ...engine, judge }, wasHit: () => asked > 0 && hits === asked };
    },
  };
};
