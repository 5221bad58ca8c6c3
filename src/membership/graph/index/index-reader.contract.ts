import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import type { FactAsk } from "#contract/facts.ts";
import { insertDelegation, recordDelegation, delegationLogRow } from "#membership/delegations/put-delegation.ts";
import { dropEdges, lockEdgesOf } from "#membership/graph/drop-edge.ts";
import { dropNode } from "#membership/graph/drop-node.ts";
import type { GraphReader } from "#membership/graph/graph-reader.ts";
import { putEdge } from "#membership/graph/put-edge.ts";
import { lockNodes, putNode } from "#membership/graph/put-node.ts";
import { scopeOfTenant, wholeGraph } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction, WriteGraph } from "#membership/graph/write.ts";
import type { EdgeKind, NodeKind } from "#membership/model/kinds.ts";
import { statement, type Sql } from "#store/database.ts";

/** What stands for a world of random things in two tenants of its own: their ids by kind. */
export interface RandomWorld {
  readonly tenants: readonly [string, string];
  readonly ids: Readonly<Record<string, readonly string[]>>;
  readonly delegations: string[];
}

const counts = {
  Person: 3,
  Account: 3,
  Group: 4,
  BusinessRole: 1,
  AIAgent: 3,
  Tool: 4,
  Resource: 2,
  SaaSApp: 2,
  RTR: 1,
  MCPService: 1,
  Policy: 2,
  MCPPolicyBinding: 3,
  Tenant: 2,
} as const;

/** Picks what one seed says. */
export type Pick = <T>(items: readonly T[]) => T;
export const pickBy = (seed: number): Pick => {
  const numbers = fc.sample(fc.noBias(fc.nat(2 ** 30)), { numRuns: 4_000, seed });
  let at = 0;
  return (items) => items[(numbers[at++ % numbers.length] as number) % items.length] as (typeof items)[number];
};

const isSharedKind = (kind: string): boolean => kind === "Tool" || kind === "SaaSApp";

export const worldOf = (n: number): RandomWorld => {
  const home = `tenant:r${n}`;
  return {
    tenants: [home, `${home}b`],
    ids: Object.fromEntries(
      Object.entries(counts).map(([kind, count]) => [
        kind,
        kind === "Tenant" ? [home, `${home}b`] : Array.from({ length: count }, (_none, index) => `${kind.toLowerCase()}:r${n}.${index}`),
      ]),
    ),
    delegations: [],
  };
};

const hour = 3_600_000;
const someTime = (pick: Pick): Date | undefined =>
  pick([undefined, undefined, undefined, new Date(Date.now() - hour), new Date(Date.now() + hour)]);

const propsOf: Readonly<Record<string, (pick: Pick, id: string) => Record<string, unknown>>> = {
  Person: (pick) => pick([{}, { mfa_level: "strong" }, { mfa_level: "phishing_resistant", email: "é@x" }]),
  Account: (_pick, id) => ({ login: id, system: "s" }),
  AIAgent: (pick, id) => pick([{}, { client_id: id }]),
  Tool: (pick) => pick([{}, { mfa: true }, { resource_type: "employee" }]),
  Resource: (pick) => pick([{ type: "pages" }, { type: "pages", restricted: true, attributes: { a: "b" } }]),
  SaaSApp: (_pick, id) => ({ audience: `https://${id.replace(/[:.]/g, "-")}.example`, scopes: ["read", "write"] }),
  MCPService: () => ({ service_type: "mcp", trust: "pinned", managed_by: "registry" }),
  Policy: () => ({ rev: "1", uri: "x:1" }),
  MCPPolicyBinding: (pick) => ({ action: "tools/call", priority: 1, enabled: pick([true, true, false]) }),
  RTR: () => ({ resource_type: "pages", actions: ["view"] }),
};

