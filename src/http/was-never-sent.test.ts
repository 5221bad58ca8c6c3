import assert from "node:assert/strict";
import test from "node:test";
import { wasNeverSent } from "./was-never-sent.ts";

const coded = (code: string, cause?: unknown): Error => Object.assign(new Error(code, { cause }), { code });
const circle = coded("EPIPE");
circle.cause = circle;
const rows: readonly (readonly [what: string, issue: unknown, isUnsent: boolean])[] = [
  ["refused", coded("ECONNREFUSED"), true],
  ["refused, as fetch says it", new TypeError("fetch failed", { cause: coded("ECONNREFUSED") }), true],
  ["no route", coded("ENETUNREACH"), true],
  [
    "every address refused",
    Object.assign(new AggregateError([coded("ECONNREFUSED"), coded("EADDRNOTAVAIL")]), { code: "ECONNREFUSED" }),
    true,
  ],
  [
    "one address refused, the other broke",
    Object.assign(new AggregateError([coded("ECONNREFUSED"), coded("ECONNRESET")]), { code: "ECONNREFUSED" }),
    false,
  ],
  ["broke on the way", coded("ECONNRESET"), false],
  ["no answer in time", coded("UND_ERR_HEADERS_TIMEOUT"), false],
  ["a cause that is its own", circle, false],
  ["no fault", "ECONNREFUSED", false],
];
for (const [what, issue, isUnsent] of rows)
  test(`${what}: ${isUnsent ? "never sent" : "may have been sent"}`, () => assert.equal(wasNeverSent(issue), isUnsent));
