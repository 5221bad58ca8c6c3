import { nodeKindNames, type NodeKind } from "#membership/model/kinds.ts";
import { capacityFor, withCapacity } from "./column.ts";
import type { IndexedNode } from "./rows-read.ts";
import { Names } from "./names.ts";
import { Tally } from "./counter.ts";
import type { Texts } from "./texts.ts";
import { Words } from "./words.ts";

type Props = Readonly<Record<string, unknown>>;

/** No tenant's number: who asks so sees what is shared and nothing else. */
const NOBODY = 0xffff_fffe;
/** The number of `*`, which sees all. */
export const ALL = 0xffff_ffff;

const kindNumbers: ReadonlyMap<string, number> = new Map(nodeKindNames.map((kind, at) => [kind, at + 1]));
export const kindNumber = (kind: NodeKind): number => kindNumbers.get(kind) as number;

/** Nodes as columns. The number of a node is its id's; an id that is named somewhere and has no node has kind 0. */
export class Nodes {
  readonly names = new Names();
  readonly #texts: Texts;
  readonly #tenantWords: Words<string>;
  /** By (kind, tenant). */
  readonly #counts = new Tally();
  #kinds: Uint8Array;
  #states: Uint8Array;
  #tenants: Uint32Array;
  #digests: Uint32Array;
  #props: Uint32Array;
  /** Places of names. */
  #names: Uint32Array;
  readonly #stateWords = new Words<string>();
  readonly #digestWords = new Words<string>();
  readonly #propWords = new Words<Props>();
  #alive = 0;
  readonly #externalIds = new Map<number, string>();
  readonly #resources = new Map<string, number[]>();
  readonly #active: number;
  readonly #approved: number;

  constructor(texts: Texts, tenants: Words<string>, size: number) {
    this.#texts = texts;
    this.#tenantWords = tenants;
    const capacity = capacityFor(size);
    this.#kinds = new Uint8Array(capacity);
    this.#states = new Uint8Array(capacity);
    this.#tenants = new Uint32Array(capacity);
    this.#digests = new Uint32Array(capacity);
    this.#props = new Uint32Array(capacity);
    this.#names = new Uint32Array(capacity);
    this.#active = this.#stateWords.add("active", String);
    this.#approved = this.#stateWords.add("approved", String);
  }

  /** Nodes that there are. */
  get alive(): number {
    return this.#alive;
  }

  get bytes(): number {
    const columns = [this.#kinds, this.#states, this.#tenants, this.#digests, this.#props, this.#names];
    return this.names.bytes + columns.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** The number by which a tenant sees: `*` sees all, one that the graph does not know what is shared. */
  sightOf(tenant: string): number {
    return tenant === "*" ? ALL : this.#tenantWords.find(tenant) || NOBODY;
  }

  /** There, and of the tenant with this sight or shared. */
  isSeen(node: number, sight: number): boolean {
    if (this.kind(node) === 0) return false;
    const tenant = this.#tenants[node] as number;
    return tenant === 0 || sight === ALL || tenant === sight;
  }
  /** How many of each kind. */
  countsSeenBy(sight: number): ReadonlyMap<number, number> {
    return this.#counts.sums((tenant) => tenant === 0 || sight === ALL || tenant === sight);
  }
  isActive(node: number): boolean {
    return this.#states[node] === this.#active && this.kind(node) !== 0;
  }
  isApproved(node: number): boolean {
    return this.#states[node] === this.#approved && this.kind(node) !== 0;
  }
  /** 0: no node. */
  kind(node: number): number {
    return this.#kinds[node] ?? 0;
  }
  kindName(node: number): NodeKind {
    return nodeKindNames[this.kind(node) - 1] as NodeKind;
  }
  state(node: number): string {
    return this.#stateWords.at(this.#states[node] as number) as string;
  }
  tenantNumber(node: number): number {
    return this.#tenants[node] ?? 0;
  }
  tenant(node: number): string | null {
    return this.#tenantWords.at(this.tenantNumber(node)) ?? null;
  }
  digest(node: number): string | null {
    return this.#digestWords.at(this.#digests[node] as number) ?? null;
  }
  /** Those that questions look at. Never to be written to. */
  props(node: number): Props {
    return this.#propWords.at(this.#props[node] as number) ?? {};
  }
  name(node: number): string {
    return this.#texts.at(this.#names[node] as number);
  }
  resources(type: string, externalId: string): readonly number[] {
    return this.#resources.get(`${type}\n${externalId}`) ?? [];
  }

  put(row: IndexedNode): void {
    const node = this.names.add(row.id);
    const before = this.kind(node);
    this.#kinds = withCapacity(this.#kinds, node + 1);
    this.#states = withCapacity(this.#states, node + 1);
    this.#tenants = withCapacity(this.#tenants, node + 1);
    this.#digests = withCapacity(this.#digests, node + 1);
    this.#props = withCapacity(this.#props, node + 1);
    this.#names = withCapacity(this.#names, node + 1);
    if (before !== 0) this.#leave(node);
    this.#kinds[node] = kindNumbers.get(row.kind) ?? 0;
    if (this.#kinds[node] === 0) throw new Error(`the graph has nodes of kind ${row.kind}, which nobody knows`);
    this.#states[node] = this.#stateWords.add(row.state, String);
    this.#tenants[node] = this.#tenantWords.add(row.tenant_id, String);
    this.#digests[node] = this.#digestWords.add(row.digest, String);
    this.#props[node] = this.#propWords.add(row.props === null ? null : JSON.stringify(row.props), () => row.props ?? {});
    this.#names[node] = this.#texts.put(row.name, this.#names[node] as number);
    this.#alive++;
    this.#counts.change(this.kind(node), this.tenantNumber(node), 0, 1);
    if (row.external_id !== null) {
      this.#externalIds.set(node, row.external_id);
      const key = `${String(row.props?.["type"])}\n${row.external_id}`;
      this.#resources.set(key, [...(this.#resources.get(key) ?? []), node]);
    }
  }

  drop(node: number): void {
    this.#leave(node);
    this.#kinds[node] = 0;
  }

  /** Out of the counts and of what it is found by. */
  #leave(node: number): void {
    this.#alive--;
    this.#counts.change(this.kind(node), this.tenantNumber(node), 0, -1);
    const externalId = this.#externalIds.get(node);
    if (externalId === undefined) return;
    this.#externalIds.delete(node);
    const key = `${String(this.props(node)["type"])}\n${externalId}`;
    const others = this.resources(this.props(node)["type"] as string, externalId).filter((other) => other !== node);
    if (others.length === 0) this.#resources.delete(key);
    else this.#resources.set(key, others);
  }
}
