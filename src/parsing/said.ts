import type { z } from "zod";

/** A field with its meaning and a value as a file has it: the reference and the schema for editors are made of both. */
export const said = <T extends z.ZodType>(schema: T, description: string, example: unknown): T => schema.meta({ description, example });
