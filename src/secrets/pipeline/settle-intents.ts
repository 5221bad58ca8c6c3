import { asProblem } from "#http/problem-body.ts";
import { Problem } from "#contract/problem.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { IntentEnd, Intents, OpenIntent } from "./intents.ts";
import { secretOperations } from "#contract/secret-operations.ts";
import { NOT_DONE, settledAct, type SettleParts } from "./secret-record.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";
import { formatPrefix, parseSecretUri, type SecretUri } from "#secrets/model/secret-uri.ts";
import { SecretValue } from "#secrets/model/secret-value.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";

export interface SettleIntentParts extends SettleParts {
  readonly intents: Intents;
  readonly metrics: Pick<Metrics, "set">;
}

const ends = {
  completed: { outcome: "ok" },
  failed: { outcome: "refused", code: NOT_DONE },
  superseded: { outcome: "unknown", code: "outcome_unknown" },
} as const;

const orAbsent = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (asProblem(error).status === 404) return undefined;
    throw error;
  }
};

/** How it ended, by what stands in the store: a process that does it any more there is none. */
const lookAt = async (parts: SettleIntentParts, intent: OpenIntent, uri: SecretUri, provider: SecretProvider): Promise<IntentEnd> => {
  await parts.changes.catchUp(provider);
  const ref: SecretRef = Object.freeze({ ...uri, tenant: intent.tenant });
  const whole: SecretRef = { ...ref, key: undefined, id: formatPrefix(uri) };
  if (!provider.can.has("versions")) {
    const read = await orAbsent(provider.read(intent.wanted === "written" ? whole : ref));
    if (intent.wanted === "deleted") return read === undefined ? "completed" : "failed";
    // Of a store without versions nobody can tell whether ours was never there or is there no more.
    return read !== undefined && parts.intents.isOf(intent, SecretValue.reveal(read.value)) ? "completed" : "superseded";
  }
  const wanted = intent.versions.map(Number);
  const versions = (await orAbsent(provider.describe(whole)))?.versions.filter(({ version }) => wanted.includes(version)) ?? [];
  if (intent.wanted !== "written") {
    // The store marks all of them at once. Where they differ, one is destroyed or one is gone, another act was there, before or after.
    const states = new Set(versions.map(({ state }) => state));
    const [state] = states;
    if (versions.length < wanted.length || states.size !== 1) return "superseded";
    return state === intent.wanted ? "completed" : state === "destroyed" ? "superseded" : "failed";
  }
  const [made] = versions;
  if (made === undefined) return "failed";
  if (made.state !== "active") return "superseded";
  const read = await provider.read({ ...whole, version: made.version });
  return parts.intents.isOf(intent, SecretValue.reveal(read.value)) ? "completed" : "failed";
};

const settleOne = async (parts: SettleIntentParts, intent: OpenIntent): Promise<void> => {
  const { intents, changes, log } = parts;
  const uri = parseSecretUri(intent.uri, parts.policy.schemes);
  const provider = parts.providers.get(uri.scheme);
  if (provider === undefined) throw new Problem("provider_not_configured");
  const state = await lookAt(parts, intent, uri, provider);
  const operation = Object.values(secretOperations).find(({ op }) => op === intent.op) ?? secretOperations.write;
  const [version] = intent.versions;
  if (state === "completed")
    await changes.end(
      [formatPrefix(uri)],
      {
        tenant: intent.tenant,
        by: intent.subject,
        isRotation: operation.op === "rotate",
        ...(intent.wanted === "written" && version !== undefined ? { version: Number(version) } : {}),
      },
      provider,
    );
  const end = { ...ends[state], wanted: intent.wanted, versions: intent.versions.map(Number) };
  // Recorded first: told twice after a crash in between, never not at all.
  await parts.change(async () => ({ result: undefined, ...settledAct(intent, operation, uri, "intent_id", end, parts) }));
  await intents.end(intent.id, state);
  log.warn("secret_intent_settled", { intent_id: intent.id, state });
};

/** Ends the acts that a process left, or whose answer was lost, by looking at the store. */
export const settleIntents = async (parts: SettleIntentParts): Promise<number> => {
  const left = await parts.intents.takeAbandoned();
  let open = 0;
  for (const intent of left)
    await settleOne(parts, intent).catch((error: unknown) => {
      open += 1;
      parts.log.warn("secret_intent_unsettled", { intent_id: intent.id, code: asProblem(error).code });
    });
  parts.metrics.set("secrets_open_intents", {}, open);
  return left.length;
};
