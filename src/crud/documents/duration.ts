import { z } from "zod";

const pattern = /^P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,3})?)S)?)?$/;

/** Milliseconds of an ISO 8601 duration of days and smaller; undefined if it is none. */
export const millisecondsOf = (text: string): number | undefined => {
  const [whole, days = "0", hours = "0", minutes = "0", seconds = "0"] = pattern.exec(text) ?? [];
  if (whole === undefined || whole === "P") return undefined;
  return Math.round(((Number(days) * 24 + Number(hours)) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000);
};

/** A field that holds a duration within bounds (milliseconds); the value is milliseconds. */
export const duration = (least: number, max: number) =>
  z
    .string()
    .transform((text, context) => {
      const value = millisecondsOf(text);
      if (value === undefined || value < least || value > max) {
        context.addIssue({ code: "custom", message: `must be an ISO 8601 duration of ${least} to ${max} milliseconds` });
        return z.NEVER;
      }
      return value;
    })
    .meta({ "x-type": "duration", pattern: pattern.source, "x-limits": `PT${least / 1000}S to PT${max / 1000}S` });
