import type * as topic from "#contract/governance.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  addOwner: {
    about: [
      { params: { resource_id: "{id}" }, body: { owner_identity_id: "person:eve" } },
      { params: { resource_id: "people.demo" }, body: { owner_identity_id: "{id}" } },
    ],
    attempts: [{ params: { resource_id: "mcp:acme.files" }, body: { owner_identity_id: "{ben}" } }],
  },
  agentImpact: { read: { params: { agent_id: "agent:hr-assistant" } }, about: [{ params: { agent_id: "{id}" } }] },
  assignRtr: {
    about: [
      { body: { actor_label: "Identity", actor_id: "{id}", resource_id: "x:1", rtr: "x" } },
      { body: { actor_label: "Person", actor_id: "person:eve", resource_id: "{id}", rtr: "x" } },
      { body: { actor_label: "Person", actor_id: "person:eve", resource_id: "x:1", rtr: "{id}" } },
    ],
    attempts: [{ body: { actor_label: "Person", actor_id: "{ben}", resource_id: "mcp:acme.files", rtr: "x" } }],
  },
  controlAgent: {
    about: [{ params: { agent_id: "{id}" }, body: { controller_id: "person:eve" } }],
    attempts: [{ params: { agent_id: "agent:other" }, body: { controller_id: "{ben}" } }],
  },
  dropController: {
    about: [
      { params: { agent_id: "{id}" }, query: { force: "true" } },
      { params: { agent_id: "agent:none" }, query: { controller_id: "{id}" } },
    ],
    attempts: [{ params: { agent_id: "agent:other" }, query: { controller_id: "{ada}" } }],
  },
  dropOwner: {
    about: [{ params: { resource_id: "{id}", owner_id: "person:eve" } }, { params: { resource_id: "people.demo", owner_id: "{id}" } }],
    attempts: [{ params: { resource_id: "mcp:acme.files", owner_id: "{ada}" } }],
  },
  dropRtrAssignment: {
    about: [{ params: { assignment_id: "{id}" } }],
    attempts: [{ params: { assignment_id: "00000000-0000-4000-8000-000000000000" } }],
  },
  effectiveTools: {
    read: { params: { agent_id: "agent:hr-assistant" }, query: { user_id: "person:ben" } },
    about: [{ params: { agent_id: "{id}" } }, { params: { agent_id: "agent:none" }, query: { user_id: "{id}" } }],
  },
  listControllers: { read: { params: { agent_id: "agent:hr-assistant" } }, about: [{ params: { agent_id: "{id}" } }] },
  listOwners: { read: { params: { resource_id: "resource:acme.secret.people.demo" } }, about: [{ params: { resource_id: "{id}" } }] },
  listRtrAssignments: { about: [{ query: { actor_id: "{id}" } }, { query: { resource_id: "{id}" } }] },
  resumeAgent: {
    about: [{ params: { agent_id: "{id}" }, body: { reason: "looking around" } }],
    attempts: [{ params: { agent_id: "agent:other" }, body: { reason: "please" } }],
  },
  suspendAgent: {
    about: [{ params: { agent_id: "{id}" }, body: { reason: "looking around" } }],
    attempts: [{ params: { agent_id: "agent:other" }, body: { reason: "please" } }],
  },
};
