import { deleteGraphEdge, deleteGraphNode, getGraphEdge, patchGraphNode, putGraphEdge, putGraphNode } from "#contract/graph-edit.ts";
import { nodeId } from "#contract/ids.ts";
import { mergePatch } from "#contract/merge-patch.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import { requireView } from "#membership/context/access.ts";
import { lockEdge, readEdge, readWritten } from "#membership/graph/drop-edge.ts";
import { lockNodes, putNode, type NodeDraft } from "#membership/graph/put-node.ts";
import { refuseHeld, requireTag, requireTags, tagOf, tagsOf } from "#membership/model/if-match.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { applyEdit, draftOfRow, edgeKindOf, nodeDraftOf, requireEdge, requireOwnNode, tenantOfWriter } from "./edits.ts";
import { statusOf, versioned } from "#membership/context/graph-answers.ts";
import { actOn, takeAway, writeAs } from "./write-as.ts";

const written = <R extends { readonly rev: bigint }>({ rev, ...row }: R, version: bigint | undefined, status = 200) =>
  answer(row, { status, headers: { etag: tagOf({ rev }), ...(version === undefined ? {} : versioned(version)) } });

/** Writing the graph by hand: nodes and edges of every kind, alone or many at once. */
export const serveGraphEdit = (context: MembershipContext): void => {
  const { router } = context;
  const act = actOn(["graph", "edit"], "graph");

  router.serve(putGraphNode, async (call) => {
    const { params, request } = call;
    const { reason, ...body } = call.body;
    if (!nodeId.safeParse(params.id).success) throw new Problem("unprocessable", { errors: [{ path: "/id", message: "is not an id" }] });
    const isNew = request.headers.get("if-none-match")?.trim() === "*";
    const tags = isNew ? undefined : requireTags(request);
    const { value, version } = await writeAs(context, act(call, "graph_put_node", params.id, reason), async (tx, scope) => {
      const draftOf = () => nodeDraftOf({ ...body, id: params.id }, tenantOfWriter(scope));
      if (tags !== undefined) requireTag(tags, await requireOwnNode(tx.sql, scope, params.id));
      else {
        const held = (await lockNodes(tx.sql, [params.id])).get(params.id);
        if (held !== undefined && held.tenant_id === draftOf().tenant_id) refuseHeld(held);
      }
      const outcome = await putNode(tx, draftOf(), scope);
      return { value: { outcome, row: await requireOwnNode(tx.sql, scope, params.id) } };
    });
    return written(value.row, version, statusOf(value.outcome));
  });

  router.serve(patchGraphNode, async (call) => {
    const tags = requireTags(call.request);
    const { reason, ...patch } = call.body;
    const { value, version } = await writeAs(context, act(call, "graph_put_node", call.params.id, reason), async (tx, scope) => {
      const row = await requireOwnNode(tx.sql, scope, call.params.id);
      requireTag(tags, row);
      // Null takes it away: that is said, where a PUT without it says nothing.
      const system = patch.system === null ? { system: null } : {};
      await putNode(tx, { ...(mergePatch(draftOfRow(row), patch) as NodeDraft), ...system }, scope);
      return { value: await requireOwnNode(tx.sql, scope, call.params.id) };
    });
    return written(value, version);
  });

  router.serve(deleteGraphNode, async (call) => {
    const tags = requireTags(call.request);
    const { cascade, reason } = call.query;
    return takeAway(context, act(call, "graph_drop_node", call.params.id, reason), async (tx, scope) => {
      requireTag(tags, await requireOwnNode(tx.sql, scope, call.params.id));
      await applyEdit(tx, scope, { op: "drop_node", id: call.params.id, cascade: cascade === "true" });
    });
  });

  router.serve(getGraphEdge, async (call) => {
    const { params, query } = call;
    const scope = await requireView(context, call, { type: "graph", action: "diagnose" });
    const row = await readEdge(context.database, scope, { ...params, kind: edgeKindOf(params.kind), discr: query.discr ?? "" });
    if (row === undefined) throw new Problem("not_found");
    return written(row, undefined);
  });

  router.serve(putGraphEdge, async (call) => {
    const { params, query, request } = call;
    const { reason, ...body } = call.body;
    const ends = { kind: edgeKindOf(params.kind), src: params.src, dst: params.dst, discr: query.discr ?? "" };
    const tags = tagsOf(request);
    const isNew = request.headers.get("if-none-match")?.trim() === "*";
    const asked = act(call, "graph_put_edge", `${params.src} ${params.kind} ${params.dst}`, reason);
    const { value, version } = await writeAs(context, asked, async (tx, scope) => {
      const held = await lockEdge(tx.sql, scope, ends);
      if (held === undefined && tags !== undefined) throw new Problem("not_found");
      if (held !== undefined && isNew) refuseHeld(held);
      if (held !== undefined) requireTag(tags, held);
      const outcome = await applyEdit(tx, scope, { op: "put_edge", edge: { ...body, ...params, discr: query.discr } });
      return { value: { outcome, row: await readWritten(tx.sql, scope, ends) } };
    });
    if (value.row === undefined) throw new Error("an edge is there once it is written");
    return written(value.row, version, statusOf(value.outcome));
  });

  router.serve(deleteGraphEdge, async (call) => {
    const { params, query } = call;
    const ends = { ...params, discr: query.discr };
    const asked = act(call, "graph_drop_edge", `${params.src} ${params.kind} ${params.dst}`, query.reason);
    return takeAway(context, asked, async (tx, scope) => {
      requireTag(tagsOf(call.request), await requireEdge(tx.sql, scope, ends));
      await applyEdit(tx, scope, { op: "drop_edge", edge: ends });
    });
  });
};
