import {
  addOwner,
  assignRtr,
  controlAgent,
  dropController,
  dropOwner,
  dropRtrAssignment,
  listControllers,
  listOwners,
  listRtrAssignments,
  resumeAgent,
  suspendAgent,
} from "#contract/governance.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import { requireNode, requireView } from "#membership/context/access.ts";
import { draftOfRow, isSeen, requireOwnNode } from "#membership/graph-edit/edits.ts";
import { dropHolder, putHolder } from "#membership/graph-edit/holders.ts";
import { gone, statusOf, versioned } from "#membership/context/graph-answers.ts";
import { actOn, takeAway, writeAs } from "#membership/graph-edit/write-as.ts";
import { dropEdges, lockEdge } from "#membership/graph/drop-edge.ts";
import { identityKinds, labelsOfKind } from "#membership/model/kinds.ts";
import { edgeIdOf, putEdge } from "#membership/graph/put-edge.ts";
import { lockNodes, putNode, type NodeRow } from "#membership/graph/put-node.ts";
import { sentAs } from "#membership/graph/row-refusal.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import { listOpen } from "#membership/delegations/read-ledger.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import type { Sql } from "#store/database.ts";
import { pauseUncontrolled } from "./pause-uncontrolled.ts";
import { findRtrs, liveOfAgent, readAssignments, readHolders } from "./read-governance.ts";

const controlled: readonly string[] = ["AIAgent", "Service"];
const owned: readonly string[] = ["Resource", "Tool", "MCPService", "SaaSApp"];

/** The node as this tenant sees it, if it is of these kinds. Throws `not_found`. */
const requireSeen = async (sql: Sql, scope: TenantScope, id: string, kinds: readonly string[]): Promise<NodeRow> => {
  const row = (await lockNodes(sql, [id])).get(id);
  if (row === undefined || !isSeen(scope, row) || !kinds.includes(row.kind)) throw new Problem("not_found");
  return row;
};

