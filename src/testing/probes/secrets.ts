import type * as topic from "#contract/secrets.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  readSecret: { sample: { uri: "yaml://secret/people/demo#api_key" }, agent: { gets: "decided" } },
  readSecretValue: { sample: { uri: "yaml://secret/people/demo#api_key" }, agent: { gets: "decided" } },
  writeSecret: {
    sample: { uri: "yaml://secret/people/demo#api_key", value: "x" },
    repeat: {
      bodies: [
        { uri: "vaultA+kv2://kv-a/a#k", value: "one" },
        { uri: "vaultA+kv2://kv-a/a#k", value: "two" },
      ],
    },
  },
};
