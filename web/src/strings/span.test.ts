import assert from "node:assert/strict";
import { test } from "node:test";
import { formatSpan } from "./span.ts";

test("a span is shown in its largest whole unit, to a tenth", () => {
  const rows = [
    [0, /^0\D/],
    [240, /^0[.,]2\D/],
    [59_999, /^60 s/],
    [90_000, /^1[.,]5 min/],
    [6 * 3_600_000, /^6 h/],
    [2.5 * 86_400_000, /^2[.,]5 d/],
  ] as const;
  for (const [milliseconds, text] of rows) assert.match(formatSpan(milliseconds), text);
});