/** Who answers for agents and things. Each act is one version, with its audit entry. */
export const serveGovernance = (context: MembershipContext): void => {
  const { router, database } = context;
  const controlling = actOn(["agents", "control"], "agents");
  const switching = actOn(["agents", "suspend"], "agents");
  const owning = actOn(["resources", "assign_owner"], "resources");
  const assigning = actOn(["rtrs", "assign"], "rtrs");

  router.serve(controlAgent, async (call) => {
    const { agent_id } = call.params;
    const { controller_id, level, reason } = call.body;
    const asked = controlling(call, "agent_controlled", agent_id, reason);
    const { value, version } = await writeAs(context, asked, async (tx, scope) => {
      await requireSeen(tx.sql, scope, agent_id, controlled);
      const outcome = await putHolder(tx, scope, { kind: "CONTROLLED_BY", thing: agent_id, holder: controller_id, level }, "controller_id");
      const held = (await readHolders(tx.sql, scope, agent_id, "CONTROLLED_BY")).find(({ id }) => id === controller_id);
      // The log has what is written here only once it is committed.
      return { value: held === undefined || outcome === "same" ? held : { ...held, granted_by: call.caller.sub } };
    });
    if (value === undefined) throw new Error("a controller is there once it is named");
    const { since, granted_by } = value;
    const reply = { agent_id, controller_id, level: value.level, since, granted_by, graph_version: Number(version) };
    return answer(reply, { headers: versioned(version) });
  });

  router.serve(listControllers, async (call) => {
    const { agent_id } = call.params;
    const scope = await requireView(context, call, { type: "agents", action: "view_all" });
    await requireNode(context, scope, agent_id, controlled);
    const rows = await readHolders(database, scope, agent_id, "CONTROLLED_BY");
    return { agent_id, controllers: rows.map(({ id, ...row }) => ({ controller_id: id, ...row })) };
  });

  router.serve(dropController, async (call) => {
    const { agent_id } = call.params;
    const { reason, force } = call.query;
    const asked = controlling(call, "agent_released", agent_id, reason);
    const { version } = await writeAs(context, asked, async (tx, scope, actor) => {
      await requireSeen(tx.sql, scope, agent_id, controlled);
      const held = await readHolders(tx.sql, scope, agent_id, "CONTROLLED_BY");
      if (call.query.controller_id === undefined && held.length > 1)
        throw new Problem("ambiguous", { detail: "It has several controllers: name one by controller_id." });
      const holder = call.query.controller_id ?? held[0]?.id;
      const isForced = force === "true";
      if (holder === undefined || !(await dropHolder(tx, scope, { kind: "CONTROLLED_BY", thing: agent_id, holder }, isForced)))
        throw new Problem("not_found");
      if (held.some(({ id }) => id !== holder)) return { value: undefined };
      const paused = await pauseUncontrolled(tx, scope, agent_id, actor);
      return { value: undefined, events: paused.events, also: paused.entries };
    });
    return gone(version);
  });

  const serveSwitch = (endpoint: typeof suspendAgent, op: "agent_suspended" | "agent_resumed", state: string): void =>
    router.serve(endpoint, async (call) => {
      const { agent_id } = call.params;
      const asked = switching(call, op, agent_id, call.body.reason);
      const { value, version } = await writeAs(context, asked, async (tx, scope) => {
        const row = await requireOwnNode(tx.sql, scope, agent_id);
        if (row.kind !== "AIAgent") throw new Problem("not_found");
        // `disabled` is more than a pause, and is undone by who may edit the node.
        if (row.state !== "active" && row.state !== "suspended")
          throw new Problem("conflict", { detail: `${agent_id} is ${row.state}: it is neither suspended nor resumed.` });
        await putNode(tx, { ...draftOfRow(row), state }, scope);
        const stopped = state === "active" ? [] : (await liveOfAgent(tx.sql, scope, agent_id)).map(({ id }) => id);
        return { value: { stopped, running: (await listOpen(tx.sql, scope, stopped)).map(({ call_id }) => call_id) } };
      });
      return answer(
        { agent_id, state, graph_version: Number(version), delegations_stopped: value.stopped.length, running_calls: value.running },
        { headers: versioned(version) },
      );
    });
  serveSwitch(suspendAgent, "agent_suspended", "suspended");
  serveSwitch(resumeAgent, "agent_resumed", "active");

  router.serve(addOwner, async (call) => {
    const { resource_id } = call.params;
    const { owner_identity_id, level, role, reason } = call.body;
    if (level !== undefined && role !== undefined && level !== role)
      throw new Problem("ambiguous", { detail: "level and role are two names of one thing, and differ." });
    const wanted = level ?? role ?? "primary";
    const asked = owning(call, "owner_assigned", resource_id, reason);
    const { value, version } = await writeAs(context, asked, async (tx, scope) => {
      await requireSeen(tx.sql, scope, resource_id, owned);
      const owner = { kind: "OWNS_RESOURCE", thing: resource_id, holder: owner_identity_id, level: wanted } as const;
      const outcome = await putHolder(tx, scope, owner, "owner_identity_id");
      const held = await readHolders(tx.sql, scope, resource_id, "OWNS_RESOURCE");
      return { value: { outcome, since: held.find(({ id }) => id === owner_identity_id)?.since ?? context.now().toISOString() } };
    });
    return answer(
      { resource_id, owner_identity_id, level: wanted, role: wanted, since: value.since, graph_version: Number(version) },
      { status: statusOf(value.outcome), headers: versioned(version) },
    );
  });

  router.serve(listOwners, async (call) => {
    const { resource_id } = call.params;
    const scope = await requireView(context, call, { type: "identities", action: "view_all" });
    await requireNode(context, scope, resource_id, owned);
    const rows = await readHolders(database, scope, resource_id, "OWNS_RESOURCE");
    const owners = rows.map(({ id, name, node_type, level, since }) => ({
      owner_identity_id: id,
      name,
      node_type,
      level,
      role: level,
      since,
    }));
    return { resource_id, owners };
  });

  router.serve(dropOwner, async (call) => {
    const { resource_id, owner_id } = call.params;
    const asked = owning(call, "owner_dropped", resource_id, call.query.reason);
    return takeAway(context, asked, async (tx, scope) => {
      await requireSeen(tx.sql, scope, resource_id, owned);
      if (!(await dropHolder(tx, scope, { kind: "OWNS_RESOURCE", thing: resource_id, holder: owner_id }))) throw new Problem("not_found");
    });
  });

  router.serve(listRtrAssignments, async (call) => {
    const scope = await requireView(context, call, { type: "identities", action: "view_all" });
    const { actor_id: actor, resource_id: resource, limit, skip } = call.query;
    const rows = await readAssignments(database, scope, { actor, resource }, { limit: limit + 1, skip });
    const items = rows.slice(0, limit).map(({ id, src, dst, discr, rtr, expires_at }) => ({
      assignment_id: id,
      actor_id: src,
      resource_id: dst,
      rtr,
      rtr_id: discr,
      expires_at,
    }));
    return { items, limit, skip, has_more: rows.length > limit };
  });

  router.serve(dropRtrAssignment, async (call) => {
    const { assignment_id: id } = call.params;
    const asked = assigning(call, "rtr_withdrawn", id, call.query.reason);
    return takeAway(context, asked, async (tx, scope) => {
      const [row] = await readAssignments(tx.sql, scope, { id }, { limit: 1, skip: 0 });
      const held = row === undefined ? undefined : await lockEdge(tx.sql, scope, row);
      if (held === undefined) throw new Problem("not_found");
      await dropEdges(tx, scope, [held]);
    });
  });

  router.serve(assignRtr, async (call) => {
    const { actor_label, actor_id, resource_id, rtr, expires_at, reason } = call.body;
    const asked = assigning(call, "rtr_assigned", `${actor_id} ${resource_id}`, reason);
    const { value, version } = await writeAs(context, asked, async (tx, scope) => {
      const actor = await requireSeen(tx.sql, scope, actor_id, [...identityKinds, "Group", "BusinessRole"]);
      if (!labelsOfKind(actor.kind).includes(actor_label))
        throw new Problem("label_mismatch", { errors: [{ path: "/actor_label", message: `the actor is a ${actor.kind}` }] });
      const resource = await requireSeen(tx.sql, scope, resource_id, ["Resource", "Location"]);
      const type = resource.kind === "Resource" ? String(resource.props["type"]) : null;
      const [found, other] = await findRtrs(tx.sql, scope, rtr, type);
      if (found === undefined)
        throw new Problem("unprocessable", { errors: [{ path: "/rtr", message: `is no role on ${type ?? "a location"} that is there` }] });
      if (other !== undefined && found.id !== rtr) throw new Problem("ambiguous", { detail: "Several roles have this name: send its id." });
      const ends = { kind: "HAS_RTR_AT", src: actor_id, dst: resource_id, discr: found.id } as const;
      const draft = { ...ends, expires_at: expires_at === undefined ? undefined : new Date(expires_at) };
      const outcome = await putEdge(tx, draft, scope, sentAs({ src: "actor_id", dst: "resource_id", discr: "rtr" }));
      return { value: { outcome, found, id: edgeIdOf(ends.kind, ends.src, ends.dst, ends.discr) } };
    });
    return answer(
      { assignment_id: value.id, actor_id, resource_id, rtr: value.found.name, rtr_id: value.found.id, graph_version: Number(version) },
      { status: statusOf(value.outcome), headers: versioned(version) },
    );
  });
};
