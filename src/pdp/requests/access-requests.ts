import type { ServiceParts } from "#authn/callers/service-parts.ts";
import { pageOf } from "#authn/sealing/sealed-cursors.ts";
import { createHash } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import type {
  AccessRequestDraft,
  AccessRequestReply,
  AccessRequestTask,
  answerAccessRequest,
  listAccessRequests,
} from "#contract/access-requests.ts";
import type { BodyOf, QueryOf } from "#contract/endpoint.ts";
import type { Facts } from "#contract/facts.ts";
import { Problem } from "#contract/problem.ts";
import { actorKindOf, isService } from "#authn/model/actor-kind.ts";
import { tookPart } from "#authn/model/agent-rule.ts";
import { requireScope, type Caller } from "#authn/model/caller.ts";
import type { Changed } from "#events/changes/change.ts";
import { postNotice } from "#events/model/notice.ts";
import type { Serving } from "#pdp/context/serving.ts";
import type { Recorded } from "#pdp/records/record.ts";
import type { Approvers } from "#pdp/decision/approvers.ts";
import type { KeptCalls } from "./kept-calls.ts";
import { findEnded } from "./ended-delegations.ts";
import { endOwnOutdated, isDeciding } from "#pdp/records/outdated-requests.ts";
import { createRequireDenial, type DenialParts } from "./require-denial.ts";
import * as store from "#pdp/records/request-store.ts";
import type { RequestRow } from "#pdp/records/request-store.ts";
import { requestNotice } from "./request-notice.ts";
import { replyOf, requestStatus, taskOf, taskProblem, type Rights } from "./task.ts";
import { tellRequests, type RequestAct, type RequestReport } from "#pdp/records/report-request.ts";
import { instanceActor, type ActActor } from "#pdp/records/act-actor.ts";

/** One call of somebody about requests. */
export interface RequestVisit {
  readonly caller: Caller;
  readonly correlationId: string;
}

export interface AccessRequestsParts extends DenialParts, Pick<ServiceParts, "database" | "change">, Pick<Serving, "viewers" | "facts"> {
  readonly approvers: Approvers;
  readonly calls: KeptCalls;
  /** The facts of a recorded question as they are now. */
  readonly presentFacts: (recorded: Recorded) => Promise<Facts | undefined>;
  readonly nextId: () => string;
}

const MAX_OPEN = 50;

const inPerson = ({ agent }: Caller): boolean => agent === undefined;

const actorOf = ({ caller, correlationId }: RequestVisit): ActActor => ({
  subject: caller.sub,
  kind: actorKindOf(caller),
  clientId: caller.clientId,
  acr: caller.acr,
  correlationId,
});

const told = (row: RequestRow | undefined, act: RequestAct, by: ActActor): Changed<RequestRow | undefined> => ({
  result: row,
  ...tellRequests(row === undefined ? [] : [{ row, act, by }]),
});