const putOne = async (tx: GraphTransaction, world: RandomWorld, pick: Pick, kind: NodeKind, id: string): Promise<void> => {
  const index = world.ids[kind]?.indexOf(id) ?? 0;
  const tenant = kind === "Tenant" ? id : isSharedKind(kind) && index === 0 ? null : index === 2 ? world.tenants[1] : world.tenants[0];
  await putNode(tx, {
    id,
    kind,
    name: pick([id, "Ünïcode 🦀", "a"]),
    tenant_id: tenant,
    state: kind === "Tool" ? pick(["approved", "approved", "quarantined"]) : pick(["active", "active", "active", "active", "suspended"]),
    ...(kind === "Tool" ? { digest: pick(["d1", "d2"]) } : {}),
    ...(kind === "Resource" ? { external_id: pick([`ext-${id}`, `other-${id}`]) } : {}),
    props: propsOf[kind]?.(pick, id) ?? {},
  });
};

const shapes: readonly (readonly [EdgeKind, NodeKind, NodeKind])[] = [
  ["BELONGS_TO", "Person", "Account"],
  ["MEMBER_OF", "Account", "Group"],
  ["MEMBER_OF", "Account", "Tenant"],
  ["MEMBER_OF", "Person", "BusinessRole"],
  ["MEMBER_OF", "Group", "Tenant"],
  ["MEMBER_OF", "Group", "Group"],
  ["HAS_RTR", "Person", "RTR"],
  ["USES_TENANT", "AIAgent", "Tenant"],
  ["HAS_CAPABILITY", "AIAgent", "Tool"],
  ["HAS_CAPABILITY", "AIAgent", "Tool"],
  ["HAS_CAPABILITY", "AIAgent", "Tool"],
  ["REQUIRES", "Tool", "SaaSApp"],
  ["GRANTS_ACCESS", "Group", "Tool"],
  ["GRANTS_ACCESS", "Person", "Resource"],
  ["GRANTS_ACCESS", "BusinessRole", "Resource"],
  ["OWNS_RESOURCE", "Person", "Resource"],
  ["OWNS_RESOURCE", "Group", "Tool"],
  ["CONTROLLED_BY", "AIAgent", "Person"],
  ["CONTROLLED_BY", "AIAgent", "Group"],
  ["PROVIDES", "MCPService", "Tool"],
  ["POLICY_REF", "MCPService", "MCPPolicyBinding"],
  ["POLICY_REF", "Tool", "MCPPolicyBinding"],
  ["POLICY_REF", "Tool", "MCPPolicyBinding"],
  ["POLICY_REF", "MCPPolicyBinding", "Policy"],
  ["POLICY_REF", "MCPPolicyBinding", "Policy"],
];
const edgeProps: Partial<Record<EdgeKind, (pick: Pick) => Record<string, unknown>>> = {
  HAS_CAPABILITY: () => ({ granted_by: "person:x" }),
  REQUIRES: (pick) => pick([{}, { scopes: ["read"] }]),
  GRANTS_ACCESS: (pick) => pick([{}, { actions: ["view"] }, { actions: ["tools/call"] }]),
  OWNS_RESOURCE: () => ({ level: "deputy" }),
  CONTROLLED_BY: () => ({ level: "deputy" }),
};

/** An edge that may not be (another tenant's, a ring, a place that is taken) is none. */
const putSome = async (tx: GraphTransaction, world: RandomWorld, pick: Pick): Promise<void> => {
  const [kind, from, to] = pick(shapes);
  const [src, dst] = [pick(world.ids[from] ?? []), pick(world.ids[to] ?? [])];
  const ends = someTime(pick);
  const isRing = from === to && src >= dst;
  const tenantOf = new Map((await lockNodes(tx.sql, [src, dst])).entries());
  const [one, other] = [tenantOf.get(src), tenantOf.get(dst)];
  const isAcross = one?.tenant_id !== null && other?.tenant_id !== null && one?.tenant_id !== other?.tenant_id;
  if (one === undefined || other === undefined || isRing || isAcross) return;
  if (kind === "PROVIDES" && one.tenant_id !== other.tenant_id) return;
  if ((kind === "BELONGS_TO" || kind === "PROVIDES") && (await lockEdgesOf(tx.sql, dst, kind)).length > 0) return;
  await putEdge(tx, {
    kind,
    src,
    dst,
    props: edgeProps[kind]?.(pick) ?? {},
    ...(kind === "HAS_CAPABILITY" ? { digest: pick([undefined, "d1", "d2"]) } : {}),
    ...(ends === undefined ? {} : { expires_at: ends }),
  });
};

