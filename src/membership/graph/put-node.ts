import { canonicalJson } from "#contract/canonical-json.ts";
import { nodeId } from "#contract/ids.ts";
import { Problem, type Fault } from "#contract/problem.ts";
import { statement } from "#store/database.ts";
import { nodeKindRow, statesOf, type NodeKind } from "./kinds.ts";
import type { GraphTransaction } from "./write.ts";

export interface NodeDraft {
  readonly id: string;
  readonly kind: NodeKind;
  readonly name: string;
  readonly display_name?: string;
  readonly system?: string;
  /** The kind's first state (`active`, of tools `approved`) unless given. */
  readonly state?: string;
  readonly external_id?: string;
  /** null = shared by all tenants; only some kinds may be. */
  readonly tenant_id: string | null;
  /** Of a tool, resource or prompt: digest of the definition in force. */
  readonly digest?: string;
  readonly props?: Readonly<Record<string, unknown>>;
}

interface NodeRow {
  readonly id: string;
  readonly kind: string;
  readonly tenant_id: string | null;
  readonly name: string;
  readonly display_name: string | null;
  readonly system: string | null;
  readonly state: string;
  readonly external_id: string | null;
  readonly digest: string | null;
  readonly props: Readonly<Record<string, unknown>>;
}

const COLUMNS = "id, kind, tenant_id, name, display_name, system, state, external_id, digest, props";
const FIND = statement<NodeRow & { readonly rev: bigint }>(
  "membership.node_for_update",
  `select ${COLUMNS}, rev from membership.node where id = $1 for update`,
);
const INSERT = statement(
  "membership.node_insert",
  `insert into membership.node (${COLUMNS}, fold) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::jsonb, $11)`,
);
const UPDATE = statement(
  "membership.node_update",
  `update membership.node set kind = $2, tenant_id = $3, name = $4, display_name = $5, system = $6, state = $7, external_id = $8,
     digest = $9, props = $10::jsonb, fold = $11, rev = rev + 1, updated_at = now() where id = $1`,
);

/** NFKC and lower case, the same for what is kept and what is searched for. */
export const foldText = (text: string): string => text.normalize("NFKC").toLowerCase();

const foldOf = (row: NodeRow): string => {
  const searched = (nodeKindRow(row.kind as NodeKind).searched ?? []).map((name) => row.props[name]);
  return [row.id, row.name, row.display_name, ...searched, row.external_id]
    .filter((field): field is string => typeof field === "string" && field !== "")
    .map(foldText)
    .join("\u001f");
};

const faultsOf = (draft: NodeDraft): Fault[] => {
  const row = nodeKindRow(draft.kind);
  const faults: Fault[] = [];
  if (!nodeId.safeParse(draft.id).success) faults.push({ path: "/id", message: "is not an id" });
  for (const name of ["name", "display_name", "system", "external_id"] as const) {
    const most = name === "system" ? 64 : name === "external_id" ? 1024 : 256;
    const value = draft[name];
    if (value !== undefined && (value === "" || value.length > most || /\p{Cc}/u.test(value)))
      faults.push({ path: `/${name}`, message: `is empty, longer than ${most}, or holds a control character` });
  }
  if (draft.state !== undefined && !statesOf(draft.kind).includes(draft.state))
    faults.push({ path: "/state", message: `must be one of ${statesOf(draft.kind).join(", ")}` });
  if (draft.tenant_id === null && row.shared !== true) faults.push({ path: "/tenant_id", message: `a ${draft.kind} belongs to a tenant` });
  const props = row.props.safeParse(draft.props ?? {});
  if (!props.success)
    for (const issue of props.error.issues) faults.push({ path: `/props/${issue.path.map(String).join("/")}`, message: issue.message });
  return faults;
};

const rowOf = (draft: NodeDraft): NodeRow => ({
  id: draft.id,
  kind: draft.kind,
  tenant_id: draft.tenant_id,
  name: draft.name,
  display_name: draft.display_name ?? null,
  system: draft.system ?? null,
  state: draft.state ?? statesOf(draft.kind)[0] ?? "active",
  external_id: draft.external_id ?? null,
  digest: draft.digest ?? null,
  props: draft.props ?? {},
});

/** Writes a node as drafted, all of it; an equal one is left alone. Throws `unprocessable` with every fault. */
export const putNode = async (tx: GraphTransaction, draft: NodeDraft): Promise<void> => {
  const errors = faultsOf(draft);
  if (errors.length > 0) throw new Problem("unprocessable", { detail: `${draft.kind} ${draft.id} cannot be written so.`, errors });
  const after = rowOf(draft);
  const [found] = await tx.sql.run(FIND, [draft.id]);
  const { rev: _rev, ...before } = found ?? { rev: 0n };
  if (found !== undefined && canonicalJson(before) === canonicalJson(after)) return;
  await tx.sql.run(found === undefined ? INSERT : UPDATE, [
    after.id,
    after.kind,
    after.tenant_id,
    after.name,
    after.display_name,
    after.system,
    after.state,
    after.external_id,
    after.digest,
    JSON.stringify(after.props),
    foldOf(after),
  ]);
  tx.record({
    op: "put_node",
    subject: after.id,
    kind: after.kind,
    ...(found === undefined ? {} : { before: { ...before, rev: Number(found.rev) } }),
    after: { ...after, rev: Number(found?.rev ?? 0n) + 1 },
  });
};
