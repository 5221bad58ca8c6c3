import type * as topic from "#contract/secret-acts.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  bulkSecrets: {
    repeat: {
      bodies: [
        { operations: [{ op: "rotate", uri: "vaultA+kv2://kv-a/d#k", value: "one" }] },
        { operations: [{ op: "rotate", uri: "vaultA+kv2://kv-a/d#k", value: "two" }] },
      ],
    },
  },
  copySecret: {
    sample: { fromUri: "yaml://secret/people/demo#api_key", toUri: "yaml://secret/people/copy" },
    repeat: {
      bodies: [
        { fromUri: "yaml://secret/copied", toUri: "yaml://secret/copy" },
        { fromUri: "yaml://secret/copied", toUri: "yaml://secret/copy2" },
      ],
    },
  },
  deleteSecret: { sample: { uri: "yaml://secret/people/demo#api_key" } },
  destroySecretVersions: {
    sample: { uri: "vaultA+kv2://kv-a/demo", versions: [1] },
    repeat: {
      bodies: [
        { uri: "vaultA+kv2://kv-a/c", versions: [1] },
        { uri: "vaultA+kv2://kv-a/c", versions: [2] },
      ],
    },
  },
  moveSecret: {
    sample: { fromUri: "yaml://secret/people/demo#api_key", toUri: "yaml://secret/people/copy" },
    repeat: {
      bodies: [
        { fromUri: "yaml://secret/moved", toUri: "yaml://secret/there" },
        { fromUri: "yaml://secret/moved", toUri: "yaml://secret/there2" },
      ],
    },
  },
  rotateSecret: {
    sample: { uri: "yaml://secret/people/demo#api_key", value: "x" },
    repeat: {
      bodies: [
        { uri: "vaultA+kv2://kv-a/a#k", value: "one" },
        { uri: "vaultA+kv2://kv-a/a#k", value: "two" },
      ],
    },
  },
  setSecretOwner: {
    sample: { uri: "yaml://secret/people/demo", owner: "group:payments" },
    repeat: {
      bodies: [
        { uri: "vaultA+kv2://kv-a/a", owner: "group:one" },
        { uri: "vaultA+kv2://kv-a/a", owner: "group:two" },
      ],
    },
  },
  undeleteSecret: {
    sample: { uri: "vaultA+kv2://kv-a/demo", versions: [1] },
    repeat: {
      bodies: [
        { uri: "vaultA+kv2://kv-a/b", versions: [2] },
        { uri: "vaultA+kv2://kv-a/b", versions: [1] },
      ],
    },
  },
};
