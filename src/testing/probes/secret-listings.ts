import type * as topic from "#contract/secret-listings.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  describeSecret: { sample: { uri: "vaultA+kv2://kv-a/demo" }, unread: "the demo's secrets lie in a file, which keeps no versions" },
  listSecretKeys: { sample: { uri: "yaml://secret/people/demo" } },
  listSecretMetadata: {},
  listSecretMounts: {},
  listSecretVersions: { sample: { uri: "vaultA+kv2://kv-a/demo" }, unread: "the demo's secrets lie in a file, which keeps no versions" },
  searchSecrets: {},
};
