import type * as topic from "#contract/policy-bindings.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  createPolicyBinding: {
    about: [
      { body: { target_id: "{id}", policy_id: "policy:none" } },
      { body: { target_id: "people.demo.get_employee", policy_id: "{id}" } },
    ],
    attempts: [{ body: { target_id: "mcp:acme.files", policy_id: "policy:none" } }],
    repeat: {
      bodies: [
        { target_id: "memory.demo.read_graph", policy_id: "policy:once" },
        { target_id: "memory.demo.open_nodes", policy_id: "policy:once" },
      ],
    },
  },
  deletePolicyBinding: {
    about: [{ params: { binding_id: "{id}" }, headers: { "if-match": "*" } }],
    attempts: [{ params: { binding_id: "00000000-0000-4000-8000-000000000000" }, headers: { "if-match": "*" } }],
  },
  getPolicyBinding: { read: { params: { binding_id: "{binding}" } }, about: [{ params: { binding_id: "{id}" } }] },
  listPolicyBindings: {
    about: [{ query: { target_id: "{id}" } }, { query: { effective: "true", target_id: "{id}" } }, { query: { policy_id: "{id}" } }],
  },
  putPolicyBinding: {
    about: [{ params: { binding_id: "{id}" }, body: {}, headers: { "if-match": "*" } }],
    attempts: [{ params: { binding_id: "00000000-0000-4000-8000-000000000000" }, body: {}, headers: { "if-match": "*" } }],
  },
};
