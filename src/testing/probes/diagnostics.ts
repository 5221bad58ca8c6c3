import type * as topic from "#contract/diagnostics.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  indexState: { about: [{}] },
  nodeLabelCounts: { about: [{}] },
  orphanNodeCounts: { about: [{ query: { sample: "50" } }] },
  relatedNodes: { read: { query: { id: "person:ben" } }, about: [{ query: { hops: "4", id: "{id}" } }] },
  relationshipConnections: { read: { query: { start_id: "person:ben" } }, about: [{ query: { start_id: "{id}" } }] },
  relationshipTypeCounts: { about: [{}] },
};
