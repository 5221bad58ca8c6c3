import type { Issue } from "#contract/problem.ts";
import type { OwnerAt } from "#crud/systems/read-system-text.ts";
import type { FindNode } from "#crud/configs/find-node.ts";

/** Kinds of nodes that may answer for a system: those that own things in the graph, and roles, whose holders do. */
const answering: ReadonlySet<string> = new Set(["Person", "Group", "Service", "BusinessRole"]);

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
  (findNode: FindNode) =>
  async ({ owner, at, tenant, correlationId }: OwnerAsk): Promise<readonly Issue[]> => {
    const { kind, nearest } = await findNode({ id: owner, tenant, correlationId });
    if (kind !== undefined && answering.has(kind)) return [];
    if (kind !== undefined)
      return [{ ...at, message: `names ${owner}, a ${kind}: it is a person, a group, a service or a role that answers for a system` }];
    return [
      {
        ...at,
        message: `names ${owner}, which the identity graph does not know`,
        code: "unknown",
        ...(nearest === undefined ? {} : { hint: `did you mean ${nearest}?` }),
      },
    ];
  };
