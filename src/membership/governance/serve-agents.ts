import { pageOf } from "#authn/sealing/sealed-cursors.ts";
import { agentImpact, effectiveTools } from "#contract/governance.ts";
import type { Facts } from "#contract/facts.ts";
import { meetsAt } from "#pdp-client/obligations.ts";
import { principalThrough, requireNode, requireView, shown } from "#membership/context/access.ts";
import { impactOf } from "#membership/delegations/read-impact.ts";
import { undone } from "#membership/model/dry-run.ts";
import { readHeldBack } from "#membership/ledger/reserve.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";
import { visible } from "#membership/graph/tenant-scope.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { statement } from "#store/database.ts";
import { liveOfAgent } from "./read-governance.ts";

const SUSPEND = statement("membership.agent_suspended_if", "update membership.node set state = 'suspended' where id = $1");
const TOOLS = statement<{ id: string }>(
  "membership.tools_of_agent",
  `select e.dst as id from membership.edge e join membership.node n on n.id = e.dst and n.kind = 'Tool' and ${visible("n")}
   where e.src = $2 and e.kind = 'HAS_CAPABILITY' and ${unexpired("e")} and e.dst > $3 order by e.dst limit $4`,
);

const meets = meetsAt<"agents">({ data_scope: "As of the calls that are asked about." });

/** What the graph and the ledger say against a call, in the words of the pipeline. */
const blocksOf = (facts: Facts): readonly string[] => {
  const { delegation } = facts;
  if (delegation === null) return ["delegation_required"];
  return [
    ...(delegation.active ? [] : ["delegation_inactive"]),
    ...(delegation.active && !facts.capability && facts.definition_ok ? ["capability_missing"] : []),
    ...(facts.definition_ok ? [] : ["definition_drifted"]),
    ...(facts.chain ? [] : ["chain_not_eligible"]),
    ...(delegation.steps_left > 0 ? [] : ["steps_exhausted"]),
  ];
};

/** What somebody may do through an agent, and what would be lost without it. */
export const serveAgents = (context: MembershipContext): void => {
  const { router, pdpClient, database, reader } = context;

  router.serve(agentImpact, async (call) => {
    const { params } = call;
    const scope = await requireView(context, call, { type: "agents", action: "suspend", ...shown });
    await requireNode(context, scope, params.agent_id, ["AIAgent"]);
    return undone(database, async (sql) => {
      const held = await liveOfAgent(sql, scope, params.agent_id);
      return impactOf(sql, scope, held, async () => void (await sql.run(SUSPEND, [params.agent_id])));
    });
  });

  router.serve(effectiveTools, async (call) => {
    const { caller, correlationId } = call;
    const { agent_id } = call.params;
    const { user_id = caller.sub, limit, cursor } = call.query;
    const scope = await requireView(context, call, { type: "agents", action: "view_all" });
    // What others may do is told to whoever sees why.
    if (user_id !== caller.sub) await pdpClient.require(caller, { type: "decisions", action: "view_all" }, correlationId);
    await requireNode(context, scope, agent_id, ["AIAgent"]);
    const { tenant_id } = (await requireNode(context, scope, user_id, ["Person"])).value;
    const binding = ["effective-tools", caller.sub, scope.tenant, agent_id, user_id];
    const after = cursor === undefined ? "" : context.cursors.open(cursor, binding);
    const found = await database.run(TOOLS, [scope.tenant, agent_id, after, limit + 1]);
    const { page: rows, last } = pageOf(found, limit);
    const page = rows.map(({ id }) => id);
    const principal = principalThrough(user_id, agent_id, tenant_id ?? scope.tenant);
    const calls = page.map((id) => ({ type: "tool", action: "tools/call", id, meets, ...shown }));
    const decided = await pdpClient.decideMany(principal, calls, correlationId);
    const asks = page.map((id) => ({
      subject_id: user_id,
      agent_ids: [agent_id],
      action: "tools/call",
      resource: { type: "tool", external_id: id },
    }));
    const { version, value: facts } = await reader.facts(scope, asks);
    const heldBack = await readHeldBack(database, scope, { userId: user_id, agentId: agent_id }, page);
    const tools = page.map((tool_id, at) => {
      const [fact, answered] = [facts[at], decided[at]];
      if (fact === undefined || answered === undefined) throw new Error("one tool, one answer");
      const refusal = pdpClient.refusal(principal, answered, { meets });
      const reason = refusal === undefined || refusal.code === "step_up_required" ? undefined : (answered.reason ?? refusal.code);
      const held = heldBack.get(tool_id);
      const blocks = [...blocksOf(fact), held, reason].filter((block) => block !== undefined);
      const blocked_by = [...new Set(blocks)];
      const works = blocked_by.length > 0 ? ("no" as const) : refusal === undefined ? ("yes" as const) : ("step_up" as const);
      return { tool_id, works, delegation_id: fact.delegation?.id, blocked_by };
    });
    return { tools, graph_version: Number(version), next_cursor: last && context.cursors.seal(last.id, binding) };
  });
};