const BELOW = statement(
  "testing.delegation_below",
  "update membership.delegation set parent_id = $2, path = array[$2, id], delegator_id = delegator_id where id = $1",
);
const STATUS = statement(
  "testing.delegation_status",
  `update membership.delegation set status = $2, hold = $3, ended_at = case when $2 in ('revoked', 'expired') then now() end, rev = rev + 1 where id = $1`,
);

const delegate = async (tx: GraphTransaction, world: RandomWorld, pick: Pick): Promise<void> => {
  const id = `delegation:${world.tenants[0].slice(7)}.${world.delegations.length}`;
  const agentId = pick(world.ids["AIAgent"]?.slice(0, 2) ?? []);
  const parent = world.delegations.length > 0 ? pick([undefined, undefined, world.delegations[0]]) : undefined;
  await insertDelegation(tx.sql, {
    id,
    delegatorId: pick(world.ids["Person"]?.slice(0, 2) ?? []),
    agentId,
    capabilities: pick<readonly string[] | null>([null, null, [], world.ids["Tool"]?.slice(0, 2) ?? [], ["tool:of.nobody"]]),
    // What was not lent is not given back.
    limitMicro: parent === undefined ? BigInt(pick([0, 1_000_000, 1_234_567])) : 0n,
    limitSteps: parent === undefined ? pick([0, 5, 50]) : 0,
    purpose: pick(["p", "größer"]),
    validFrom: pick([null, null, new Date(Date.now() + hour)]),
    expiresAt: someTime(pick) ?? null,
    createdBy: "person:x",
    constraints: [{}, { tenant_ids: [world.tenants[0]] }, { per_call_usd: 1 }, {}, { tenant_ids: [] }][world.delegations.length],
  });
  if (parent !== undefined) await tx.sql.run(BELOW, [id, parent]);
  await recordDelegation(tx, id);
  world.delegations.push(id);
};
const restate = async (tx: GraphTransaction, world: RandomWorld, pick: Pick): Promise<void> => {
  if (world.delegations.length === 0) return;
  const id = pick(world.delegations);
  const before = await delegationLogRow(tx.sql, id);
  const status = pick(["active", "paused", "revoked", "expired"]);
  await tx.sql.run(STATUS, [id, status, status === "paused" ? pick(["manual", "not_yet_valid"]) : null]);
  await recordDelegation(tx, id, before);
};
const dropSomeEdge = async (tx: GraphTransaction, world: RandomWorld, pick: Pick): Promise<void> => {
  const kind = pick(["Account", "Group", "AIAgent", "Tool"]);
  const edges = (await lockEdgesOf(tx.sql, pick(world.ids[kind] ?? []))).filter(
    (edge) => edge.kind !== "DELEGATES_TO" && edge.kind !== "CONTROLLED_BY",
  );
  if (edges.length > 0) await dropEdges(tx, wholeGraph, [pick(edges)]);
};
/** Away, and perhaps back at once, with none of its edges. */
const dropSomeNode = async (tx: GraphTransaction, world: RandomWorld, pick: Pick): Promise<void> => {
  const kind = pick(["BusinessRole", "Tool", "SaaSApp", "Resource"] as const);
  const id = pick(world.ids[kind] ?? []);
  const row = (await lockNodes(tx.sql, [id])).get(id);
  if (row !== undefined) await dropNode(tx, wholeGraph, row, true);
  if (row === undefined || pick([true, false])) await putOne(tx, world, pick, kind, id);
};

const RULE = statement(
  "testing.index_rule",
  `insert into membership.data_scope_rule (tenant_id, resource_type, tenant_column, own_column, own_groups, masks)
   values ($1, 'employee', 'tenant_id', 'owner', $2, '[{"column": "salary", "kind": "null", "unless_member_of": []}]') on conflict do nothing`,
);

const by = { actor: "person:x", source: "api", correlationId: "test", tenantId: null } as const;

