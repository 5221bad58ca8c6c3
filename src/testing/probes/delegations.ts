import type * as topic from "#contract/delegations.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  createDelegation: {
    about: [
      { body: { agent_id: "{id}", capabilities: [], budget_usd: 0, max_steps: 1, purpose: "looking around" } },
      { body: { agent_id: "agent:none", capabilities: [], budget_usd: 0, max_steps: 1, purpose: "looking around", parent_id: "{id}" } },
    ],
    attempts: [
      { body: { agent_id: "agent:other", capabilities: null, budget_usd: 1, max_steps: 1, purpose: "Not theirs" } },
      { body: { agent_id: "agent:helper", capabilities: null, budget_usd: 1, max_steps: 1, purpose: "Not theirs", delegator_id: "{ada}" } },
    ],
    repeat: {
      as: "ben",
      bodies: [
        { agent_id: "agent:hr-assistant", capabilities: null, budget_usd: 1, max_steps: 1, purpose: "One purpose" },
        { agent_id: "agent:hr-assistant", capabilities: null, budget_usd: 1, max_steps: 1, purpose: "Another purpose" },
      ],
    },
  },
  delegationHistory: { read: { as: "ben", params: { id: "delegation:ben-hr" } }, about: [{ params: { id: "{id}" } }] },
  delegationImpact: { read: { as: "ben", params: { id: "delegation:ben-hr" } }, about: [{ params: { id: "{id}" } }] },
  delegationUsage: { read: { as: "ben", params: { id: "delegation:ben-hr" } }, about: [{ params: { id: "{id}" } }] },
  getDelegation: { read: { as: "ben", params: { id: "delegation:ben-hr" } }, about: [{ params: { id: "{id}" } }] },
  listDelegations: {
    about: [{ query: { user_id: "{id}" } }, { query: { whose: "all", agent_id: "{id}" } }, { query: { whose: "all", parent_id: "{id}" } }],
  },
  patchDelegation: {
    about: [{ params: { id: "{id}" }, body: { purpose: "Another one" }, headers: { "if-match": '"1"' } }],
    attempts: [{ params: { id: "{delegation}" }, body: { max_steps: 9 }, headers: { "if-match": "*" } }],
  },
  pauseDelegation: {
    about: [{ params: { id: "{id}" }, body: { reason: "looking around" } }],
    attempts: [{ params: { id: "{delegation}" }, body: { reason: "please" } }],
  },
  resumeDelegation: {
    about: [{ params: { id: "{id}" }, body: { reason: "looking around" }, headers: { "if-match": '"1"' } }],
    attempts: [{ params: { id: "{delegation}" }, body: { reason: "please" }, headers: { "if-match": "*" } }],
  },
  revokeDelegation: {
    about: [{ params: { id: "{id}" }, body: { reason: "looking around" } }],
    attempts: [{ params: { id: "{delegation}" }, body: { reason: "please" } }],
  },
  revokeMany: {
    sample: { agent_id: "agent:hr-assistant", mode: "pause", reason: "For a test" },
    about: [
      { body: { agent_id: "{id}", mode: "revoke", reason: "looking around" } },
      { body: { delegator_id: "{id}", mode: "pause", reason: "looking around" } },
    ],
    attempts: [{ body: { delegator_id: "{ada}", mode: "revoke", reason: "please" } }],
    repeat: {
      bodies: [
        { agent_id: "agent:reporter", mode: "pause", reason: "One reason" },
        { agent_id: "agent:reporter", mode: "pause", reason: "Another reason" },
      ],
    },
  },
  whatIfDelegation: {
    about: [
      { body: { agent_id: "{id}", capabilities: [], budget_usd: 0, max_steps: 1, purpose: "looking around" } },
      { body: { revoke: "{id}" } },
      { body: { id: "{id}", patch: { max_steps: 1 } } },
    ],
    attempts: [
      { body: { agent_id: "agent:helper", capabilities: null, budget_usd: 1, max_steps: 1, purpose: "Not theirs", delegator_id: "{ada}" } },
    ],
  },
};
