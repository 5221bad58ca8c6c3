import { randomBytes } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import { Problem } from "#contract/problem.ts";
import type { Sql } from "#store/database.ts";
import { isSqlError } from "#store/sql-error.ts";
import { draftOfRow } from "#membership/graph-edit/edits.ts";
import { dropEdges, lockEdgesFrom } from "#membership/graph/drop-edge.ts";
import { dropNode } from "#membership/graph/drop-node.ts";
import { putEdges, type EdgeDraft } from "#membership/graph/put-edge.ts";
import { lockNodes, putNodes, requireOutcomes, type KeptNode, type NodeDraft } from "#membership/graph/put-node.ts";
import { scopeOfTenant } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { groupNode, userNodes } from "./scim-nodes.ts";
import type { MemberChange, Patched } from "./scim-patch.ts";
import type { ScimType } from "./scim-schemas.ts";
import { ScimError } from "./scim-error.ts";
import {
  accountIdOf,
  deleteResource,
  findMembers,
  insertResource,
  nodeIdOf,
  readLinks,
  readNamedLinks,
  scimIdOf,
  updateResource,
  type ScimRow,
} from "./scim-store.ts";

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";
const newId = (): string => [...randomBytes(26)].map((byte) => BASE32[byte % 32]).join("");

type Nodes = ReadonlyMap<string, KeptNode>;
const KINDS: Readonly<Record<ScimType, readonly string[]>> = { User: ["Person", "Account"], Group: ["Group"] };
/** The nodes of a resource, locked. What another tenant has under such an id, or a node of another kind, is none of them. */
const lockOwn = async (sql: Sql, tenant: string, { type, id }: { readonly type: ScimType; readonly id: string }): Promise<Nodes> => {
  const ids = type === "User" ? [id, accountIdOf(scimIdOf(id))] : [id];
  const found = await lockNodes(sql, ids);
  return new Map([...found].filter(([one, node]) => node.tenant_id === tenant && node.kind === KINDS[type][ids.indexOf(one)]));
};
/** One that somebody took over by giving it another system. */
const foreignOf = (held: Nodes): KeptNode | undefined => [...held.values()].find(({ system }) => system !== "scim");
const requireOwn = (held: Nodes): void => {
  const foreign = foreignOf(held);
  if (foreign !== undefined) throw new Problem("access_denied", { detail: `${foreign.id} belongs to another system.` });
};

const put = async (tx: GraphTransaction, tenant: string, nodes: readonly NodeDraft[], edges: readonly EdgeDraft[]): Promise<void> => {
  const scope = scopeOfTenant(tenant);
  if (nodes.length > 0) requireOutcomes(await putNodes(tx, scope, nodes));
  if (edges.length > 0) requireOutcomes(await putEdges(tx, scope, edges));
};

/** Members of one transaction: others read and write between two. */
const MAX_MEMBERS = 250;