/** The world, written as one version. */
export const makeWorld = async (write: WriteGraph, world: RandomWorld, pick: Pick): Promise<void> => {
  await write(by, async (tx) => {
    for (const [kind, ids] of Object.entries(world.ids)) for (const id of ids) await putOne(tx, world, pick, kind as NodeKind, id);
    for (let edge = 0; edge < 70; edge++) await putSome(tx, world, pick);
    world.delegations.length = 0;
    for (let one = 0; one < 5; one++) await delegate(tx, world, pick);
    await tx.sql.run(RULE, [world.tenants[0], world.ids["Group"]?.slice(0, 1) ?? []]);
    return { value: undefined };
  });
};

/** A few changes of every sort, as one version. */
export const changeWorld = async (write: WriteGraph, world: RandomWorld, pick: Pick): Promise<void> => {
  await write(by, async (tx) => {
    for (let change = 0; change < 4; change++) {
      const kind = pick(["Person", "Account", "Group", "AIAgent", "Tool", "Resource"] as const);
      const acts = [
        () => putOne(tx, world, pick, kind, pick(world.ids[kind] ?? [])),
        () => putSome(tx, world, pick),
        () => putSome(tx, world, pick),
        () => dropSomeEdge(tx, world, pick),
        () => dropSomeNode(tx, world, pick),
        () => restate(tx, world, pick),
      ];
      await pick(acts)();
    }
    return { value: undefined };
  });
};

const asksOf = (world: RandomWorld): readonly FactAsk[] => {
  const of = (kind: string): readonly string[] => world.ids[kind] ?? [];
  const agents = of("AIAgent");
  const subjects = [...of("Person"), agents[0] ?? "", of("Account")[0] ?? "", "nobody:here"];
  const resources: readonly (readonly [type: string, id: string, action: string])[] = [
    ...of("Tool").map((id) => ["tool", id, "tools/call"] as const),
    ...of("Resource").flatMap((id) => [["pages", `ext-${id}`, "view"] as const, ["identities", id, "view"] as const]),
    ["agents", agents[0] ?? "", "control"],
    ["delegations", agents[0] ?? "", "create"],
    ...world.delegations.slice(0, 2).map((id) => ["delegations", id, "view"] as const),
    ["employee", "*", "view"],
  ];
  const chains = [undefined, [agents[0] ?? ""], [agents[1] ?? ""], [agents[1] ?? "", agents[0] ?? ""]];
  return subjects.flatMap((subject_id) =>
    resources.flatMap(([type, external_id, action]) =>
      (type === "tool" ? chains : [undefined]).map((agent_ids, index) => ({
        subject_id,
        action,
        resource: { type, external_id },
        ...(agent_ids === undefined ? {} : { agent_ids }),
        ...(index === 1 && world.delegations[1] !== undefined ? { delegation_id: world.delegations[1] } : {}),
        ...(index === 2 ? { tenant_id: world.tenants[0] } : {}),
      })),
    ),
  );
};

