import type * as topic from "#contract/membership.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  capabilities: {
    about: [{ query: { user_id: "{id}" } }, { query: { user_id: "person:eve", agent_id: "{id}" } }],
    agent: { gets: "own", query: { user_id: "person:ben", agent_id: "agent:hr-assistant" } },
  },
  chainEligibility: {
    about: [
      { query: { user_id: "{id}", agent_id: "agent:hr-assistant", tool_id: "people.demo.get_employee" } },
      { query: { user_id: "person:eve", agent_id: "{id}", tool_id: "people.demo.get_employee" } },
      { query: { user_id: "person:eve", agent_id: "agent:hr-assistant", tool_id: "{id}" } },
    ],
    agent: { gets: "own", query: { user_id: "person:ben", agent_id: "agent:hr-assistant", tool_id: "people.demo.get_employee" } },
  },
  countNodes: { about: [{ query: { search: "{id}" } }] },
  dataScope: { about: [{ query: { subject_id: "{id}", resource_type: "employee" } }] },
  fulltextSearch: { about: [{ query: { node_type: "AIAgent", q: "{id}" } }, { query: { q: "x", system: "{id}" } }] },
  getNode: { read: { params: { node_id: "person:ben" } }, about: [{ params: { node_id: "{id}" } }] },
  getRelationships: { read: { params: { node_id: "person:ben" } }, about: [{ params: { node_id: "{id}" } }] },
  graphVersion: { about: [{}] },
  listGraphChanges: { about: [{ query: { node_id: "{id}", limit: "500" } }, { query: { actor: "{id}" } }] },
  listSystems: { about: [{}] },
  membershipHealth: { about: [{}] },
  nodeTypeStats: { about: [{}] },
  pipDelegations: {
    about: [{ query: { user_id: "{id}" } }, { query: { user_id: "person:eve", agent_id: "{id}" } }],
    agent: { gets: "own", query: { user_id: "person:ben", agent_id: "agent:hr-assistant" } },
  },
  searchNodes: { about: [{ query: { search: "{id}" } }, { query: { system: "{id}" } }] },
  searchNodesWithMetadata: { about: [{ query: { search: "{id}" } }] },
  shortestPath: {
    read: { query: { from: "person:ben", to: "group:people-ops" } },
    about: [{ query: { from: "person:eve", to: "{id}" } }, { query: { from: "{id}", to: "person:eve" } }],
  },
  stepUp: { about: [{ query: { subject_id: "{id}" } }] },
};
