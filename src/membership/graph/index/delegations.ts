import { withCapacity } from "./column.ts";
import { Names } from "./names.ts";
import type { IndexedDelegation } from "./rows-read.ts";
import type { Texts } from "./texts.ts";
import { Words } from "./words.ts";

export type DelegationStatus = "active" | "paused" | "expired" | "revoked";
/** In the order in which they are listed. */
export const statuses: readonly DelegationStatus[] = ["active", "paused", "expired", "revoked"];
const ACTIVE = statuses.indexOf("active");
const PAUSED = statuses.indexOf("paused");
const EXPIRED = statuses.indexOf("expired");
const REVOKED = statuses.indexOf("revoked");

/** Delegations as columns. What one is worth goes by the clock and by those above it; its ends are nodes, and its way is an edge. */
export class Delegations {
  readonly names = new Names();
  readonly #texts: Texts;
  readonly #nodeNames: Names;
  readonly #tenantWords: Words<string>;
  #users = new Uint32Array(64);
  #agents = new Uint32Array(64);
  #tenants = new Uint32Array(64);
  #statuses = new Uint8Array(64);
  /** 1: paused only because it has not begun. */
  #isWaiting = new Uint8Array(64);
  #begins = new Float64Array(64);
  #ends = new Float64Array(64);
  /** The one above + 1; 0 = none. */
  #above = new Uint32Array(64);
  #lists = new Uint32Array(64);
  #purposes = new Uint32Array(64);
  #steps = new Float64Array(64);
  #usd = new Float64Array(64);
  #tenantLists = new Uint32Array(64);
  readonly #tenantListWords = new Words<readonly string[]>();
  /** Numbers of tools, in order. */
  readonly #listWords = new Words<Uint32Array>();

  constructor(texts: Texts, nodeNames: Names, tenants: Words<string>) {
    this.#texts = texts;
    this.#nodeNames = nodeNames;
    this.#tenantWords = tenants;
  }

  get bytes(): number {
    const small = [
      this.#users,
      this.#agents,
      this.#tenants,
      this.#statuses,
      this.#isWaiting,
      this.#above,
      this.#lists,
      this.#purposes,
      this.#tenantLists,
    ];
    const columns = [...small, this.#begins, this.#ends, this.#steps, this.#usd];
    return this.names.bytes + columns.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  put(row: IndexedDelegation): number {
    const one = this.names.add(row.id);
    const size = this.names.size;
    this.#users = withCapacity(this.#users, size);
    this.#agents = withCapacity(this.#agents, size);
    this.#tenants = withCapacity(this.#tenants, size);
    this.#statuses = withCapacity(this.#statuses, size);
    this.#isWaiting = withCapacity(this.#isWaiting, size);
    this.#begins = withCapacity(this.#begins, size);
    this.#ends = withCapacity(this.#ends, size);
    this.#above = withCapacity(this.#above, size);
    this.#lists = withCapacity(this.#lists, size);
    this.#purposes = withCapacity(this.#purposes, size);
    this.#steps = withCapacity(this.#steps, size);
    this.#usd = withCapacity(this.#usd, size);
    this.#tenantLists = withCapacity(this.#tenantLists, size);
    const status = (statuses as readonly string[]).indexOf(row.status);
    if (status === -1) throw new Error(`the graph has delegations of status ${row.status}, which nobody knows`);
    const parent = row.path.at(-2);
    this.#users[one] = this.#nodeNames.add(row.delegator_id);
    this.#agents[one] = this.#nodeNames.add(row.agent_id);
    this.#tenants[one] = this.#tenantWords.add(row.tenant_id, String);
    this.#statuses[one] = status;
    this.#isWaiting[one] = row.hold === "not_yet_valid" ? 1 : 0;
    this.#begins[one] = Date.parse(row.valid_from);
    this.#ends[one] = row.expires_at === null ? Infinity : Date.parse(row.expires_at);
    this.#above[one] = parent === undefined ? 0 : this.names.add(parent) + 1;
    this.#lists[one] = this.#listWords.add(row.capabilities?.join("\n") ?? null, () => this.#listOf(row.capabilities ?? []));
    this.#purposes[one] = this.#texts.put(row.purpose, this.#purposes[one]);
    this.#steps[one] = row.max_steps;
    this.#usd[one] = row.budget_usd;
    const { tenant_ids } = row.constraints;
    this.#tenantLists[one] = this.#tenantListWords.add(
      tenant_ids === undefined ? null : JSON.stringify(tenant_ids),
      () => tenant_ids ?? [],
    );
    return one;
  }

  user(one: number): number {
    return this.#users[one] as number;
  }
  agent(one: number): number {
    return this.#agents[one] as number;
  }
  tenantNumber(one: number): number {
    return this.#tenants[one] as number;
  }
  tenant(one: number): string {
    return this.#tenantWords.at(this.tenantNumber(one)) ?? "";
  }
  purpose(one: number): string {
    return this.#texts.at(this.#purposes[one] as number);
  }
  maxSteps(one: number): number {
    return this.#steps[one] as number;
  }
  budgetUsd(one: number): number {
    return this.#usd[one] as number;
  }
  /** Milliseconds; infinite = never. */
  ends(one: number): number {
    return this.#ends[one] as number;
  }
  endsAt(one: number): string | null {
    return this.ends(one) === Infinity ? null : new Date(this.ends(one)).toISOString();
  }

  /** The tool is in its list, or it has none. */
  covers(one: number, tool: number): boolean {
    const list = this.#lists[one] === 0 ? undefined : this.#listWords.at(this.#lists[one] as number);
    if (list === undefined) return true;
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((list[middle] as number) < tool) low = middle + 1;
      else high = middle;
    }
    return list[low] === tool;
  }

