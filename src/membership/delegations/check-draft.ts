import type { SettingsOf } from "#contract/setting.ts";
import type { DelegationConstraints, DelegationDraft } from "#contract/delegations.ts";
import { pointerText } from "#contract/json-pointer.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { schemaRefusal } from "#parsing/foreign-schema.ts";
import { statement, type Sql } from "#store/database.ts";
import { AMOUNT_ISSUE, microOf } from "#membership/model/amount.ts";
import type { membershipSettings } from "#membership/config.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";
import type { NewDelegation } from "./put-delegation.ts";

interface AgentRow {
  readonly id: string;
  readonly state: string;
  readonly tenant_id: string;
  readonly controlled: boolean;
  readonly tools: readonly string[];
}
const AGENT = statement<AgentRow>(
  "membership.draft_agent",
  `select n.id, n.state, n.tenant_id, exists (
       select 1 from membership.edge e join membership.node c on c.id = e.dst and c.state = 'active'
       where e.src = n.id and e.kind = 'CONTROLLED_BY' and ${unexpired("e")}) as controlled,
     coalesce((select array_agg(e.dst order by e.dst) from membership.edge e
       where e.src = n.id and e.kind = 'HAS_CAPABILITY' and ${unexpired("e")}), '{}') as tools
   from membership.node n where n.id = $2 and n.kind = 'AIAgent' and ${visible("n")}`,
);
const DELEGATOR = statement<{ state: string; tenant_id: string }>(
  "membership.draft_delegator",
  `select n.state, n.tenant_id from membership.node n where n.id = $2 and n.kind = $3 and ${visible("n")}`,
);

/** What the one that a draft is handed on from says of it. */
interface Parent {
  readonly agent_id: string;
  readonly capabilities: readonly string[] | null;
  readonly expires_at: string | null;
  readonly path: readonly string[];
  /** Agents on the way down, its own included. */
  readonly agents: readonly string[];
}
const PARENT = statement<Parent>(
  "membership.draft_parent",
  `select d.agent_id, d.capabilities, d.expires_at, d.path, (select array_agg(p.agent_id) from membership.delegation p where p.id = any(d.path)) as agents
   from membership.delegation d join membership.delegation t on t.id = d.path[1] where d.id = $2 and t.delegator_id = $3 and ${visible("d")}`,
);

/** Of terms that lie below others. */
export const handedOnIssues = (
  draft: DelegationDraft,
  parent: Pick<Parent, "capabilities" | "expires_at" | "path">,
  maxDepth: number,
): readonly Issue[] => {
  const { capabilities, expires_at: ends } = parent;
  const issues: Issue[] = [];
  const issue = (path: string, message: string): void => void issues.push({ path, message });
  if (parent.path.length >= maxDepth) issue("/parent_id", `at most ${maxDepth} delegations may lie one below the other`);
  if (capabilities !== null && draft.capabilities === null) issue("/capabilities", "must name tools: the delegation above does");
  draft.capabilities?.forEach((tool, index) => {
    if (capabilities !== null && !capabilities.includes(tool))
      issues.push({ path: `/capabilities/${index}`, message: "is not in the delegation above", code: "capability_missing" });
  });
  const { expires_at: asked } = draft;
  if (ends !== null && (asked === null || (asked !== undefined && Date.parse(asked) > Date.parse(ends))))
    issue("/expires_at", "lies after the end of the delegation above");
  return issues;
};

/** `undefined`: no such agent, or not for this tenant. */
export const readAgent = async (sql: Sql, scope: TenantScope, agentId: string): Promise<AgentRow | undefined> =>
  (await sql.run(AGENT, [scope.tenant, agentId]))[0];

const isTimeZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name }).format();
    return true;
  } catch {
    return false;
  }
};

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;

/** What all schemas of a delegation may cost to be prepared, once: some 40 ms. */
const SCHEMA_STEPS = 10_000;

/** A misspelt tool would be bound by nothing, and a schema that cannot be read lets nothing through. */
const schemaFaults = (args: NonNullable<DelegationConstraints["args"]>, tools: readonly string[]): readonly Issue[] => {
  const list = { left: SCHEMA_STEPS };
  return Object.entries(args).flatMap(([tool, schema]): Issue[] => {
    const path = pointerText(["constraints", "args", tool]);
    if (!tools.includes(tool)) return [{ path, message: "is not a capability of this agent", code: "capability_missing" }];
    const message = schemaRefusal(schema, list);
    return message === undefined ? [] : [{ path, message, code: "schema_refused" }];
  });
};

