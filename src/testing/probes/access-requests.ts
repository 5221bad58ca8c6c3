import type * as topic from "#contract/access-requests.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  answerAccessRequest: {},
  cancelAccessRequest: {},
  createAccessRequest: {
    repeat: {
      as: "cleo",
      conflict: "duplicate_request",
      bodies: [
        { subject: { type: "identity", id: "person:cleo" }, action: { name: "view" }, resource: { type: "pages", id: "operations" } },
        {
          subject: { type: "identity", id: "person:cleo" },
          action: { name: "view" },
          resource: { type: "pages", id: "operations" },
          justification: "Another one.",
        },
      ],
    },
  },
  getAccessRequest: { read: { as: "cleo", params: { id: "{accessRequest}" } }, agent: { gets: "own" } },
  listAccessRequests: { agent: { gets: "own" } },
};
