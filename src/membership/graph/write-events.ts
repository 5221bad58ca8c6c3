import type { EventDraft } from "#events/model/event-draft.ts";
import type { GraphOp } from "./graph-op.ts";

/** Ids that one event names; how many there are besides is not told: who wants to know reads the change log. */
const MAX_IDS = 50;
const registryKinds: ReadonlySet<string> = new Set(["MCPService", "Tool", "MCPResource", "MCPPrompt"]);

interface By {
  readonly tenantId: string | null;
  readonly source: string;
  readonly correlationId: string;
}

const isActive = (row: GraphOp["after"]): boolean => row?.["state"] === "active";

/** What of the ops of one version other systems hear by a word of its own, whichever writer made it. */
export interface WriteEvents {
  note(op: GraphOp): void;
  /** Kinds of nodes and edges that the version changes; empty: there is none. */
  readonly kinds: ReadonlySet<string>;
  draft(by: By, version: bigint): readonly EventDraft[];
}

export const createWriteEvents = (): WriteEvents => {
  const kinds = new Set<string>();
  const registry = new Set<string>();
  const agents = new Map<string, "suspended" | "resumed">();
  let ops = 0;
  return {
    kinds,
    note: ({ op, subject, kind, before, after }) => {
      kinds.add(kind);
      ops += 1;
      if (registryKinds.has(kind) && registry.size < MAX_IDS) registry.add(subject);
      if (kind !== "AIAgent" || before === undefined || op !== "put_node" || isActive(before) === isActive(after)) return;
      // Off and on again in one version is neither.
      if (!agents.delete(subject)) agents.set(subject, isActive(after) ? "resumed" : "suspended");
    },
    draft: (by, version) => {
      const graph_version = Number(version);
      // Of what is no tenant's own no tenant's stream tells; other systems hear of it all the same.
      const reported = { tenant: by.tenantId ?? "*", correlationId: by.correlationId };
      return [
        ...Array.from(agents, ([agent_id, op]) => ({
          ...reported,
          type: `agent.${op}`,
          key: agent_id,
          data: { agent_id, op, graph_version },
        })),
        ...(registry.size === 0
          ? []
          : [{ ...reported, type: "registry.changed", key: "registry", data: { graph_version, ids: [...registry].sort() } }]),
        ...(by.source === "import" ? [{ ...reported, type: "import.finished", key: "import", data: { graph_version, written: ops } }] : []),
        {
          ...reported,
          type: "graph.changed",
          ...(by.tenantId === null ? {} : { stream: "config" as const, kind: "graph" }),
          key: "graph",
          data: { graph_version, kinds: [...kinds].sort() },
        },
      ];
    },
  };
};
