import { isObject } from "#contract/is-object.ts";
import { Problem, type Issue } from "#contract/problem.ts";

/** What is said of every request and no policy reads: an enforcement point says it of its own. A person says none of it. */
const circumstances = ["tenant", "session", "ip", "user_agent", "method", "correlation_id", "supported_obligations"] as const;

/** What makes the decision point believe something that only Sallyport can know. */
const vouched = [
  "could",
  "background",
  "agent",
  "approval",
  "tool",
  "facts",
  "showing",
  "use",
  "client",
  "claimed",
  "scopes",
  "delegation",
  "arguments_digest",
  "definition_digest",
  "shown_call",
  "view",
  "route",
  "caller_kind",
  "version",
  "searched_by",
  "workflow",
  "simulation",
] as const;

/** Members of a context that only services of Sallyport may send; what they send beside stands here too, or does not compile. */
export type InternalMember = (typeof circumstances)[number] | (typeof vouched)[number];
export type InternalContext = Readonly<Partial<Record<InternalMember, unknown>>>;

const members: ReadonlySet<string> = new Set([...circumstances, ...vouched]);

/** True of a member that nobody who asks for themselves may set. */
export const isInternalMember = (name: string): boolean => members.has(name);

/** Faults that one answer names. */
const MAX_ISSUES = 50;

/**
 * What an enforcement point of its own may not say, wherever in its request: a single question, the default of a batch, used or not,
 * any of its items, a search. Throws `reserved_context_member` (400) with every place: leaving it out in silence could widen the answer.
 */
export const guardContexts = (body: unknown): void => {
  if (!isObject(body)) return;
  const issues: Issue[] = [];
  const guard = (path: string, holder: unknown): void => {
    const context = isObject(holder) && Object.hasOwn(holder, "context") ? holder["context"] : undefined;
    if (!isObject(context)) return;
    for (const name of vouched)
      if (Object.hasOwn(context, name)) issues.push({ path: `${path}/context/${name}`, message: "may only be set by Sallyport" });
  };
  guard("", body);
  const { evaluations } = body;
  if (typeof evaluations === "object" && evaluations !== null)
    for (const [key, item] of Object.entries(evaluations)) guard(`/evaluations/${key}`, item);
  if (issues.length > 0) throw new Problem("reserved_context_member", { errors: issues.slice(0, MAX_ISSUES) });
};