  /** Tenants whose rows alone count, of it and of each above that says so. */
  tenantLists(one: number): readonly (readonly string[])[] {
    return this.path(one).flatMap((above) => {
      const list = this.#tenantListWords.at(this.#tenantLists[above] as number);
      return list === undefined ? [] : [list];
    });
  }

  /** From the first one down to this. */
  path(one: number): readonly number[] {
    const path = [one];
    for (let above = this.#above[one] as number; above !== 0; above = this.#above[above - 1] as number) path.unshift(above - 1);
    return path;
  }

  /** It and all above it have begun, have not ended and are not held. */
  isLive(one: number, now: number): boolean {
    for (let at = one + 1; at !== 0; at = this.#above[at - 1] as number) if (this.#own(at - 1, now) !== ACTIVE) return false;
    return true;
  }

  /** The status that is told: by the clock, and never better than that of one above it. */
  status(one: number, now: number): DelegationStatus {
    const own = this.#reported(one, now);
    if (own === REVOKED || own === EXPIRED) return statuses[own] as DelegationStatus;
    let worst = own;
    for (let at = this.#above[one] as number; at !== 0; at = this.#above[at - 1] as number) {
      const above = this.#reported(at - 1, now);
      if (above === REVOKED || above === EXPIRED) worst = REVOKED;
      else if (above === PAUSED && worst !== REVOKED) worst = PAUSED;
    }
    return statuses[worst] as DelegationStatus;
  }

  /** When it changes by the clock alone: its next beginning or end; infinite if never. */
  nextTurn(one: number, now: number): number {
    if ((this.#statuses[one] as number) > PAUSED) return Infinity;
    const [begins, ends] = [this.#begins[one] as number, this.ends(one)];
    return Math.min(begins > now ? begins : Infinity, ends > now ? ends : Infinity);
  }

  #reported(one: number, now: number): number {
    const status = this.#statuses[one] as number;
    if (status === REVOKED || status === EXPIRED) return status;
    if (this.ends(one) <= now) return EXPIRED;
    return status === PAUSED && this.#isWaiting[one] === 1 && (this.#begins[one] as number) <= now ? ACTIVE : status;
  }
  #own(one: number, now: number): number {
    const reported = this.#reported(one, now);
    return reported === ACTIVE && (this.#begins[one] as number) > now ? PAUSED : reported;
  }
  #listOf(tools: readonly string[]): Uint32Array {
    return Uint32Array.from(tools, (tool) => this.#nodeNames.add(tool)).sort();
  }
}
