import type { z } from "zod";
import { Problem } from "#contract/problem.ts";
import type { mcpServiceDraft } from "#contract/registry.ts";
import { statement, type Sql } from "#store/database.ts";
import { draftOfRow, isSeen, requireOwn, requireOwnNode, tenantOfWriter } from "#membership/graph-edit/edits.ts";
import { putHolder } from "#membership/graph-edit/holders.ts";
import { lockEdgesOf } from "#membership/graph/drop-edge.ts";
import { dropNode } from "#membership/graph/drop-node.ts";
import type { NodeKind } from "#membership/model/kinds.ts";
import { putEdges } from "#membership/graph/put-edge.ts";
import {
  lockNodes,
  present,
  putNode,
  putNodes,
  requireOutcomes,
  servicePrefix,
  type KeptNode,
  type NodeDraft,
  type NodeRow,
  type Outcome,
} from "#membership/graph/put-node.ts";
import { sentAs, type Place } from "#membership/graph/row-refusal.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";
import { wholeGraph, type TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import type { definedTool } from "./definitions.ts";

/** The caller's own node of that kind. Throws `not_found`, `access_denied` for a shared one. */
const requireKind = async (sql: Sql, scope: TenantScope, id: string, kind: NodeKind): Promise<KeptNode> => {
  const row = await requireOwnNode(sql, scope, id);
  if (row.kind !== kind) throw new Problem("not_found");
  return row;
};

/** Throws `managed_elsewhere` for a service whose tools Sallyport itself publishes. */
const requireRegistered = (row: KeptNode): KeptNode => {
  if (row.props["managed_by"] !== "registry")
    throw new Problem("managed_elsewhere", { detail: "Its tools come from a system of this deployment: change that." });
  return row;
};

const BY_NAME = statement<{ id: string }>(
  "membership.registry_own_service",
  "select id from membership.node where kind = 'MCPService' and name = $2 and tenant_id is not distinct from $1",
);

/** A name is the tenant's own, an id is everybody's: so the tenant stands in it. */
const serviceIdOf = (tenantId: string | null, name: string): string => `${servicePrefix(tenantId)}${name}`.slice(0, 200);

/** What is there of that kind in that tenant, with the draft's id; anything else that has the id is not written over, and is not read. */
const heldAs = (held: ReadonlyMap<string, KeptNode>, { id, kind, tenant_id }: NodeDraft): KeptNode | undefined => {
  const row = held.get(id);
  return row?.kind === kind && row.tenant_id === tenant_id ? row : undefined;
};

/** The draft over what is there: what it does not say stays, and a prop that it has without a value goes. */
const over = (held: KeptNode | undefined, draft: NodeDraft): NodeDraft => ({
  ...(held === undefined ? {} : draftOfRow(held)),
  ...draft,
  state: draft.state ?? held?.state,
  props: present({ ...held?.props, ...draft.props }),
});

/** Registers a service, or changes it; its owner becomes the primary one. */
export const putService = async (
  tx: GraphTransaction,
  scope: TenantScope,
  sent: z.output<typeof mcpServiceDraft>,
  callerId: string,
): Promise<{ readonly id: string; readonly outcome: Outcome }> => {
  const { id: given, name, display_name, state, reason: _reason, owner_id, ...props } = sent;
  const tenantId = tenantOfWriter(scope);
  const [known] = await tx.sql.run(BY_NAME, [tenantId, name]);
  const id = given ?? known?.id ?? serviceIdOf(tenantId, name);
  const held = await lockNodes(tx.sql, [id, callerId]);
  const draft: NodeDraft = { id, kind: "MCPService", name, tenant_id: tenantId, system: name.slice(0, 64) };
  const own = heldAs(held, draft);
  if (own !== undefined) requireRegistered(own);
  const owned = own?.props["owner_id"] as string | undefined;
  const isPerson = held.get(callerId)?.kind === "Person";
  const owner = owner_id ?? owned ?? (isPerson ? callerId : undefined);
  const said = { ...present({ display_name, state }), props: { ...present(props), owner_id: owner, managed_by: "registry" } };
  const outcome = await putNode(tx, over(own, { ...draft, ...said }), scope);
  if (owner !== undefined && owner !== owned)
    await putHolder(tx, scope, { kind: "OWNS_RESOURCE", thing: id, holder: owner, level: "primary" }, "owner_id");
  return { id, outcome };
};

/**
 * A name is the tenant's whose system is published under it. What another tenant has there that no system stands behind, retired or
 * provided by nothing, goes with its edges.
 */
const takeNames = async (tx: GraphTransaction, { tenant, names }: TenantScope, ids: readonly string[], service: NodeRow): Promise<void> => {
  if (names !== "tools" && tenant !== "*") return;
  for (const row of (await lockNodes(tx.sql, ids)).values()) {
    if (row.tenant_id === service.tenant_id || row.tenant_id === null || row.kind !== "Tool") continue;
    const isLeft = row.state === "retired" || (await lockEdgesOf(tx.sql, row.id, "PROVIDES")).length === 0;
    if (isLeft) await dropNode(tx, wholeGraph, row, true);
  }
};

/** Registers what a service provides. Two of one batch that are the same thing are refused. */
export const putProvided = async <D>(
  tx: GraphTransaction,
  scope: TenantScope,
  serviceId: string,
  sent: readonly D[],
  define: (service: NodeRow, one: D) => ReturnType<typeof definedTool>,
  list: string | undefined,
): Promise<{ readonly ids: readonly string[]; readonly outcomes: readonly Outcome[]; readonly service: NodeRow }> => {
  const service = requireRegistered(await requireKind(tx.sql, scope, serviceId, "MCPService"));
  const placeOf = (at: number): string => (list === undefined ? "" : `/${list}/${at}`);
  const all = sent.map((one, at) => {
    try {
      return define(service, one);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const errors = (error.options.errors ?? []).map((issue) => ({ ...issue, path: `${placeOf(at)}${issue.path}` }));
      throw new Problem(error.code, { ...error.options, errors });
    }
  });
  const place: Place = (at, path) => {
    const key = all[at]?.key ?? "";
    return path === "/" ? placeOf(at) || path : `${placeOf(at)}${sentAs({ id: key, kind: key })(at, path)}`;
  };
  const ids = all.map(({ draft }) => draft.id);
  const twice = ids.findIndex((id, at) => ids.indexOf(id) !== at);
  if (twice !== -1) throw new Problem("conflict", { errors: [{ path: placeOf(twice), message: "is there twice" }] });
  await takeNames(tx, scope, ids, service);
  // What the registry does not say of a node that is there stays: its state above all, which is somebody's decision, and how it is to be called.
  const held = await lockNodes(tx.sql, ids);
  const drafts = all.map(({ draft }) => over(heldAs(held, draft), draft));
  const outcomes = requireOutcomes(await putNodes(tx, scope, drafts), place);
  const edges = all.map(({ draft, edge }) => ({ kind: edge, src: serviceId, dst: draft.id }));
  requireOutcomes(await putEdges(tx, scope, edges), place);
  return { ids, outcomes, service };
};

const PROVIDED = statement<{ id: string; agents: readonly string[] }>(
  "membership.registry_provided",
  `select p.dst as id, coalesce((select array_agg(c.src order by c.src) from membership.edge c
     where c.dst = p.dst and c.kind = 'HAS_CAPABILITY' and ${unexpired("c")}), '{}') as agents
   from membership.edge p where p.src = $1 and p.kind in ('PROVIDES', 'PROVIDES_RESOURCE', 'OFFERS_PROMPT') order by p.dst`,
);

/** Takes a service away with all that it provides. Throws `in_use` with the agents that have one of its tools, unless forced. */
export const dropService = async (tx: GraphTransaction, scope: TenantScope, id: string, force: boolean): Promise<void> => {
  const service = await requireKind(tx.sql, scope, id, "MCPService");
  const provided = await tx.sql.run(PROVIDED, [id]);
  const agents = [...new Set(provided.flatMap((one) => one.agents))].sort();
  if (agents.length > 0 && !force)
    throw new Problem("in_use", { detail: "Agents have its tools; force=true takes them away.", members: { agents } });
  for (const one of provided) await dropNode(tx, scope, await requireOwnNode(tx.sql, scope, one.id), true);
  await dropNode(tx, scope, service, true);
};

/** Nodes that are written at once: what each costs here is done within 50 ms. */
const AT_ONCE = 200;

/** Retires what of these is a tool of the writer's, and answers that. Throws `access_denied` for a shared one. */
export const retireTools = async (tx: GraphTransaction, scope: TenantScope, ids: readonly string[]): Promise<readonly string[]> => {
  const retired: string[] = [];
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const held = await lockNodes(tx.sql, ids.slice(from, from + AT_ONCE));
    const tools = [...held.values()].filter((row) => row.kind === "Tool" && isSeen(scope, row));
    for (const tool of tools) requireOwn(scope, tool);
    const drafts = tools.map((tool) => ({ ...draftOfRow(tool), state: "retired" }));
    requireOutcomes(await putNodes(tx, scope, drafts));
    retired.push(...tools.map(({ id }) => id));
    await tx.spill();
  }
  return retired;
};

/** Retires a tool; with `purge` it goes, and its edges with it. */
export const dropTool = async (tx: GraphTransaction, scope: TenantScope, id: string, purge: boolean): Promise<void> => {
  const tool = await requireKind(tx.sql, scope, id, "Tool");
  if (purge) return dropNode(tx, scope, tool, true);
  await retireTools(tx, scope, [id]);
};
