import { evaluate, evaluateMany } from "#contract/authzen.ts";
import type { EndpointShape } from "#contract/endpoint.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { searchAction, searchResource, searchSubject } from "#contract/searches.ts";
import { placeOf } from "#contract/shape-issues.ts";
import type { Router } from "#http/serve.ts";

/** The standard's own: what is wrong with an item of theirs is answered in its place (`parse-ask.ts`). */
const standard: ReadonlySet<EndpointShape> = new Set<EndpointShape>([evaluate, evaluateMany, searchSubject, searchResource, searchAction]);

const isFit = (text: string): boolean => text.isWellFormed() && !text.includes("\0");
const MESSAGE = "holds a NUL or half a surrogate pair";

/** The first text of a value, name or member, that neither a database keeps nor UTF-8 carries. */
const unfitOf = (value: unknown, path: readonly string[]): Issue | undefined => {
  if (typeof value === "string") return isFit(value) ? undefined : { path: placeOf(path), message: MESSAGE };
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, item] of Object.entries(value)) {
    if (!isFit(name)) return { path: placeOf(path), message: `names a member that ${MESSAGE}` };
    const issue = unfitOf(item, [...path, name]);
    if (issue !== undefined) return issue;
  }
  return undefined;
};

/**
 * A router whose handlers get no text that the database would refuse (in a path the router itself takes none): in a query or a body it
 * is bad input (`invalid_query`, `invalid_request`). Not for the standard's evaluations and searches.
 */
export const withFitText = <C>(router: Router<C>): Router<C> => ({
  ...router,
  serve: (endpoint, handler) =>
    standard.has(endpoint)
      ? router.serve(endpoint, handler)
      : router.serve(endpoint, async (call) => {
          const asked = unfitOf(call.query, []);
          if (asked !== undefined)
            throw new Problem("invalid_query", { errors: [{ path: `query.${asked.path.slice(1)}`, message: asked.message }] });
          const sent = unfitOf(call.body, []);
          if (sent !== undefined) throw new Problem("invalid_request", { errors: [sent] });
          return handler(call);
        }),
});