type Question = readonly [what: string, ask: (reader: GraphReader) => Promise<{ readonly version: bigint; readonly source?: "index" }>];
const questionsOf = (world: RandomWorld): readonly Question[] => {
  const of = (kind: string): readonly string[] => world.ids[kind] ?? [];
  const [agentId = "", otherAgent = ""] = of("AIAgent");
  const users = [...of("Person"), agentId];
  const scopes = [wholeGraph, ...world.tenants.map(scopeOfTenant), scopeOfTenant("tenant:of-nobody")];
  return scopes.flatMap((scope): readonly Question[] => {
    const as = `as ${scope.tenant}`;
    return [
      ...users.flatMap((userId): readonly Question[] => [
        [`capabilities of ${userId} ${as}`, (reader) => reader.capabilities(scope, { userId })],
        [`capabilities of ${userId} by ${agentId} ${as}`, (reader) => reader.capabilities(scope, { userId, agentId })],
        [`delegations of ${userId} ${as}`, (reader) => reader.delegations(scope, { userId, limit: 500, offset: 0 })],
        [
          `paused delegations of ${userId} ${as}`,
          (reader) => reader.delegations(scope, { userId, agentId: otherAgent, status: "paused", limit: 2, offset: 1 }),
        ],
        [`rows of ${userId} ${as}`, (reader) => reader.dataScope(scope, { subjectId: userId, resourceType: "employee" })],
        [`level of ${userId} ${as}`, (reader) => reader.assurance(scope, userId)],
        ...of("Tool").map((toolId): Question => [
          `chain of ${userId} to ${toolId} ${as}`,
          (reader) => reader.chain(scope, { userId, agentId, toolId }),
        ]),
        ...[of("Tool")[0] ?? "", of("Tenant")[0] ?? ""].map((to, index): Question => {
          const ask = { from: userId, to, maxHops: 6, directed: index === 0 };
          const types = index === 0 ? [] : ["MEMBER_OF", "BELONGS_TO", "GRANTS_ACCESS"];
          return [`path of ${userId} to ${to} ${as}`, (reader) => reader.path(scope, { ...ask, types })];
        }),
        ...(["out", "in", "both"] as const).map((direction): Question => [
          `near ${userId} ${direction} ${as}`,
          (reader) => reader.near(scope, { id: userId, hops: 3, types: [], direction, limit: direction === "both" ? 7 : 500 }),
        ]),
      ]),
      [`rows of an account ${as}`, (reader) => reader.dataScope(scope, { subjectId: of("Account")[0] ?? "", resourceType: "x" })],
      [`nodes by kind ${as}`, (reader) => reader.kindCounts(scope)],
      [`edges by kind ${as}`, (reader) => reader.edgeKindCounts(scope)],
      [`persons and groups ${as}`, (reader) => reader.count(scope, { kinds: ["Person", "Group"] })],
      [`facts ${as}`, (reader) => reader.facts(scope, asksOf(world))],
    ];
  });
};

/** How often something was told: answers that are all empty would prove nothing. */
export type Reported = Map<string, number>;

/** How often in vain both were asked the last question: who writes meanwhile waits the longer for it, or no two would ever meet. */
export interface Pace {
  tries: number;
}

/** Both answer every question that is asked alike at one version; asked again where a write came between the two. */
export const requireEqual = async (
  index: GraphReader,
  sql: GraphReader,
  world: RandomWorld,
  {
    reported: said = new Map(),
    pace = { tries: 0 },
    isAsked = () => true,
  }: { reported?: Reported; pace?: Pace; isAsked?: () => boolean } = {},
): Promise<void> => {
  for (const [what, ask] of questionsOf(world).filter(isAsked))
    for (let tries = 1; ; tries++) {
      pace.tries = tries;
      const [own, kept] = [await ask(index), await ask(sql)];
      if (own.source !== "index" || own.version !== kept.version) {
        assert.ok(tries < 500, `${what}: never both at one version, last ${own.source ?? "rows"} at ${own.version} and ${kept.version}`);
        // An index that is built anew answers by the rows until it is done.
        if (own.source !== "index") await pause(20);
        continue;
      }
      const { source: _source, ...reported } = own;
      assert.deepEqual({ validUntil: null, ...reported }, { validUntil: null, ...kept }, what);
      const [word = ""] = what.split(" ");
      const text = JSON.stringify(("value" in kept ? kept.value : undefined) ?? null);
      if (!/^(\[\]|null|\{\}|\{"found":false.*|\{"tenant_ids":\[\].*)?$/.test(text)) said.set(word, (said.get(word) ?? 0) + 1);
      for (const sign of ['"capability":true', '"granted":true', '"active":true', '"definition_ok":false', '"chain":false', '"policies":'])
        if (text.includes(sign)) said.set(sign, (said.get(sign) ?? 0) + 1);
      break;
    }
};

const SPENT = statement(
  "testing.index_spent",
  "update membership.meter set used_steps = least(limit_steps, 3), used_micro = limit_micro / 2 where delegation_id = any($1)",
);
/** What the ledger alone says is no version, and counts at once all the same. */
export const spend = async (sql: Sql, world: RandomWorld): Promise<void> => void (await sql.run(SPENT, [world.delegations]));
