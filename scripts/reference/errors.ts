import { STATUS_CODES } from "node:http";
import { problemCodes, type ProblemCode } from "#contract/problem.ts";
import { problemDetails } from "#contract/problem-details.ts";
import { table, wrap } from "./markdown.ts";

const INTERNAL_ERROR = -32603;

const page = (): string => {
  const byStatus = Map.groupBy(Object.keys(problemCodes) as ProblemCode[], (code) => problemCodes[code].status);
  return [
    "# Errors",
    "",
    wrap(
      "`npm run docs` makes this page from the table of problem codes. An error is `application/problem+json` (RFC 9457); its `code` is one of these. " +
        "A tool call answers a JSON-RPC error instead, with the number of the second column and the same `code` in its `data`. " +
        "`errors` of a problem names each place, at most 50. `correlation_id` finds the request in logs and in the audit log.",
    ),
    ...[...byStatus]
      .toSorted(([one], [other]) => one - other)
      .flatMap(([status, codes]) => [
        "",
        `## ${status} ${STATUS_CODES[status] ?? ""}`.trimEnd(),
        "",
        ...table(
          ["code", "JSON-RPC", "title", "what helps"],
          codes.toSorted().map((code) => {
            const { title, rpc } = problemCodes[code] as { readonly title: string; readonly rpc?: number };
            return [`\`${code}\``, String(rpc ?? INTERNAL_ERROR), title, problemDetails[code]];
          }),
        ),
      ]),
    "",
  ].join("\n");
};

/** Every problem code, by status. File name to text. */
export const errorFiles = (): ReadonlyMap<string, string> => new Map([["errors.md", page()]]);
