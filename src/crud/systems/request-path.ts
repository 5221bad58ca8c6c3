import { z } from "zod";

/** True for what names another folder: `.` and `..`, with parameters of the segment too, which servers cut off before they look. */
export const isDotSegment = (segment: string): boolean => /^\.{1,2}(?:;|$)/.test(segment);

/** What may stand below `baseUrl`: it is sent as it is, but for its placeholders. */
export const requestPath = z
  .string()
  .regex(
    /^\/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|\{[^{}/?#\s]{1,200}\})*$/,
    "must be / with plain characters and {placeholders}, without query, fragment and percent-encoding",
  )
  .refine((path) => !path.split("/").some(isDotSegment), "must not have . or .. as a segment: it would leave what baseUrl names");
