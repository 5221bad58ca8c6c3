import type * as topic from "#contract/facts.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  askFacts: {
    about: [
      {
        body: {
          asks: [
            { subject_id: "{id}", action: "view", resource: { type: "identities", external_id: "{id}" } },
            {
              subject_id: "person:eve",
              agent_ids: ["{id}"],
              action: "tools/call",
              resource: { type: "tool", external_id: "{id}" },
              delegation_id: "{id}",
            },
            { subject_id: "person:eve", action: "view", resource: { type: "delegations", external_id: "{id}" } },
            { subject_id: "person:eve", action: "create", resource: { type: "delegations", external_id: "{id}" } },
          ],
        },
      },
    ],
    attempts: [{ body: { asks: [{ subject_id: "{ada}", action: "view" }] }, reported: "not_found" }],
  },
  askFactsIf: {
    about: [
      {
        body: {
          asks: [{ subject_id: "{id}", action: "view", resource: { type: "identities", external_id: "{id}" } }],
          tenant_id: "{id}",
          add: [],
          remove: [],
          reach: { subject_id: "{id}" },
        },
      },
      {
        body: {
          asks: [],
          tenant_id: "tenant:globex",
          add: [{ kind: "MEMBER_OF", from: "account:eve@globex", to: "{id}" }],
          remove: [{ kind: "MEMBER_OF", from: "{id}", to: "{id}" }],
        },
      },
    ],
    attempts: [{ body: { asks: [{ subject_id: "{ada}", action: "view" }] }, reported: "not_found" }],
  },
  listCandidates: {
    about: [
      { body: { of: "subject", type: "identity", action: "view", tenant_id: "{id}", limit: 100 } },
      { body: { of: "resource", type: "identities", action: "view", tenant_id: "{id}", limit: 100 } },
      { body: { of: "resource", type: "{id}", action: "view", limit: 100 } },
    ],
    attempts: [{ body: {}, reported: "not_found" }],
  },
};
