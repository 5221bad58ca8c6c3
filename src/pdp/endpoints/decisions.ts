import { getDecision, listDecisions, type DecisionRecord } from "#contract/decisions.ts";
import { Problem } from "#contract/problem.ts";
import type { Router } from "#http/serve.ts";
import type { Caller } from "#authn/caller.ts";
import type { Engines } from "#pdp/engines.ts";
import { createPresentFacts } from "#pdp/explain/present-facts.ts";
import { coarseRecord, explain } from "#pdp/explain/explain.ts";
import { createLookElsewhere } from "#pdp/explain/opened-elsewhere.ts";
import type { Viewers } from "#pdp/explain/viewer.ts";
import type { FactSource } from "#pdp/fact-source.ts";
import type { Question } from "#pdp/question.ts";
import type { DecisionFacts } from "#pdp/records/decision-facts.ts";
import type { DecisionLog } from "#pdp/records/decision-log.ts";
import type { Recorded } from "#pdp/records/record.ts";
import type { Approvals } from "#pdp/requests/approvals.ts";
import type { Shadow } from "#pdp/shadow/shadow.ts";
import type { Vocabulary } from "#pdp/vocabulary.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { PageCursors } from "./page-cursor.ts";
import type { Pep } from "./parse-ask.ts";

export interface DecisionsParts {
  readonly records: DecisionLog;
  readonly engines: Engines;
  readonly facts: FactSource;
  readonly decisions: DecisionFacts;
  readonly approvals: Pick<Approvals, "holdsNow">;
  readonly shadow: Pick<Shadow, "decisionOf">;
  readonly viewers: Viewers;
  readonly cursors: PageCursors;
  readonly pepOf: (caller: Caller) => Pep;
  readonly vocabulary: Vocabulary;
  /** Facts come from the identity graph, not from a file. */
  readonly isGraph: boolean;
  /** Another decision point decides: what would change an answer, or what it would be now, only that one knows. */
  readonly isRemote: boolean;
  readonly metrics: Metrics;
  readonly now: () => Date;
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

  router.serve(getDecision, async ({ params, query, caller, correlationId }) => {
    if (parts.isRemote && query.remedy === "true") throw new Problem("not_supported", { detail: "Another decision point decides here." });
    const pep = parts.pepOf(caller);
    const recorded = (await records.find([params.id])).get(params.id);
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
      ...(shadow === undefined ? {} : { shadow }),
      joinable,
      lookElsewhere,
      vocabulary: parts.vocabulary,
      isGraph: parts.isGraph,
      emptyContext: records.emptyContext,
      viewer: { id: caller.sub, class: viewer },
      wantsRemedy: query.remedy === "true",
    });
  });

  /** Groups look to a subject like any node of its tenant; those of others are not there. */
  const joinable = async (question: Question, groups: readonly string[]): Promise<ReadonlySet<string>> => {
    if (groups.length === 0) return new Set();
    const asked = groups.map((id) => ({
      subject_id: question.facts.subject.id,
      action: "view",
      resource: { type: "identities", external_id: id },
      tenant_id: question.tenant,
    }));
    const { facts } = await parts.facts.gather(asked);
    return new Set(groups.filter((_group, index) => facts[index]?.resource?.tenant_ids.includes(question.tenant)));
  };

  router.serve(listDecisions, async ({ query, caller, correlationId }) => {
    const pep = parts.pepOf(caller);
    const { cursor, limit, decision, enforced, correlation_id: ofCorrelation, resource_type: type, ...filters } = query;
    const bound = JSON.stringify([
      caller.sub,
      caller.tenant,
      query.subject,
      query.agent,
      query.action,
      type,
      decision,
      enforced,
      query.reason,
      ofCorrelation,
      query.from,
      query.to,
    ]);
    const after = cursor === undefined ? undefined : parts.cursors.open(cursor, bound);
    // One's own are there without a sign-in; a list that would hold those of others says that it wants one.
    const all = query.subject !== caller.sub && (await parts.viewers.guardSight(pep, correlationId));
    if (!all && query.subject !== undefined && query.subject !== caller.sub) return { decisions: [] };
    const found = await records.list({
      ...given(filters),
      ...given({ type, correlationId: ofCorrelation }),
      ...(all ? {} : { subject: caller.sub }),
      ...(decision === undefined ? {} : { decision: decision === "true" }),
      ...(enforced === undefined ? {} : { enforced: enforced === "true" }),
      ...(after === undefined ? {} : { after }),
      tenant: caller.tenant,
      limit: limit + 1,
    });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const more = found.length > limit && last !== undefined;
    return {
      decisions: page.map((recorded) => listed(recorded, caller.tenant)),
      ...(more ? { nextCursor: parts.cursors.seal({ callId: last.call_id, index: last.item.index ?? 0 }, bound) } : {}),
    };
  });
};

const given = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined));

const listed = (recorded: Recorded, within: string): DecisionRecord => ({
  ...coarseRecord(recorded, (id) => id),
  ...(within === "*" ? { tenant: recorded.tenant } : {}),
  subject: { id: recorded.subject },
  ...(recorded.agent === undefined ? {} : { agent: { id: recorded.agent } }),
  policy_version: recorded.policy_version,
  enforced: recorded.item.showing !== true,
});
