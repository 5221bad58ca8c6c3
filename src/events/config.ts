import { z } from "zod";
import { integer, setting, type SettingTable } from "#contract/setting.ts";

/** Live streams and the audit log. */
export const eventsSettings = {
  busPollMs: setting("BUS_POLL_MS", integer(50, 60_000), {
    description: "Longest time until a process notices what another one changed when the database's hints are lost.",
    unit: "ms",
    default: "1000",
  }),
  outboxReplayHours: setting("OUTBOX_REPLAY_HOURS", integer(1, 8_760), {
    description: "How long events of live streams can be read again; the newest 10000 of each stream always can.",
    unit: "h",
    default: "24",
  }),
  auditOrigin: setting(
    "AUDIT_ORIGIN",
    z
      .string()
      .regex(/^[a-z0-9.-]{1,200}$/, "must be a host name")
      .optional(),
    {
      description: "Host that the origins of the audit logs begin with. Unset: the public host of the gateway.",
    },
  ),
  auditKekFile: setting("AUDIT_KEK_FILE", z.string().min(1).optional(), {
    description:
      "File with the key of 32 bytes that wraps the keys of persons' references. In dev and test one is made in the data folder when this is unset.",
  }),
  auditOpenTimeoutMs: setting("AUDIT_OPEN_TIMEOUT_MS", integer(10, 60_000), {
    description: "How long an act waits for its audit entry before it is refused.",
    unit: "ms",
    default: "2000",
  }),
} satisfies SettingTable;
