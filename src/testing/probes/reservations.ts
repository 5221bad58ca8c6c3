import type * as topic from "#contract/reservations.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  extend: {
    about: [{ params: { id: "{id}" }, body: { ttl_s: 60 } }],
    attempts: [{ params: { id: "00000000-0000-4000-8000-000000000000" }, body: { ttl_s: 60 }, reported: "insufficient_scope" }],
  },
  findReservation: { unread: "asked by the tool server alone, with its own key", about: [{ query: { call_id: "{id}" } }] },
  release: {
    about: [{ params: { id: "{id}" } }],
    attempts: [{ params: { id: "00000000-0000-4000-8000-000000000000" }, reported: "insufficient_scope" }],
  },
  reserve: {
    about: [
      { body: { call_id: "{fresh}", user_id: "{id}", agent_id: "agent:hr-assistant", tool_id: "people.demo.list_employees", usd: 0 } },
      { body: { call_id: "{fresh}", user_id: "person:eve", agent_id: "{id}", tool_id: "people.demo.list_employees", usd: 0 } },
      {
        body: {
          call_id: "{fresh}",
          user_id: "person:ben",
          agent_id: "agent:hr-assistant",
          tool_id: "people.demo.list_employees",
          usd: 0,
          delegation_id: "{id}",
        },
      },
    ],
    attempts: [
      { body: { call_id: "c", user_id: "{ben}", agent_id: "agent:helper", tool_id: "x", usd: 0 }, reported: "insufficient_scope" },
    ],
  },
  settle: {
    about: [{ params: { id: "{id}" }, body: { usd: 0, steps: 1, outcome: "ok" } }],
    attempts: [
      { params: { id: "00000000-0000-4000-8000-000000000000" }, body: { usd: 0, steps: 0, outcome: "ok" }, reported: "insufficient_scope" },
    ],
  },
  spend: { unread: "asked by the gateway alone, with its own key", about: [{ query: { user_id: "{id}" } }] },
};
