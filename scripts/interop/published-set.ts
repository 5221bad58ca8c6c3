import { z } from "zod";
import type { Expectation, InteropCase } from "./interop-case.ts";

/**
 * Conformance sets as openid/authzen publishes them: lists of `{request, expected}` under `evaluation`, `evaluations` or
 * `search`, or a bare list of them. The kind of a search shows in what its request leaves out.
 */
const members = z.record(z.string(), z.unknown());
const row = z.looseObject({ request: members, expected: z.unknown() });
const published = z
  .object({ evaluation: z.array(row).optional(), evaluations: z.array(row).optional(), search: z.array(row).optional() })
  .refine((sets) => Object.values(sets).some((rows) => rows !== undefined));
const results = z.strictObject({ results: z.array(z.unknown()) });

const isWhole = (entity: unknown): boolean => typeof entity === "object" && entity !== null && "id" in entity;

const searchPath = (request: Readonly<Record<string, unknown>>): string =>
  `/access/v1/search/${!("action" in request) ? "action" : isWhole(request["subject"]) ? "resource" : "subject"}`;

const shapeOf = (request: Readonly<Record<string, unknown>>, expected: unknown): { path: string; expect: Expectation } | undefined => {
  if (typeof expected === "boolean") return { path: "/access/v1/evaluation", expect: { status: 200, body: { decision: expected } } };
  if (Array.isArray(expected)) return { path: "/access/v1/evaluations", expect: { status: 200, body: { evaluations: expected } } };
  const search = results.safeParse(expected);
  if (search.success) return { path: searchPath(request), expect: { status: 200, results: search.data.results } };
  if (typeof expected === "object" && expected !== null && "decision" in expected)
    return { path: "/access/v1/evaluation", expect: { status: 200, body: expected } };
  return undefined;
};

/** Facts of a scenario, published beside its cases: things with an id, and nothing that is asked. */
const facts = z.array(members.refine((thing) => "id" in thing && !("request" in thing) && !("expected" in thing))).min(1);

/** Whether a published file holds the facts of a scenario instead of cases. */
export const isFacts = (value: unknown): boolean => facts.safeParse(value).success;

/** The cases of a published file, or why there are none. */
export const readPublishedSet = (set: string, value: unknown): readonly InteropCase[] | string => {
  const bare = z.array(row).min(1).safeParse(value);
  const read = published.safeParse(bare.success ? { evaluation: bare.data } : value);
  if (!read.success) return "holds no requests with expected answers";
  const rows = [...(read.data.evaluation ?? []), ...(read.data.evaluations ?? []), ...(read.data.search ?? [])];
  const cases: InteropCase[] = [];
  for (const [index, { request, expected }] of rows.entries()) {
    const shape = shapeOf(request, expected);
    if (shape === undefined) return `answer ${index + 1} is of no kind that is known here`;
    cases.push({
      set,
      name: `${index + 1} ${shape.path.slice("/access/v1/".length)}`,
      method: "POST",
      path: shape.path,
      headers: {},
      body: JSON.stringify(request),
      expect: shape.expect,
    });
  }
  return cases;
};
