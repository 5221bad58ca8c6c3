import { ask } from "#contract/ask.ts";
import { askFacts, listCandidates } from "#contract/facts.ts";
import { Problem } from "#contract/problem.ts";
import { nearestWord } from "#parsing/nearest-word.ts";
import { asService, type MembershipParts } from "#crud/model/ask-membership.ts";

const MAX_NAMES = 2000;

/** What the graph knows under an id, or the id that may be meant. */
export interface FoundNode {
  readonly kind?: string | undefined;
  readonly nearest?: string | undefined;
}
export type FindNode = (asked: { readonly id: string; readonly tenant: string; readonly correlationId: string }) => Promise<FoundNode>;

/** Looks for a node of the tenant by its id. Throws `membership_unavailable`. */
export const createFindNode =
  (parts: MembershipParts): FindNode =>
  async ({ id, tenant, correlationId }) => {
    try {
      const headers = await asService(parts, ["pip.read"], correlationId);
      const of = { type: "identities", action: "view", tenant_id: tenant } as const;
      const named = { subject_id: "service:crud", action: of.action, resource: { type: of.type, external_id: id }, tenant_id: tenant };
      const { facts } = await ask(parts.membership, askFacts, { body: { asks: [named] }, headers });
      const node = facts[0]?.resource ?? null;
      if (node !== null) return { kind: node.kind };
      const kind = id.slice(0, id.indexOf(":") + 1);
      const among = { of: "resource" as const, ...of, after: kind, limit: MAX_NAMES };
      const { ids } = kind === "" ? { ids: [] } : await ask(parts.membership, listCandidates, { body: among, headers });
      const ofKind = ids.filter((other) => other.startsWith(kind));
      // Whoever was made by a sign-in has the provider's word before the name.
      const name = id.slice(kind.length);
      return { nearest: ofKind.find((other) => other.endsWith(`:${name}`)) ?? nearestWord(id, ofKind) };
    } catch (cause) {
      throw new Problem("membership_unavailable", { cause });
    }
  };
