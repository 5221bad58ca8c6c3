import { z } from "zod";
import { said } from "#parsing/said.ts";
import { millisecondsOf } from "#crud/documents/duration.ts";

const part = (name: string) => said(z.int().min(0).max(1e9), `How many ${name}.`, 1);
const inline = z
  .strictObject({
    days: part("days"),
    hours: part("hours"),
    minutes: part("minutes"),
    seconds: part("seconds"),
    milliseconds: part("milliseconds"),
  })
  .partial()
  .refine((parts) => Object.keys(parts).length > 0, "must have a part");

/** The days of a week, which ISO 8601 writes alone. */
const inDays = (text: string): string => text.replace(/^P(\d{1,4})W$/, (_whole, weeks: string) => `P${Number(weeks) * 7}D`);

/** A duration of the DSL, ISO 8601 or an object of parts, within bounds; the value is milliseconds. */
export const dslDuration = (minIso: string, maxIso: string) => {
  const [min, max] = [millisecondsOf(minIso) ?? 0, millisecondsOf(maxIso) ?? Infinity];
  const message = `must be a duration of ${minIso} to ${maxIso}, of days and smaller`;
  return z.union([z.string(), inline]).transform((given, context) => {
    const { days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0 } = typeof given === "string" ? {} : given;
    const parts = ((days * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000 + milliseconds;
    const value = typeof given === "string" ? millisecondsOf(inDays(given)) : parts;
    if (value !== undefined && value >= min && value <= max) return value;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });
};
