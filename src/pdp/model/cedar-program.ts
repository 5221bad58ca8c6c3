import { createRequire } from "node:module";
import type * as Cedar from "@cedar-policy/cedar-wasm/nodejs";
import { Problem } from "#contract/problem.ts";

const NAME = "@cedar-policy/cedar-wasm/nodejs";
const require = createRequire(import.meta.url);
const load = (): typeof Cedar => require(NAME) as typeof Cedar;

let program = load();
let generation = 1;

/** How often Cedar was loaded. What was parsed into it ahead of a question is gone with the program that it was parsed into. */
export const cedarGeneration = (): number => generation;

/** A stack that ran over, or a panic: whatever the program holds from then on is not to be trusted. */
const isBroken = (error: unknown): boolean => error instanceof Error && (error.name === "RuntimeError" || error instanceof RangeError);

/**
 * One function of Cedar. If the program breaks down in it, the next call meets a fresh one (some milliseconds) and this one throws
 * `engine_failed`: what one caller sent takes the decisions of nobody else away.
 */
const guarded = <Given extends readonly unknown[], Answer>(pick: (cedar: typeof Cedar) => (...given: Given) => Answer) => {
  return (...given: Given): Answer => {
    try {
      return pick(program)(...given);
    } catch (cause) {
      if (isBroken(cause)) {
        delete require.cache[require.resolve(NAME)];
        program = load();
        generation += 1;
      }
      throw new Problem("engine_failed", { cause });
    }
  };
};

export const policySetTextToParts = guarded((cedar) => cedar.policySetTextToParts);
export const policyToJson = guarded((cedar) => cedar.policyToJson);
export const preparsePolicySet = guarded((cedar) => cedar.preparsePolicySet);
export const preparseSchema = guarded((cedar) => cedar.preparseSchema);
export const schemaToJsonWithResolvedTypes = guarded((cedar) => cedar.schemaToJsonWithResolvedTypes);
export const statefulIsAuthorized = guarded((cedar) => cedar.statefulIsAuthorized);
export const validate = guarded((cedar) => cedar.validate);
