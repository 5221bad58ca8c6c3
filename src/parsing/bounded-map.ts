import { z } from "zod";

/** A map in a document with a bound, by names of a shape: what walks it costs by each entry. */
export const boundedMap = <K extends z.ZodType<string, string>, T extends z.ZodType>(name: K, entry: T, max: number) =>
  z
    .record(name, entry)
    .refine((map) => Object.keys(map).length <= max, `must have at most ${max} members`)
    .meta({ maxProperties: max });