/** Nodes that come into a group or leave it. */
export interface MemberPart {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/**
 * What a change makes of who is in the group as far as the directory says, in parts of one transaction each; what others put in stays. Who comes
 * is first, groups before users: what is refused is so before anything is done. Throws `invalidValue`. Cost: by those named, and of all where
 * they are replaced.
 */
export const planMembers = async (
  sql: Sql,
  tenant: string,
  group: string,
  { isWhole, added, removed, isRemoval = false }: MemberChange,
): Promise<readonly MemberPart[]> => {
  const known = await findMembers(sql, tenant, [...added]);
  const unknown = isRemoval ? undefined : [...added].find((member) => !known.has(member));
  if (unknown !== undefined) throw new ScimError(400, "invalidValue", `There is no user or group ${unknown} that could be a member.`);
  const nodeOf = (member: string, type: ScimType): string => (type === "User" ? accountIdOf(member) : nodeIdOf("Group", member));
  const { links } = await (isWhole ? readLinks(sql, "Group", [group]) : readNamedLinks(sql, "Group", [group], [...added, ...removed]));
  const present = new Map((links.get(group) ?? []).map((link) => [scimIdOf(link.id), link.type]));
  const rank = (node: string): number => (node.startsWith("group:") ? 0 : 1);
  const fresh = (isRemoval ? [] : [...known])
    .flatMap(([member, type]) => (present.has(member) ? [] : [nodeOf(member, type)]))
    .toSorted((one, other) => rank(one) - rank(other));
  const all = [...fresh, ...[...present].flatMap(([member, type]) => (added.has(member) ? [] : [nodeOf(member, type)]))];
  return Array.from({ length: Math.ceil(all.length / MAX_MEMBERS) }, (_none, n) => {
    const [from, to] = [n * MAX_MEMBERS, (n + 1) * MAX_MEMBERS];
    return { added: fresh.slice(from, to), removed: all.slice(Math.max(from, fresh.length), to) };
  });
};

const settleMembers = async (tx: GraphTransaction, tenant: string, id: string, { added, removed }: MemberPart): Promise<void> => {
  if (removed.length > 0) await dropEdges(tx, scopeOfTenant(tenant), await lockEdgesFrom(tx.sql, "MEMBER_OF", removed, id));
  const edges = added.map((src): EdgeDraft => ({ kind: "MEMBER_OF", src, dst: id }));
  await put(tx, tenant, [], edges);
};

const taken = (error: unknown): never => {
  if (isSqlError(error, "23505")) throw new ScimError(409, "uniqueness", "Another user has this userName.");
  throw error;
};

/** A resource as it is to be, with the first of its members. */
type Draft = Pick<Patched, "document"> & { readonly members?: MemberPart | undefined };

/** A new one, with its nodes. Throws `ScimError`, and the problems of the graph. */
export const createResource = async (
  tx: GraphTransaction,
  tenant: string,
  type: ScimType,
  { document, members }: Draft,
): Promise<ScimRow> => {
  const id = newId();
  const nodeId = nodeIdOf(type, id);
  const said = document["active"] !== false;
  if (type === "User")
    await put(tx, tenant, userNodes(tenant, id, document, { said, isSuspended: false }, new Map()), [
      { kind: "BELONGS_TO", src: nodeId, dst: accountIdOf(id) },
      { kind: "MEMBER_OF", src: accountIdOf(id), dst: tenant },
    ]);
  else await put(tx, tenant, [groupNode(tenant, id, document, undefined)], [{ kind: "MEMBER_OF", src: nodeId, dst: tenant }]);
  const row = await insertResource(tx.sql, tenant, type, nodeId, document).catch(taken);
  if (members !== undefined) await settleMembers(tx, tenant, nodeId, members);
  return row;
};

/**
 * The locked one becomes as the document says; `said`: what the message says of `active`. A directory that says no more than false is
 * obeyed, whatever system its person has now, and whatever became of the account.
 */
export const replaceResource = async (
  tx: GraphTransaction,
  tenant: string,
  row: ScimRow,
  { type, document, members, said }: Draft & { readonly type: ScimType; readonly said?: boolean | undefined },
): Promise<ScimRow> => {
  const id = scimIdOf(row.id);
  const held = await lockOwn(tx.sql, tenant, { type, id: row.id });
  const node = held.get(row.id);
  const before = node?.state;
  const isOff = said === false && canonicalJson(document) === canonicalJson({ ...row.document, active: false });
  if (!isOff) requireOwn(held);
  const nodes =
    type === "Group"
      ? [groupNode(tenant, id, document, node)]
      : node !== undefined && isOff
        ? [{ ...draftOfRow(node), state: before === "active" ? "suspended" : before }]
        : userNodes(tenant, id, document, { said, isSuspended: row.suspended }, held);
  await put(tx, tenant, nodes, []);
  const after = nodes[0]?.state;
  if (members !== undefined) await settleMembers(tx, tenant, row.id, members);
  const isSuspended = before === after ? row.suspended : after === "suspended";
  return updateResource(tx.sql, row.id, document, isSuspended).catch(taken);
};

/**
 * A group goes with its edges. A person stays as a disabled node without external id, for what it did stays on record; to the directory
 * it is gone, and another may have its name.
 */
export const removeResource = async (tx: GraphTransaction, tenant: string, type: ScimType, row: ScimRow): Promise<void> => {
  const held = await lockOwn(tx.sql, tenant, { type, id: row.id });
  requireOwn(held);
  if (type === "User") {
    await deleteResource(tx.sql, row.id);
    const drafts = [...held.values()].map((row) => ({ ...draftOfRow(row), digest: undefined, external_id: undefined, state: "disabled" }));
    return put(tx, tenant, drafts, []);
  }
  const node = held.get(row.id);
  await deleteResource(tx.sql, row.id);
  if (node !== undefined) await dropNode(tx, scopeOfTenant(tenant), node, true);
};
