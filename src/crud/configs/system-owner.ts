import { ask } from "#contract/ask.ts";
import { askFacts, listCandidates } from "#contract/facts.ts";
import { Problem, type Fault } from "#contract/problem.ts";
import { nearestWord } from "#documents/nearest-word.ts";
import type { OwnerAt } from "#crud/systems/read-system-text.ts";
import type { GroupsParts } from "#crud/ui-config.ts";

/** Kinds of nodes that may answer for a system: those that own things in the graph, and roles, whose holders do. */
const answering: ReadonlySet<string> = new Set(["Person", "Group", "Service", "BusinessRole"]);
const MOST_NAMES = 2000;

export interface OwnerAsk extends OwnerAt {
  /** Of whom publishes it. */
  readonly tenant: string;
  readonly correlationId: string;
}

/**
 * Why what a document names as its owner cannot answer for it: the graph would not take the system, and nobody could be granted its tools.
 * Throws `membership_unavailable`.
 */
export const createOwnerCheck =
  (parts: GroupsParts) =>
  async ({ owner, at, tenant, correlationId }: OwnerAsk): Promise<readonly Fault[]> => {
    try {
      const token = await parts.identity.asService(parts.membershipAudience, ["pip.read"]);
      const headers = { authorization: `Bearer ${token}`, "x-correlation-id": correlationId };
      const of = { type: "identities", action: "view", tenant_id: tenant } as const;
      const named = { subject_id: "service:crud", action: of.action, resource: { type: of.type, external_id: owner }, tenant_id: tenant };
      const { facts } = await ask(parts.membership, askFacts, { body: { asks: [named] }, headers });
      const node = facts[0]?.resource ?? null;
      if (node !== null && answering.has(node.kind)) return [];
      if (node !== null)
        return [
          { ...at, message: `names ${owner}, a ${node.kind}: it is a person, a group, a service or a role that answers for a system` },
        ];
      const kind = owner.slice(0, owner.indexOf(":") + 1);
      const among = { of: "resource" as const, ...of, after: kind, limit: MOST_NAMES };
      const { ids } = kind === "" ? { ids: [] } : await ask(parts.membership, listCandidates, { body: among, headers });
      const ofKind = ids.filter((id) => id.startsWith(kind));
      // Whoever was made by a sign-in has the provider's word before the name.
      const name = owner.slice(kind.length);
      const hint = ofKind.find((id) => id.endsWith(`:${name}`)) ?? nearestWord(owner, ofKind);
      return [
        {
          ...at,
          message: `names ${owner}, which the identity graph does not know`,
          code: "unknown",
          ...(hint === undefined ? {} : { hint: `did you mean ${hint}?` }),
        },
      ];
    } catch (cause) {
      throw new Problem("membership_unavailable", { cause });
    }
  };