/** Requests that a denial be lifted, from the asking to the answer. */
export const createAccessRequests = (parts: AccessRequestsParts) => {
  const { database, change, records, approvers, now } = parts;
  const requireDenial = createRequireDenial(parts);

  /** As they are, told or not: a pending one whose delegation has ended can come to nothing. */
  const asTheyAre = async (rows: readonly RequestRow[]): Promise<readonly RequestRow[]> => {
    const open = rows.filter((row) => requestStatus(row, now()) === "pending");
    const ended = new Set((await findEnded(parts.facts, open)).map(({ id }) => id));
    return rows.map((row) => (ended.has(row.id) ? { ...row, void_reason: "revoked" } : row));
  };
  const readAsItIs = async (id: string): Promise<RequestRow | undefined> => {
    const row = await store.readRequest(database, id);
    return row === undefined ? undefined : (await asTheyAre([row]))[0];
  };

  const factsOf = async (row: RequestRow): Promise<Facts | undefined> => {
    const recorded = (await records.find([row.evaluation_id])).get(row.evaluation_id);
    return recorded === undefined ? undefined : parts.presentFacts(recorded);
  };
  /** Who asked it, or it was asked for: in person, or as the agent that was denied. */
  const isOwn = (caller: Caller, row: RequestRow): boolean =>
    caller.tenant === row.tenant && (caller.sub === row.requester || caller.sub === row.subject) && tookPart(caller, row);

  const rightsOf = async (caller: Caller, row: RequestRow): Promise<Rights & { readonly name?: string }> => {
    const approver = await approvers.mayAnswer(caller, row, () => factsOf(row));
    return {
      cancel: inPerson(caller) && caller.sub === row.requester && isOwn(caller, row),
      words: inPerson(caller),
      answer: approver !== undefined,
      name: approver?.name,
    };
  };

  /** The row with the caller's rights to it. To anybody else it does not exist: the same answer, after the same work. */
  const requireVisible = async ({ caller, correlationId }: RequestVisit, id: string) => {
    const found = await readAsItIs(id);
    const row = found !== undefined && tookPart(caller, found) ? found : undefined;
    const pep = parts.pepOf(caller);
    const rights = row === undefined ? undefined : await rightsOf(caller, row);
    const isParty = row !== undefined && (isOwn(caller, row) || rights?.answer === true || caller.sub === row.answered_by);
    // To whom it is theirs, it opens without another sign-in, and only leaves out a name.
    const seesAll = isParty ? await parts.viewers.seesAll(pep) : await parts.viewers.guardSight(pep, correlationId);
    if (row === undefined || rights === undefined) throw taskProblem("unknown_task");
    const names = caller.sub === row.answered_by || (seesAll && (caller.tenant === "*" || caller.tenant === row.tenant));
    if (!isParty && !names) throw taskProblem("unknown_task");
    return { row, rights: { ...rights, names } };
  };

  const create = async (visit: RequestVisit, draft: AccessRequestDraft, key: string): Promise<AccessRequestReply> => {
    const { caller } = visit;
    if (isService(caller)) requireScope(caller, ["authzen.requests"]);
    const bodyDigest = createHash("sha256")
      .update(canonicalJson(draft) ?? "")
      .digest("hex");
    const repeated = async (tenant: string): Promise<AccessRequestReply | undefined> => {
      const held = await store.readKeyedRequest(database, tenant, caller.sub, key);
      if (held === undefined) return undefined;
      if (held.body_digest !== bodyDigest) throw taskProblem("duplicate_request", "The key was used for another request.");
      return replyOf(held, { cancel: true, answer: false, words: true }, now());
    };
    const before = caller.tenant === "*" ? undefined : await repeated(caller.tenant);
    if (before !== undefined) return before;

    const { recorded, call } = await requireDenial(caller, draft);
    const asked = recorded.item.request;
    const template = asked === undefined ? undefined : parts.engines.current().engine.bundle.templates.get(asked.template);
    if (asked === undefined || template === undefined) throw taskProblem("invalid_denial_binding");
    const facts = await parts.presentFacts(recorded);
    const agents = asked.agents;
    const party = { tenant: recorded.tenant, subject: recorded.subject, requester: caller.sub, agents };
    const named = facts === undefined ? { approvers: [], persons: [] } : await approvers.name(template.approvers, facts, party);
    const at = now();
    // Where nobody is named who could answer it, it has failed from the beginning.
    const failed = named.persons.length === 0;
    const row: store.NewRequest = {
      id: parts.nextId(),
      tenant: recorded.tenant,
      subject: recorded.subject,
      subject_name: facts?.subject?.name ?? null,
      agents,
      agent_name: facts?.agent?.name ?? null,
      requester: caller.sub,
      action: recorded.item.action,
      resource_type: recorded.item.type,
      resource_id: recorded.item.id ?? null,
      resource_ref: recorded.item.ref ?? null,
      evaluation_id: recorded.decision_id,
      policy_version: recorded.policy_version,
      act_digest: asked.binding.act,
      binding_digest: asked.binding.whole,
      definition: asked.binding.definition ?? null,
      delegation_id: asked.binding.delegationId ?? null,
      template: asked.template,
      approver_rule: template.approvers,
      approvers: named.approvers,
      told: named.persons,
      justification: draft.justification ?? null,
      status: failed ? "failed" : "pending",
      failure: failed ? "no_approver" : null,
      created_at: at.toISOString(),
      expires_at: new Date(at.getTime() + template.ttl_minutes * 60_000).toISOString(),
      valid_minutes: template.valid_minutes,
      single_use: template.single_use,
      idem_key: key,
      body_digest: bodyDigest,
    };
    const made = await change(async (sql) => {
      if (!(await isDeciding(sql, row.policy_version)))
        throw taskProblem("invalid_denial_binding", "Other policies decide since then. Ask the question again.");
      const ended = (await endOwnOutdated(sql, row, at)).map((one): RequestReport => ({
        row: one,
        act: one.status === "expired" ? "expired" : "failed",
        by: instanceActor(visit.correlationId),
      }));
      if ((await store.countOpenRequests(sql, row.tenant, row.requester)) >= MAX_OPEN)
        throw new Problem("too_many", { detail: `At most ${MAX_OPEN} requests of one person are open. Cancel one, or wait for answers.` });
      const inserted = await store.insertRequest(sql, row, parts.calls.seal(call, row.id));
      const begun: readonly RequestReport[] =
        inserted === undefined ? [] : [{ row: inserted, act: failed ? "failed" : "created", by: actorOf(visit) }];
      if (inserted?.status === "pending") postNotice(sql, requestNotice(inserted, named.persons));
      return { result: inserted, ...tellRequests([...ended, ...begun]) };
    });
    if (made !== undefined) return replyOf(made, { cancel: true, answer: false, words: true }, at);
    const same = await repeated(row.tenant);
    if (same !== undefined) return same;
    const open = await store.findOpenRequest(database, row);
    throw taskProblem("duplicate_request", "The same is asked for already.", open && { request_id: open.id });
  };

  /** Why nothing came of a change of a pending request. */
  const refuseState = async (id: string): Promise<never> => {
    const row = await readAsItIs(id);
    if (row === undefined) throw taskProblem("unknown_task");
    const status = requestStatus(row, now());
    throw status === "expired"
      ? taskProblem("task_expired")
      : taskProblem("invalid_task_state", `It is ${status}.`, { request_status: status });
  };

  return {
    create,

    read: async (visit: RequestVisit, id: string): Promise<AccessRequestReply> => {
      const { caller } = visit;
      const { row, rights } = await requireVisible(visit, id);
      const { call } = rights.answer || isOwn(caller, row) ? await parts.calls.read(row) : {};
      return replyOf(row, rights, now(), call);
    },

    cancel: async (visit: RequestVisit, id: string): Promise<AccessRequestReply> => {
      const { row: asked, rights } = await requireVisible(visit, id);
      if (!rights.cancel) throw new Problem("access_denied", { detail: "Only who asked takes it back." });
      if (requestStatus(asked, now()) !== "pending") return refuseState(id);
      const row = await change(async (sql) => told(await store.cancelRequest(sql, id, now()), "cancelled", actorOf(visit)));
      return row === undefined ? refuseState(id) : replyOf(row, rights, now());
    },

    answer: async (visit: RequestVisit, id: string, given: BodyOf<typeof answerAccessRequest>) => {
      const { row: asked, rights } = await requireVisible(visit, id);
      if (!rights.answer)
        throw new Problem("access_denied", { detail: "One of its approvers answers, in person, and nobody a request of their own." });
      if (requestStatus(asked, now()) !== "pending") return refuseState(id);
      if (asked.policy_version !== parts.engines.current().version)
        throw taskProblem("invalid_task_state", "Other policies decide since it was asked: an approval would hold for nothing.");
      if (given.outcome === "approve" && !(await parts.calls.read(asked)).proven)
        throw taskProblem("invalid_task_state", "What was asked for cannot be shown as it was asked: nobody can approve it.");
      const status = given.outcome === "approve" ? "approved" : "denied";
      const row = await change(async (sql) => {
        const answer = { status, at: now(), by: visit.caller.sub, name: rights.name, comment: given.comment } as const;
        return told(await store.answerRequest(sql, id, answer), status, actorOf(visit));
      });
      return row === undefined ? refuseState(id) : replyOf(row, rights, now());
    },

    list: async (
      { caller }: RequestVisit,
      query: Omit<QueryOf<typeof listAccessRequests>, "cursor"> & { readonly before: string | undefined },
    ): Promise<{ readonly tasks: readonly AccessRequestTask[]; readonly next?: string }> => {
      const at = now();
      const names = query.as === "approver" ? await approvers.namesOf(caller) : [];
      // What others ask for is answered in person.
      if (query.as === "approver" && !inPerson(caller)) return { tasks: [] };
      const found = await store.listRequests(database, {
        tenant: caller.tenant,
        caller: caller.sub,
        agent: caller.agent,
        answering: query.as === "approver" ? names : undefined,
        before: query.before,
        status: query.status,
        limit: query.limit + 1,
        now: at,
      });
      const { page, last } = pageOf(found, query.limit);
      const tasks = (await asTheyAre(page)).flatMap((row) => {
        if (query.status !== undefined && requestStatus(row, at) !== query.status) return [];
        const answer = query.as === "approver" && row.approvers.some((id) => names.includes(id));
        const words = inPerson(caller);
        return [taskOf(row, { cancel: words && caller.sub === row.requester, answer, names: caller.sub === row.answered_by, words }, at)];
      });
      return { tasks, next: last?.id };
    },
  };
};

export type AccessRequests = ReturnType<typeof createAccessRequests>;
