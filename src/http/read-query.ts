import type { Endpoint } from "#contract/endpoint.ts";
import { inputCodes } from "#contract/endpoint-problems.ts";
import { Problem, type Fault } from "#contract/problem.ts";

/** Parameters of a query as a form has them, each at most once. Throws the service's code of a repeated one. */
export const readQuery = (url: URL, { service }: Pick<Endpoint, "service">): Record<string, string> => {
  // Without a prototype, or a parameter __proto__ would be none.
  const seen = Object.create(null) as Record<string, string>;
  const faults: Fault[] = [];
  for (const [name, value] of url.searchParams) {
    if (Object.hasOwn(seen, name)) faults.push({ path: `query.${name}`, message: "is given twice" });
    seen[name] = value;
  }
  if (faults.length > 0) throw new Problem(inputCodes[service].repeatedParameter, { errors: faults });
  return { ...seen };
};
