import type { z } from "zod";
import { tookPart } from "#authn/model/agent-rule.ts";
import { requireScope, type Caller } from "#authn/model/caller.ts";
import type { Endpoint, QueryOf, ReplyOf } from "#contract/endpoint.ts";
import { askFacts, askFactsIf, listCandidates } from "#contract/facts.ts";
import { askContacts } from "#contract/notifications.ts";
import { capabilities, chainEligibility, dataScope, pipDelegations, stepUp } from "#contract/membership.ts";
import type { Answered, GraphReader } from "#membership/graph/graph-reader.ts";
import { answer } from "#http/serve.ts";
import { readContacts } from "#membership/graph/sql-contacts.ts";
import { readCandidates } from "#membership/graph/sql-candidates.ts";
import { tenantScopeOf, type TenantScope } from "#membership/graph/tenant-scope.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { Problem } from "#contract/problem.ts";
import { askAtLeast, observed, originOf, pipAnswer } from "./answer.ts";
import { factsIf } from "./facts-if.ts";

/** Services ask about anybody (`pip.read`), everybody else about himself. */
const requireSelf = (caller: Caller, subject: string): void => {
  if (subject !== caller.sub) requireScope(caller, ["pip.read"]);
};

/** As `requireSelf`, for what a person delegated: an agent asks about no agent but itself, and about no other person. */
const requireOwnPair = (caller: Caller, userId: string, agentId: string | undefined): void => {
  requireSelf(caller, userId);
  if (!tookPart(caller, { subject: userId, agents: [agentId] }))
    throw new Problem("access_denied", { detail: "An agent asks about itself and the person that it acts for." });
};

/** How strongly a subject must sign in, by the level its directory vouches for. What is not known for sure asks for more. */
const stepUpOf = (level: string | null): { readonly mfa_required: boolean; readonly level: string } =>
  level === "strong" || level === "phishing_resistant" ? { mfa_required: false, level } : { mfa_required: true, level: "strong" };

/** The policy information point: it answers the decision point and therefore never asks it. */
export const servePip = (context: MembershipContext): void => {
  const { router } = context;
  const serve = <E extends Endpoint<z.ZodType, z.ZodType, z.ZodType, z.ZodType>>(
    endpoint: E,
    name: string,
    guard: (caller: Caller, query: QueryOf<E>) => void,
    read: (reader: GraphReader, scope: TenantScope, query: QueryOf<E>) => Promise<Answered<ReplyOf<E>>>,
  ): void =>
    router.serve(endpoint, ({ caller, query, request }) =>
      observed(context, name, async (note) => {
        const scope = tenantScopeOf(caller);
        guard(caller, query);
        return pipAnswer(request, note(await askAtLeast(request, context.reader, (reader) => read(reader, scope, query))));
      }),
    );
  const mapped = <A, B>(answered: Answered<A>, change: (value: A) => B): Answered<B> => ({ ...answered, value: change(answered.value) });

  serve(
    capabilities,
    "capabilities",
    (caller, query) => requireOwnPair(caller, query.user_id, query.agent_id),
    async (reader, scope, query) =>
      mapped(await reader.capabilities(scope, { userId: query.user_id, agentId: query.agent_id }), (tools) => ({
        capabilities: [...tools],
      })),
  );
  serve(
    pipDelegations,
    "delegations",
    (caller, query) => requireOwnPair(caller, query.user_id, query.agent_id),
    async (reader, scope, query) =>
      mapped(
        await reader.delegations(scope, {
          userId: query.user_id,
          agentId: query.agent_id,
          status: query.status,
          limit: query.limit,
          offset: query.offset,
        }),
        (items) => [...items],
      ),
  );
  serve(
    dataScope,
    "data-scope",
    (caller, query) => requireSelf(caller, query.subject_id),
    async (reader, scope, query) =>
      mapped(await reader.dataScope(scope, { subjectId: query.subject_id, resourceType: query.resource_type }), (value) => ({
        tenant_ids: [...value.tenant_ids],
        row_filter_sql: value.row_filter_sql,
        column_mask: { ...value.column_mask },
      })),
  );
  serve(
    stepUp,
    "step-up",
    (caller, query) => requireSelf(caller, query.subject_id),
    async (reader, scope, query) => mapped(await reader.assurance(scope, query.subject_id), stepUpOf),
  );
  serve(
    chainEligibility,
    "chain-eligibility",
    (caller, query) => requireOwnPair(caller, query.user_id, query.agent_id),
    async (reader, scope, query) =>
      mapped(await reader.chain(scope, { userId: query.user_id, agentId: query.agent_id, toolId: query.tool_id }), (apps) =>
        apps.map(({ audience, scopes }) => ({ audience, scopes: [...scopes] })),
      ),
  );
  router.serve(askFacts, ({ caller, body, request }) =>
    observed(context, "facts", async (note) => {
      const scope = tenantScopeOf(caller);
      const answered = note(await askAtLeast(request, context.reader, (reader) => reader.facts(scope, body.asks)));
      return answer({ graph_version: Number(answered.version), facts: [...answered.value] }, { headers: originOf(answered) });
    }),
  );
  router.serve(listCandidates, ({ caller, body, request }) =>
    observed(context, "candidates", async () => {
      const scope = tenantScopeOf(caller);
      const answered = await askAtLeast(request, context.reader, () => readCandidates(context.database, scope, body));
      return answer({ ids: [...answered.value] }, { headers: originOf(answered) });
    }),
  );
  router.serve(askContacts, ({ caller, body }) =>
    observed(context, "contacts", async () => ({
      contacts: [...(await readContacts(context.database, tenantScopeOf(caller), { tenant: body.tenant_id, ids: body.ids }))],
    })),
  );
  router.serve(askFactsIf, ({ caller, body, request }) =>
    observed(context, "facts-if", async () => {
      const scope = tenantScopeOf(caller);
      // Only Sallyport's own services speak for any tenant.
      if (scope.tenant !== "*" && scope.tenant !== body.tenant_id) throw new Problem("tenant_required");
      const answered = await askAtLeast(request, context.reader, () => factsIf(context.database, scope, body, context.dataScope));
      return answer({ graph_version: Number(answered.version), ...answered.value }, { headers: originOf(answered) });
    }),
  );
};
