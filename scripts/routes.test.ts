import assert from "node:assert/strict";
import { test } from "node:test";
import type { Explanation } from "#contract/routes.ts";
import { explanationText } from "./routes/explanation-text.ts";

const refused = (step: "frame" | "canonical_form", code: string): Explanation => ({
  revision: "r",
  candidates: [],
  captures: {},
  steps: [{ step, result: "refuse" }],
  answer: { outcome: "refused", status: 400, code },
});

test("a target is said to have more than one reading only where that is what refused it", () => {
  assert.match(
    explanationText("GET", "/a/%2e", refused("canonical_form", "ambiguous_target")),
    /^canonical +none: the target has more than one reading$/m,
  );
  const unprotected = explanationText("GET", "/x", refused("frame", "not_found"));
  assert.match(unprotected, /^canonical +not looked for: refused before, at frame$/m);
});
