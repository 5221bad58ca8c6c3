import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { isObject } from "#contract/is-object.ts";
import type { Expectation, InteropCase } from "./interop-case.ts";
import { isSameSet, shapeIssues } from "./answer-shape.ts";
import { discoveryIssues } from "./discovery.ts";
import type { Target } from "./target.ts";

interface Got {
  readonly status: number;
  readonly body: unknown;
  readonly issues: readonly string[];
}

type Members = Readonly<Record<string, unknown>>;
const show = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
};

const statusesOf = ({ expect }: InteropCase): readonly number[] => [expect.status].flat();

const ask = async (one: InteropCase, target: Target, body: string | undefined): Promise<Got> => {
  const requestId = randomUUID();
  const headers: Record<string, string> = {
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(target.token === undefined || one.anonymous === true ? {} : { authorization: `Bearer ${target.token}` }),
    accept: "application/json",
    "x-request-id": requestId,
    ...one.headers,
  };
  const bare = { method: one.method, headers };
  const to = `${target.url}${one.path}`;
  const response = await (one.method === "GET"
    ? target.send(new Request(to, bare), body)
    : target.send(new Request(to, { ...bare, ...(body === undefined ? {} : { body }) })));
  const text = await response.text();
  const issues: string[] = [];
  const wanted = statusesOf(one);
  if (!wanted.includes(response.status)) issues.push(`status ${response.status} instead of ${wanted.join(" or ")}: ${show(text)}`);
  if (one.expect.unread !== true && response.headers.get("x-request-id") !== headers["x-request-id"])
    issues.push(`X-Request-ID came back as ${show(response.headers.get("x-request-id"))}`);
  const type = response.headers.get("content-type") ?? "";
  if (response.status === 200 && !/^application\/json *(?:;|$)/i.test(type)) issues.push(`Content-Type is ${show(type)}`);
  for (const [name, pattern] of Object.entries(one.expect.headers ?? {})) {
    const value = response.headers.get(name);
    if (value === null || !new RegExp(pattern).test(value)) issues.push(`${name} is ${show(value)}`);
  }
  try {
    const read: unknown = text === "" ? undefined : JSON.parse(text);
    return { status: response.status, body: read, issues: response.status === 200 ? [...issues, ...shapeIssues(one, read)] : issues };
  } catch {
    return { status: response.status, body: text, issues: wanted.includes(200) ? [...issues, "the body is not JSON"] : issues };
  }
};

const decisionOf = (value: unknown): unknown => (isObject(value) ? value["decision"] : undefined);
const isDecision = (value: unknown): boolean =>
  typeof decisionOf(value) === "boolean" && (!isObject(value) || value["context"] === undefined || isObject(value["context"]));

const bodyFaults = (expect: Expectation, body: unknown): readonly string[] => {
  const issues: string[] = [];
  const differs = (wanted: unknown): void => void issues.push(`answered ${show(body)} instead of ${show(wanted)}`);
  if (expect.body !== undefined && !isDeepStrictEqual(body, expect.body)) differs(expect.body);
  if (expect.decision !== undefined && (!isDecision(body) || decisionOf(body) !== expect.decision)) differs({ decision: expect.decision });
  if (expect.decisions !== undefined) {
    const got = isObject(body) && Array.isArray(body["evaluations"]) ? (body["evaluations"] as readonly unknown[]) : undefined;
    const fits =
      got?.length === expect.decisions.length &&
      expect.decisions.every((wanted, index) => isDecision(got[index]) && (wanted === "any" || decisionOf(got[index]) === wanted));
    if (!fits) differs(expect.decisions);
  }
  const got = isObject(body) && Array.isArray(body["results"]) ? (body["results"] as readonly unknown[]) : undefined;
  if (expect.results !== undefined && expect.pagesOf === undefined) {
    const isExact = got !== undefined && Object.keys(body as Members).length === 1 && isSameSet(got, expect.results);
    if (!isExact) differs({ results: expect.results });
  }
  if (expect.includes !== undefined) {
    const missing = expect.includes.filter((wanted) => got?.some((item) => isDeepStrictEqual(item, wanted)) !== true);
    if (missing.length > 0) issues.push(`${show(missing)} is missing from ${show(body)}`);
  }
  return issues;
};

/** Follows the tokens to the end; the second page and all behind it are asked for by the token, `beside` it what is sent again. */
const pageIssues = async (one: InteropCase, target: Target, limit: number, beside: Members): Promise<readonly string[]> => {
  const question = JSON.parse(one.body ?? "{}") as Members;
  const wanted = one.expect.results ?? [];
  const seen: unknown[] = [];
  let page: Members = { limit };
  for (let pages = 0; pages <= wanted.length; pages += 1) {
    const got = await ask(one, target, JSON.stringify({ ...question, page }));
    if (got.issues.length > 0) return got.issues;
    const results = isObject(got.body) ? got.body["results"] : undefined;
    const next = isObject(got.body) ? got.body["page"] : undefined;
    if (!Array.isArray(results) || !isObject(next) || typeof next["next_token"] !== "string") return [`no page: ${show(got.body)}`];
    if (results.length > limit) return [`${results.length} results on a page of ${limit}`];
    seen.push(...(results as readonly unknown[]));
    if (next["next_token"] === "") return isSameSet(seen, wanted) ? [] : [`pages hold ${show(seen)} instead of ${show(wanted)}`];
    page = { ...beside, token: next["next_token"] };
  }
  return [`the pages do not end: ${show(seen)}`];
};

/** An answer without what may differ from one time to the next: the order of results, and the token that leads on. */
const lastingOf = (body: unknown): readonly [rest: unknown, results: readonly unknown[]] => {
  if (!isObject(body) || !Array.isArray(body["results"])) return [body, []];
  const { results, page, ...rest } = body;
  const goesOn = isObject(page) ? { ...page, next_token: page["next_token"] !== "" } : page;
  return [{ ...rest, page: goesOn }, results as readonly unknown[]];
};

/** The further times of a case that is asked again and again. */
const againFaults = async (one: InteropCase, target: Target, first: unknown): Promise<readonly string[]> => {
  const [rest, results] = lastingOf(first);
  for (let time = 2; time <= (one.expect.again ?? 1); time += 1) {
    const got = await ask(one, target, one.body);
    if (got.issues.length > 0) return got.issues;
    const [ofRest, ofResults] = lastingOf(got.body);
    if (!isDeepStrictEqual(ofRest, rest) || !isSameSet(ofResults, results))
      return [`answered ${show(got.body)} the ${time}. time, and ${show(first)} before`];
  }
  return [];
};

/** What differs from the wanted answer; nothing: the case passes. */
export const runCase = async (one: InteropCase, target: Target): Promise<readonly string[]> => {
  try {
    const limit = one.expect.pagesOf;
    // Clients send the token alone, or the question as it was with the token in it.
    if (limit !== undefined) return [...(await pageIssues(one, target, limit, {})), ...(await pageIssues(one, target, limit, { limit }))];
    const got = await ask(one, target, one.body);
    // What else stands in an answer of another status says nothing more.
    if (!statusesOf(one).includes(got.status)) return got.issues;
    const discovery = one.expect.discovery === true && got.status === 200 ? await discoveryIssues(got.body, target) : [];
    return [...got.issues, ...bodyFaults(one.expect, got.body), ...discovery, ...(await againFaults(one, target, got.body))];
  } catch (error) {
    return [`no answer: ${error instanceof Error ? error.message : String(error)}`];
  }
};
