import { isDeepStrictEqual } from "node:util";
import { isObject } from "#contract/is-object.ts";
import type { InteropCase } from "./interop-case.ts";

type Members = Readonly<Record<string, unknown>>;
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/** As sets: each side holds what the other holds, as often. */
export const isSameSet = (one: readonly unknown[], other: readonly unknown[]): boolean => {
  const left = [...other];
  for (const item of one) {
    const at = left.findIndex((candidate) => isDeepStrictEqual(candidate, item));
    if (at === -1) return false;
    left.splice(at, 1);
  }
  return left.length === 0;
};

const searchedIn = /\/search\/(subject|resource|action)$/;

/** The type that is searched for: every result is of it. */
const typeAsked = (kind: string, body: string | undefined): unknown => {
  const entity = (JSON.parse(body ?? "{}") as Members)[kind];
  return isObject(entity) ? entity["type"] : undefined;
};

const pageIssues = (answer: Members): readonly string[] => {
  const { page } = answer;
  if (page === undefined) return [];
  if (!isObject(page)) return ["page is no object"];
  return [
    ...(Object.keys(answer)[0] === "page" ? [] : ["page is not the first member"]),
    ...(typeof page["next_token"] === "string" ? [] : ["page has no next_token"]),
    ...["count", "total"]
      .filter((name) => page[name] !== undefined && !isCount(page[name]))
      .map((name) => `page.${name} is no number of results`),
    ...(page["properties"] === undefined || isObject(page["properties"]) ? [] : ["page.properties is no object"]),
  ];
};

const searchIssues = (kind: string, sent: string | undefined, answer: unknown): readonly string[] => {
  if (!isObject(answer) || !Array.isArray(answer["results"])) return ["the answer has no results"];
  const type = kind === "action" ? undefined : typeAsked(kind, sent);
  const isFit = (result: unknown): boolean =>
    isObject(result) && (kind === "action" ? isText(result["name"]) : isText(result["id"]) && result["type"] === type);
  return [
    ...(answer["results"].every(isFit) ? [] : [`a result is no ${kind} of what is searched`]),
    ...(answer["context"] === undefined || isObject(answer["context"]) ? [] : ["context is no object"]),
    ...pageIssues(answer),
  ];
};

/** What is wrong with the form of a good answer, whatever it says: sections 6.2, 7.2 and 8.3 of the standard. */
export const shapeIssues = (one: Pick<InteropCase, "path" | "body">, answer: unknown): readonly string[] => {
  const kind = searchedIn.exec(one.path)?.[1];
  if (kind !== undefined) return searchIssues(kind, one.body, answer);
  return isObject(answer) && "evaluations" in answer && "decision" in answer ? ["a decision stands beside evaluations"] : [];
};
