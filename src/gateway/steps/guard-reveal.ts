import { Problem } from "#contract/problem.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import type { Recognised } from "./recognise.ts";

export interface RevealGuard {
  readonly isAllowed: boolean;
  /** Keeps secret values out of browsers unless Sallyport allows a person to see them. Throws `reveal_disabled`. */
  guard(inbound: Pick<Inbound, "method" | "target">, who: Pick<Recognised, "kind">): void;
}

/** Reads that answer a secret's value. */
const values: ReadonlySet<string> = new Set(["/api/secrets", "/api/secrets/value"]);

export const createRevealGuard = (isAllowed: boolean): RevealGuard => ({
  isAllowed,
  guard: (inbound, who) => {
    const isRead = inbound.method === "GET" || inbound.method === "HEAD";
    if (!isAllowed && who.kind === "session" && isRead && values.has(inbound.target.path)) throw new Problem("reveal_disabled");
  },
});
