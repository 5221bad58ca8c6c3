import type * as topic from "#contract/authzen.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  evaluate: { agent: { body: { action: { name: "tools/call" }, resource: { type: "tool", id: "people.demo.list_employees" } } } },
  evaluateMany: {
    sample: {
      evaluations: [
        { subject: { type: "identity", id: "person:ben" }, action: { name: "view" }, resource: { type: "pages", id: "people" } },
      ],
    },
  },
  metadata: {},
  metadataKeys: {},
};
