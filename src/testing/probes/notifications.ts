import type * as topic from "#contract/notifications.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  askContacts: {
    about: [{ body: { tenant_id: "tenant:globex", ids: ["{id}"] } }],
    attempts: [{ body: { tenant_id: "tenant:acme", ids: ["{ada}"] }, reported: "not_found" }],
  },
  putNotificationChoice: {},
  readNotificationChoice: {},
};
