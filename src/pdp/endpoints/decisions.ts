import type { Serving } from "#pdp/context/serving.ts";
import { decisionValues, getDecision, listDecisions, type DecisionRecord } from "#contract/decisions.ts";
import { isRoleId } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import type { Router } from "#http/serve.ts";
import { tookPart } from "#authn/model/agent-rule.ts";
import type { Caller } from "#authn/model/caller.ts";
import { createPresentFacts } from "#pdp/explain/present-facts.ts";
import { coarseRecord, explain } from "#pdp/explain/explain.ts";
import { createLookElsewhere } from "#pdp/explain/opened-elsewhere.ts";
import type { Question } from "#pdp/model/question.ts";
import type { Recorded } from "#pdp/records/record.ts";
import type { Approvals } from "#pdp/decision/approvals.ts";
import type { Shadow } from "#pdp/lifecycle/shadow/shadow.ts";
import { given } from "./given.ts";

export interface DecisionsParts extends Pick<
  Serving,
  "records" | "engines" | "facts" | "decisions" | "viewers" | "cursors" | "pepOf" | "vocabulary" | "metrics" | "now"
> {
  readonly approvals: Pick<Approvals, "holdsNow">;
  readonly shadow: Pick<Shadow, "decisionOf">;
  /** Facts come from the identity graph, not from a file. */
  readonly isGraph: boolean;
  /** Another decision point decides: what would change an answer, or what it would be now, only that one knows. */
  readonly isRemote: boolean;
}

const absent = { item: { facts: "" } };

/** What was decided, why, and what would change it: for each viewer as much as is theirs to know. */
export const serveDecisions = (router: Router<Caller>, parts: DecisionsParts): void => {
  const { records, engines } = parts;
  const present = async (recorded: Recorded) => ({
    engine: engines.current().engine,
    facts: await presentFacts(recorded),
    approved: await parts.approvals.holdsNow(recorded),
  });
  const presentFacts = createPresentFacts(parts);
  const lookElsewhere = createLookElsewhere(parts);

  // Before the path of one decision: no decision is called so.
  router.serve(decisionValues, async ({ query, caller }) => {
    const own = (await parts.viewers.seesAll(parts.pepOf(caller))) ? {} : { subject: caller.sub };
    const of = query.of === "resource_type" ? "type" : query.of;
    const { text = "", limit } = query;
    return {
      values: [...(await records.values({ tenant: caller.tenant, ...own, limit, ...(text === "" ? {} : { parts: { [of]: text } }) }, of))],
    };
  });

  router.serve(getDecision, async ({ params, query, caller, correlationId }) => {
    if (parts.isRemote && query.remedy === "true") throw new Problem("not_supported", { detail: "Another decision point decides here." });
    const pep = parts.pepOf(caller);
    const found = (await records.find([params.id])).get(params.id);
    const recorded = found !== undefined && tookPart(caller, { subject: found.subject, agents: [found.agent] }) ? found : undefined;
    // Looked for even where there is nothing to be found: how long it takes tells nothing either.
    const facts = await records.factsOf(recorded ?? absent);
    const viewer = await parts.viewers.classOf(pep, params.id, recorded, facts?.agent?.controllers ?? [], correlationId);
    if (recorded === undefined || viewer === "none") throw new Problem("not_found");
    const shadow = viewer === "full" ? await parts.shadow.decisionOf(params.id) : undefined;
    return explain({
      recorded,
      facts,
      engine: await engines.of(recorded.policy_version),
      ...(viewer === "full" && !parts.isRemote ? { present: await present(recorded) } : {}),
      shadow,
      joinable,
      lookElsewhere,
      vocabulary: parts.vocabulary,
      isGraph: parts.isGraph,
      emptyContext: records.emptyContext,
      viewer: { id: caller.sub, class: viewer },
      wantsRemedy: query.remedy === "true",
    });
  });

  /** Groups look to a subject like any node of its tenant; those of others are not there, and the roles of Sallyport are everybody's. */
  const joinable = async (question: Question, groups: readonly string[]): Promise<ReadonlySet<string>> => {
    if (groups.length === 0) return new Set();
    const asked = groups.map((id) => ({
      subject_id: question.facts.subject.id,
      action: "view",
      resource: { type: "identities", external_id: id },
      tenant_id: question.tenant,
    }));
    const { facts } = await parts.facts.gather(asked);
    return new Set(
      groups.filter((id, index) => {
        const tenants = facts[index]?.resource?.tenant_ids;
        return tenants?.includes(question.tenant) === true || (isRoleId(id) && tenants?.length === 0);
      }),
    );
  };

  router.serve(listDecisions, async ({ query, caller, correlationId }) => {
    const pep = parts.pepOf(caller);
    const { cursor, limit, ...asked } = query;
    const bound = [caller.sub, caller.agent, caller.tenant, Object.entries(asked).toSorted(([one], [other]) => (one < other ? -1 : 1))];
    const after = cursor === undefined ? undefined : parts.cursors.open(cursor, bound);
    const {
      whose,
      subject,
      agent,
      action,
      resource_type: type,
      resource,
      match,
      decision,
      // By what was only asked to draw a page nobody was refused: it stands in no list of refusals unless it is asked for.
      enforced = decision === "false" ? "true" : "any",
      correlation_id: ofCorrelation,
      ...rest
    } = asked;
    const isExact = match === "exact";
    // One's own are there without a sign-in; a list that would hold those of others says that it wants one.
    const isOwn = whose === "own" || (isExact && subject === caller.sub);
    const all = !isOwn && caller.agent === undefined && (await parts.viewers.guardSight(pep, correlationId));
    if (!all && isExact && subject !== undefined && subject !== caller.sub) return { decisions: [] };
    if (isExact && agent !== undefined && !tookPart(caller, { subject: caller.sub, agents: [agent] })) return { decisions: [] };
    const wanted = given({ subject, agent, action, type, resource });
    const found = await records.list({
      ...given(rest),
      ...given({ correlationId: ofCorrelation }),
      ...(isExact ? wanted : { parts: wanted }),
      ...(all ? {} : { subject: caller.sub }),
      ...given({ agent: caller.agent }),
      ...(decision === undefined ? {} : { decision: decision === "true" }),
      ...(enforced === "any" ? {} : { enforced: enforced === "true" }),
      after,
      tenant: caller.tenant,
      limit,
    });
    return {
      decisions: found.recorded.map((recorded) => listed(recorded, caller.tenant)),
      nextCursor: found.next && parts.cursors.seal(found.next, bound),
      searched_to: found.searchedTo,
    };
  });
};

const listed = (recorded: Recorded, within: string): DecisionRecord => {
  const { subject, agent, names } = recorded;
  const nameOf = (id: string): string => (id === subject ? names.subject : names.agent) ?? id;
  return {
    ...coarseRecord(recorded, nameOf),
    tenant: within === "*" ? recorded.tenant : undefined,
    subject: { id: subject, name: names.subject },
    agent: agent === undefined ? undefined : { id: agent, name: names.agent },
    policy_version: recorded.policy_version,
    enforced: recorded.item.showing !== true,
  };
};
