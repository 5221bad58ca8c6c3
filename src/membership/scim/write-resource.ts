import { randomBytes } from "node:crypto";
import { Problem } from "#contract/problem.ts";
import { isSqlFault } from "#store/sql-fault.ts";
import { draftOfRow } from "#membership/graph-edit/edits.ts";
import { dropEdges, lockEdgesOf } from "#membership/graph/drop-edge.ts";
import { dropNode } from "#membership/graph/drop-node.ts";
import { putEdges, type EdgeDraft } from "#membership/graph/put-edge.ts";
import { lockNodes, putNodes, requireOutcomes, type KeptNode, type NodeDraft } from "#membership/graph/put-node.ts";
import { scopeOfTenant } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { groupMembers, groupNode, userNodes } from "./scim-nodes.ts";
import type { ScimDocument, ScimType } from "./scim-schemas.ts";
import { ScimError } from "./scim-error.ts";
import {
  accountIdOf,
  deleteResource,
  findMembers,
  insertResource,
  nodeIdOf,
  readLinks,
  scimIdOf,
  updateResource,
  type ScimRow,
} from "./scim-store.ts";

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";
const newId = (): string => [...randomBytes(26)].map((byte) => BASE32[byte % 32]).join("");

/** Nodes of the directory alone: what somebody took over by giving it another system is theirs. */
const ownNodes = async (tx: GraphTransaction, tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, KeptNode>> => {
  const held = await lockNodes(tx.sql, [...ids]);
  for (const row of held.values())
    if (row.tenant_id !== tenant || row.system !== "scim")
      throw new Problem("access_denied", { detail: `${row.id} is kept by another system.` });
  return held;
};

const put = async (tx: GraphTransaction, tenant: string, nodes: readonly NodeDraft[], edges: readonly EdgeDraft[]): Promise<void> => {
  const scope = scopeOfTenant(tenant);
  requireOutcomes(await putNodes(tx, scope, nodes));
  if (edges.length > 0) requireOutcomes(await putEdges(tx, scope, edges));
};

/** Makes the group's members those that the document names; what others put in stays. */
const settleMembers = async (tx: GraphTransaction, tenant: string, id: string, document: ScimDocument): Promise<void> => {
  const wanted = groupMembers(document);
  const known = await findMembers(tx.sql, tenant, wanted);
  const unknown = wanted.find((member) => !known.has(member));
  if (unknown !== undefined) throw new ScimError(400, "invalidValue", `There is no user or group ${unknown} that could be a member.`);
  const srcOf = (member: string, type: ScimType): string => (type === "User" ? accountIdOf(member) : nodeIdOf("Group", member));
  const present = new Map(((await readLinks(tx.sql, "Group", [id])).get(id) ?? []).map((link) => [scimIdOf(link.id), link.type]));
  const gone = new Set([...present].flatMap(([member, type]) => (known.has(member) ? [] : [srcOf(member, type)])));
  if (gone.size > 0) {
    const edges = (await lockEdgesOf(tx.sql, id, "MEMBER_OF")).filter(({ src, dst }) => dst === id && gone.has(src));
    await dropEdges(tx, scopeOfTenant(tenant), edges);
  }
  const added = [...known].filter(([member]) => !present.has(member));
  const edges = added.map(([member, type]) => ({ kind: "MEMBER_OF" as const, src: srcOf(member, type), dst: id }));
  await put(tx, tenant, [], edges);
};

const taken = (error: unknown): never => {
  if (isSqlFault(error, "23505")) throw new ScimError(409, "uniqueness", "Another user has this userName.");
  throw error;
};

/** A new one, with its nodes. Throws `ScimError`, and the problems of the graph. */
export const createResource = async (tx: GraphTransaction, tenant: string, type: ScimType, document: ScimDocument): Promise<ScimRow> => {
  const id = newId();
  const nodeId = nodeIdOf(type, id);
  if (type === "User")
    await put(tx, tenant, userNodes(tenant, id, document, undefined, new Map()), [
      { kind: "BELONGS_TO", src: nodeId, dst: accountIdOf(id) },
      { kind: "MEMBER_OF", src: accountIdOf(id), dst: tenant },
    ]);
  else await put(tx, tenant, [groupNode(tenant, id, document, undefined)], [{ kind: "MEMBER_OF", src: nodeId, dst: tenant }]);
  const { members: _members, ...kept } = document;
  const row = await insertResource(tx.sql, tenant, type, nodeId, type === "Group" ? kept : document).catch(taken);
  if (type === "Group") await settleMembers(tx, tenant, nodeId, document);
  return row;
};

/** The locked one becomes as the document says. `membersNamed`: the document says who is in the group. */
export const replaceResource = async (
  tx: GraphTransaction,
  tenant: string,
  type: ScimType,
  row: ScimRow,
  document: ScimDocument,
): Promise<ScimRow> => {
  const id = scimIdOf(row.id);
  const held = await ownNodes(tx, tenant, type === "User" ? [row.id, accountIdOf(id)] : [row.id]);
  if (type === "User") await put(tx, tenant, userNodes(tenant, id, document, row.document, held), []);
  else {
    await put(tx, tenant, [groupNode(tenant, id, document, held.get(row.id))], []);
    await settleMembers(tx, tenant, row.id, document);
  }
  const { members: _members, ...kept } = document;
  return updateResource(tx.sql, row.id, type === "Group" ? kept : document).catch(taken);
};

/**
 * A group goes with its edges. A person stays as a disabled node without external id, for what it did stays on record; to the directory
 * it is gone, and another may have its name.
 */
export const removeResource = async (tx: GraphTransaction, tenant: string, type: ScimType, row: ScimRow): Promise<void> => {
  const ids = type === "User" ? [row.id, accountIdOf(scimIdOf(row.id))] : [row.id];
  const held = await ownNodes(tx, tenant, ids);
  await deleteResource(tx.sql, row.id);
  if (type === "User") {
    const drafts = [...held.values()].map((row) => ({ ...draftOfRow(row), digest: undefined, external_id: undefined, state: "disabled" }));
    return put(tx, tenant, drafts, []);
  }
  const [node] = (await lockNodes(tx.sql, ids)).values();
  if (node !== undefined) await dropNode(tx, scopeOfTenant(tenant), node, true);
};