/** Of terms as they are asked for; `tools` may be named. */
export const issuesOfTerms = (
  draft: DelegationDraft,
  tools: readonly string[],
  config: SettingsOf<typeof membershipSettings>,
  now: Date,
): Issue[] => {
  const issues: Issue[] = [];
  const issue = (path: string, message: string): void => void issues.push({ path, message });
  draft.capabilities?.forEach((tool, index) => {
    if (!tools.includes(tool))
      issues.push({ path: `/capabilities/${index}`, message: "is not a capability of this agent", code: "capability_missing" });
  });
  if (draft.max_steps > config.delegationMaxSteps) issue("/max_steps", `must be at most ${config.delegationMaxSteps}`);
  if (draft.budget_usd > config.delegationMaxUsd) issue("/budget_usd", `must be at most ${config.delegationMaxUsd}`);
  const zone = draft.constraints?.hours?.tz;
  if (zone !== undefined && !isTimeZone(zone)) issue("/constraints/hours/tz", "is no time zone");
  issues.push(...schemaFaults(draft.constraints?.args ?? {}, tools));
  const begins = draft.valid_from === undefined ? now.getTime() : Date.parse(draft.valid_from);
  if (draft.expires_at === null) {
    if (!config.delegationAllowEndless) issue("/expires_at", "must be named: a delegation without an end is not allowed here");
  } else if (draft.expires_at !== undefined) {
    const ends = Date.parse(draft.expires_at);
    if (ends <= Math.max(begins, now.getTime())) issue("/expires_at", "must lie after its beginning and in the future");
    if (ends - now.getTime() > config.delegationMaxDays * DAY_MS)
      issue("/expires_at", `must be at most ${config.delegationMaxDays} days away`);
  } else if (begins - now.getTime() >= Math.min(DEFAULT_DAYS, config.delegationMaxDays) * DAY_MS)
    issue("/valid_from", "lies after the end; name expires_at");
  return issues;
};

/**
 * Checks a draft against the graph and gives what is to be written. Every issue at once: 422. Whoever hands on what an agent holds is the
 * person at the top of it: another one's is not there. Throws `not_found`, `cycle`, `agent_uncontrolled`.
 */
export const checkDraft = async (
  sql: Sql,
  scope: TenantScope,
  draft: DelegationDraft,
  given: {
    readonly id: string;
    readonly delegatorId: string;
    readonly createdBy: string;
    readonly config: SettingsOf<typeof membershipSettings>;
    readonly now: Date;
  },
): Promise<NewDelegation> => {
  const { config, now } = given;
  const agent = await readAgent(sql, scope, draft.agent_id);
  if (agent === undefined) throw new Problem("not_found");
  const [parent] = draft.parent_id === undefined ? [] : await sql.run(PARENT, [scope.tenant, draft.parent_id, given.delegatorId]);
  if (draft.parent_id !== undefined && parent === undefined) throw new Problem("not_found");
  if (parent?.agents.includes(draft.agent_id) === true)
    throw new Problem("cycle", { errors: [{ path: "/agent_id", message: "holds it already, further up" }] });
  const delegatorId = parent?.agent_id ?? given.delegatorId;
  const [delegator] = await sql.run(DELEGATOR, [scope.tenant, delegatorId, parent === undefined ? "Person" : "AIAgent"]);
  const issues = issuesOfTerms(draft, agent.tools, config, now);
  if (parent !== undefined) issues.push(...handedOnIssues(draft, parent, config.delegationMaxDepth));
  const limitMicro = microOf(draft.budget_usd);
  if (limitMicro === undefined) issues.push({ path: "/budget_usd", message: AMOUNT_ISSUE });
  if (agent.state !== "active") issues.push({ path: "/agent_id", message: "is not active" });
  if (delegator?.state !== "active" || delegator.tenant_id !== agent.tenant_id)
    issues.push({
      path: parent === undefined ? "/delegator_id" : "/parent_id",
      message: `is not of an active ${parent === undefined ? "person" : "agent"} of the agent's tenant`,
    });
  if (issues.length > 0 || limitMicro === undefined) throw new Problem("unprocessable", { errors: issues });
  if (!agent.controlled) throw new Problem("agent_uncontrolled");
  const standard = now.getTime() + Math.min(DEFAULT_DAYS, config.delegationMaxDays) * DAY_MS;
  const aboveEnds = Date.parse(parent?.expires_at ?? "") || Number.POSITIVE_INFINITY;
  return {
    id: given.id,
    delegatorId,
    agentId: draft.agent_id,
    capabilities: draft.capabilities,
    constraints: draft.constraints,
    limitMicro,
    limitSteps: draft.max_steps,
    purpose: draft.purpose,
    validFrom: draft.valid_from === undefined || Date.parse(draft.valid_from) <= now.getTime() ? null : new Date(draft.valid_from),
    expiresAt: draft.expires_at === null ? null : new Date(draft.expires_at ?? Math.min(standard, aboveEnds)),
    createdBy: given.createdBy,
    parentPath: parent?.path,
  };
};
