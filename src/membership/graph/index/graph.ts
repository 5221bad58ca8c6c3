import type { Yield } from "#http/yielding.ts";
import type { DataScopeRule } from "#contract/data-scope-rules.ts";
import { Delegations } from "./delegations.ts";
import { DELEGATES_TO, edgeKindNumber, Edges } from "./edges.ts";
import { ALL, Nodes } from "./nodes.ts";
import type { IndexedDelegation, IndexedEdge, IndexedNode, IndexedOp } from "./rows-read.ts";
import { Tally } from "./counter.ts";
import { Texts } from "./texts.ts";
import { Words } from "./words.ts";

type Note = Readonly<Record<string, unknown>>;

/** Of a small arena nothing is worth a build. */
const SMALL = 4 * 2 ** 20;
const MANY = 100_000;

/**
 * The graph in memory, as it is at one version. Rows are put and dropped in the order of the change log; put twice they are put once, so a
 * part of the log may be applied to rows that are newer already, as long as all of it follows. Not for use between two such ops of one version.
 */
export class Graph {
  readonly #texts = new Texts();
  readonly #tenants = new Words<string>();
  readonly nodes: Nodes;
  readonly edges: Edges;
  readonly delegations: Delegations;
  /** By (kind, tenants of both ends); kept once it has been settled. */
  readonly edgeCounts = new Tally();
  #isCounting = false;
  readonly #notes = new Words<Note>();
  /** By `<tenant> <resource type>`. */
  rules: ReadonlyMap<string, DataScopeRule> = new Map();
  /** The operator's tenant. */
  operator: string | null = null;

  /** `sizes`: how many there will be, at least. */
  constructor(sizes = { nodes: 0, edges: 0 }) {
    this.nodes = new Nodes(this.#texts, this.#tenants, sizes.nodes);
    this.delegations = new Delegations(this.#texts, this.nodes.names, this.#tenants);
    this.edges = new Edges(this.delegations.names, sizes);
  }

  get bytes(): number {
    return this.#texts.bytes + this.nodes.bytes + this.edges.bytes + this.delegations.bytes;
  }
  /** More than half of its texts or ids are of the past: it should be built anew. */
  get isWorn(): boolean {
    const { names, alive } = this.nodes;
    return (this.#texts.bytes > SMALL && this.#texts.wasted * 2 > this.#texts.bytes) || names.size > alive * 2 + MANY;
  }

  note(edge: number): Note {
    return this.#notes.at(this.edges.note(edge)) ?? {};
  }
  /** Of an edge that is one. */
  delegationOf(edge: number): number {
    return this.edges.note(edge);
  }
  isDelegation(edge: number): boolean {
    return this.edges.kind(edge) === DELEGATES_TO;
  }

  putNode(row: IndexedNode): void {
    const known = this.nodes.names.find(row.id);
    if (known !== -1 && this.#isCounting && this.nodes.kind(known) !== 0) {
      const isSame = this.nodes.kindName(known) === row.kind && this.nodes.tenant(known) === row.tenant_id;
      if (!isSame) throw new Error("a node of the change log is of another kind or tenant than it was");
    }
    this.nodes.put(row);
  }

  dropNode(id: string): void {
    const node = this.nodes.names.find(id);
    if (node === -1 || this.nodes.kind(node) === 0) return;
    const isBare = (["out", "in"] as const).every((way) => this.edges[way].start(node) === this.edges[way].end(node));
    if (this.#isCounting && !isBare) throw new Error("a node of the change log went before its edges");
    this.nodes.drop(node);
  }

  /** `isNew`: no edge of this id can be there; to look for it is a fifth of the work. */
  putEdge(row: IndexedEdge, isNew = false): void {
    const note = this.#notes.add(row.note === null ? null : JSON.stringify(row.note), () => row.note ?? {});
    this.#put(row, note, row.expires_at === null ? null : Date.parse(row.expires_at), isNew);
  }

  dropEdge(row: Pick<IndexedEdge, "id" | "kind" | "src" | "dst">): void {
    const { names } = this.nodes;
    const [source, target] = [names.find(row.src), names.find(row.dst)];
    const edge = source === -1 || target === -1 ? -1 : this.edges.find(source, edgeKindNumber(row.kind), target, row.id);
    if (edge === -1) return;
    this.#tally(edge, -1);
    this.edges.drop(edge);
  }

  putDelegation(row: IndexedDelegation): void {
    const edge = { id: row.id, kind: "DELEGATES_TO", src: row.delegator_id, dst: row.agent_id };
    this.#put(edge, this.delegations.put(row), null);
  }

  /** Throws where the log cannot be what made this graph; then it is to be built anew. */
  apply(op: IndexedOp): void {
    const { subject: id, kind, src, dst } = op;
    if (op.node !== null) this.putNode({ id, kind, ...op.node });
    else if (op.delegation !== null) this.putDelegation(op.delegation);
    else if (op.op === "drop_node") this.dropNode(id);
    else if (src === null || dst === null) throw new Error("an edge of the change log has no ends");
    else if (op.edge !== null) this.putEdge({ id, kind, src, dst, ...op.edge });
    else this.dropEdge({ id, kind, src, dst });
  }

  /** Once all is there: packs the rows and counts edges from now on. Between two parts others may have their turn; nobody asks or writes yet. */
  async settle(pause: Yield): Promise<void> {
    await this.edges.out.pack(pause);
    await this.edges.in.pack(pause);
    this.edgeCounts.clear();
    for (let node = 0; node < this.nodes.names.size; node++) {
      for (let at = this.edges.out.start(node); at < this.edges.out.end(node); at++) this.#counted(this.edges.out.at(at), 1);
      if (node % 1024 === 0) await pause();
    }
    this.#isCounting = true;
  }

  /** Edges by kind that this sight sees; those that have ended are none. */
  edgeKinds(sight: number, now: number): ReadonlyMap<number, number> {
    const sees = (tenant: number): boolean => sight === ALL || tenant === 0 || tenant === sight;
    const sums = this.edgeCounts.sums(sees);
    for (const [edge, ends] of this.edges.ends) {
      if (ends > now) continue;
      const isSeen = sees(this.nodes.tenantNumber(this.edges.source(edge))) && sees(this.nodes.tenantNumber(this.edges.target(edge)));
      const kind = this.edges.kind(edge);
      if (isSeen) sums.set(kind, (sums.get(kind) ?? 0) - 1);
    }
    return sums;
  }

  #put(row: Pick<IndexedEdge, "id" | "kind" | "src" | "dst">, note: number, ends: number | null, isNew = false): void {
    const { names } = this.nodes;
    const [source, kind, target] = [names.add(row.src), edgeKindNumber(row.kind), names.add(row.dst)];
    let edge = isNew ? -1 : this.edges.find(source, kind, target, row.id);
    if (edge === -1) {
      edge = this.edges.add(source, kind, target, row.id, note);
      this.#tally(edge, 1);
    }
    this.edges.set(edge, note, ends);
  }
  #tally(edge: number, by: number): void {
    if (this.#isCounting) this.#counted(edge, by);
  }
  #counted(edge: number, by: number): void {
    const { nodes, edges } = this;
    this.edgeCounts.change(edges.kind(edge), nodes.tenantNumber(edges.source(edge)), nodes.tenantNumber(edges.target(edge)), by);
  }
}
