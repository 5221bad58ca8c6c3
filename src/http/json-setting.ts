import { z } from "zod";
import { Problem } from "#contract/problem.ts";
import { parseStrictJson } from "./strict-json.ts";

/** A setting's JSON, which has one reading. Throws `RangeError` whose message says what is wrong with it. */
export const readJsonSetting = (text: string): unknown => {
  try {
    return parseStrictJson(text);
  } catch (cause) {
    const isRepeated = cause instanceof Problem && cause.code === "duplicate_member";
    throw new RangeError(isRepeated ? "names a member twice in one object" : "is not JSON", { cause });
  }
};

/** JSON of this shape; each fault is told with its place in the text. */
export const jsonText = <T>(shape: z.ZodType<T>): z.ZodType<T> =>
  z.string().transform((text, context) => {
    let value: unknown;
    try {
      value = readJsonSetting(text);
    } catch (error) {
      context.addIssue({ code: "custom", message: error instanceof RangeError ? error.message : "cannot be read" });
      return z.NEVER;
    }
    const read = shape.safeParse(value);
    if (read.success) return read.data;
    for (const issue of read.error.issues) context.addIssue({ code: "custom", message: `${issue.path.join(".")} ${issue.message}`.trim() });
    return z.NEVER;
  }) as unknown as z.ZodType<T>;
