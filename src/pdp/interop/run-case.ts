import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Expectation, InteropCase } from "./interop-case.ts";
import { discoveryFaults } from "./discovery.ts";

export interface Target {
  /** Base address of the decision point, without a slash at its end. */
  readonly url: string;
  readonly token: string | undefined;
  readonly send: (request: Request) => Promise<Response>;
}

interface Got {
  readonly status: number;
  readonly body: unknown;
  readonly faults: readonly string[];
}

type Members = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);
const show = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
};

const ask = async (one: InteropCase, target: Target, body: string | undefined): Promise<Got> => {
  const requestId = randomUUID();
  const headers: Record<string, string> = {
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(target.token === undefined ? {} : { authorization: `Bearer ${target.token}` }),
    "x-request-id": requestId,
    ...one.headers,
  };
  const response = await target.send(
    new Request(`${target.url}${one.path}`, { method: one.method, headers, ...(body === undefined ? {} : { body }) }),
  );
  const text = await response.text();
  const faults: string[] = [];
  const wanted = one.expect.status;
  if (response.status !== wanted) faults.push(`status ${response.status} instead of ${wanted}: ${show(text)}`);
  if (response.headers.get("x-request-id") !== headers["x-request-id"])
    faults.push(`X-Request-ID came back as ${show(response.headers.get("x-request-id"))}`);
  const type = response.headers.get("content-type") ?? "";
  if (response.status === 200 && !/^application\/json *(?:;|$)/i.test(type)) faults.push(`Content-Type is ${show(type)}`);
  try {
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text), faults };
  } catch {
    return { status: response.status, body: text, faults: wanted === 200 ? [...faults, "the body is not JSON"] : faults };
  }
};

/** As sets: each side holds what the other holds, as often. */
const isSameSet = (one: readonly unknown[], other: readonly unknown[]): boolean => {
  const left = [...other];
  for (const item of one) {
    const at = left.findIndex((candidate) => isDeepStrictEqual(candidate, item));
    if (at === -1) return false;
    left.splice(at, 1);
  }
  return left.length === 0;
};

const decisionOf = (value: unknown): unknown => (isObject(value) ? value["decision"] : undefined);
const isDecision = (value: unknown): boolean =>
  typeof decisionOf(value) === "boolean" && (!isObject(value) || value["context"] === undefined || isObject(value["context"]));

const bodyFaults = (expect: Expectation, body: unknown): readonly string[] => {
  const faults: string[] = [];
  const differs = (wanted: unknown): void => void faults.push(`answered ${show(body)} instead of ${show(wanted)}`);
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
    if (missing.length > 0) faults.push(`${show(missing)} is missing from ${show(body)}`);
  }
  return faults;
};

/** Follows the tokens to the end; the second page and all behind it are asked for by the token alone. */
const pageFaults = async (one: InteropCase, target: Target, limit: number): Promise<readonly string[]> => {
  const question = JSON.parse(one.body ?? "{}") as Members;
  const wanted = one.expect.results ?? [];
  const seen: unknown[] = [];
  let page: Members = { limit };
  for (let pages = 0; pages <= wanted.length; pages += 1) {
    const got = await ask(one, target, JSON.stringify({ ...question, page }));
    if (got.faults.length > 0) return got.faults;
    const results = isObject(got.body) ? got.body["results"] : undefined;
    const next = isObject(got.body) ? got.body["page"] : undefined;
    if (!Array.isArray(results) || !isObject(next) || typeof next["next_token"] !== "string") return [`no page: ${show(got.body)}`];
    if (results.length > limit) return [`${results.length} results on a page of ${limit}`];
    seen.push(...(results as readonly unknown[]));
    if (next["next_token"] === "") return isSameSet(seen, wanted) ? [] : [`pages hold ${show(seen)} instead of ${show(wanted)}`];
    page = { token: next["next_token"] };
  }
  return [`the pages do not end: ${show(seen)}`];
};

/** What differs from the wanted answer; nothing: the case passes. */
export const runCase = async (one: InteropCase, target: Target): Promise<readonly string[]> => {
  try {
    if (one.expect.pagesOf !== undefined) return await pageFaults(one, target, one.expect.pagesOf);
    const got = await ask(one, target, one.body);
    // What else stands in an answer of another status says nothing more.
    if (got.status !== one.expect.status) return got.faults;
    const discovery = one.expect.discovery === true && got.status === 200 ? await discoveryFaults(got.body, target) : [];
    return [...got.faults, ...bodyFaults(one.expect, got.body), ...discovery];
  } catch (error) {
    return [`no answer: ${error instanceof Error ? error.message : String(error)}`];
  }
};
