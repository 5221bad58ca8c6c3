import { z } from "zod";
import type { Rate } from "#http/token-buckets.ts";

/** Classes of requests that share a limit. What is counted, and for whom, is said in `rate-limit.ts`. */
export const rateClasses = ["login", "anonymous", "ingest", "session", "bearer"] as const;
export type RateClass = (typeof rateClasses)[number];

export type Rates = Readonly<Record<RateClass, Rate>>;

export const defaultRates: Rates = {
  login: { perSecond: 10 / 60, burst: 10 },
  anonymous: { perSecond: 20, burst: 100 },
  ingest: { perSecond: 10, burst: 50 },
  session: { perSecond: 100, burst: 200 },
  bearer: { perSecond: 100, burst: 200 },
};

const RATE = /^([a-z]+)=([1-9][0-9]{0,6})\/(s|min)(?::([1-9][0-9]{0,6}))?$/;

/**
 * `login=30/min,session=50/s:100`: class, requests a second or minute, and after the colon how many at once (unset: as many
 * as in that second or minute). A class that is not named keeps its default.
 */
export const parseRates = (text: string): Rates | string => {
  const rates: Record<RateClass, Rate> = { ...defaultRates };
  const seen = new Set<string>();
  for (const item of text.split(",").map((part) => part.trim())) {
    if (item === "") continue;
    const [, name, count, unit, burst] = RATE.exec(item) ?? [];
    const known = rateClasses.find((one) => one === name);
    if (known === undefined || count === undefined)
      return `must be items like session=100/s:200 or login=10/min, of ${rateClasses.join(", ")}`;
    if (seen.has(known)) return `names ${known} twice`;
    seen.add(known);
    rates[known] = { perSecond: Number(count) / (unit === "min" ? 60 : 1), burst: Number(burst ?? count) };
  }
  return rates;
};

/** The setting's schema: text in, rates out. */
export const ratesSchema = (): z.ZodType<Rates> =>
  z.string().transform((text, context) => {
    const read = parseRates(text);
    if (typeof read !== "string") return read;
    context.addIssue({ code: "custom", message: read });
    return z.NEVER;
  }) as unknown as z.ZodType<Rates>;
