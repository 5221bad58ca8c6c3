import { MAX_ISSUES, type Issue } from "#contract/problem.ts";
import type { HeldObject } from "./config-kind.ts";
import { etagOf } from "#crud/versions/version-store.ts";

/** Why the newest version does not serve, or what of its upstream does not. */
const issuesOf = ({ issues, prepared }: HeldObject): readonly Issue[] => {
  const refused = issues.length > 0 ? [] : (prepared?.refused?.() ?? []);
  const more = refused.length - MAX_ISSUES;
  return [...issues, ...refused.slice(0, MAX_ISSUES), ...(more > 0 ? [{ path: "/tools", message: `${more} more are not served` }] : [])];
};

/** Whether its newest version serves, and all that its upstream offers. */
export const stateOf = (object: HeldObject): "serving" | "degraded" | "off" | "deleted" => {
  const { prepared, head } = object;
  return issuesOf(object).length > 0 ? "degraded" : head?.text === null ? "deleted" : prepared?.isOff === true ? "off" : "serving";
};
export const tagOf = ({ head }: HeldObject): string => (head === undefined ? "" : etagOf(head));

const problemsOf = ({ prepared }: HeldObject) => (prepared?.problems === undefined ? {} : { problems: [...prepared.problems()] });

/** What a list shows of it. */
export const rowOf = (object: HeldObject) => ({
  name: object.name,
  version: object.head?.version ?? 0,
  etag: tagOf(object),
  state: stateOf(object),
  author: object.head?.author ?? "",
  at: object.head?.at ?? new Date(0).toISOString(),
  ...problemsOf(object),
  ...(issuesOf(object).length > 0 ? { degraded: { errors: [...issuesOf(object)], serving_version: object.serving } } : {}),
});
/** An object as a reader sees it. */
export const showObject = (object: HeldObject) => ({
  ...rowOf(object),
  reason: object.head?.reason ?? "",
  document: object.prepared?.yaml.value ?? null,
});
