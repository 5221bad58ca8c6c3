import { z } from "zod";
import type { InstanceSecrets } from "#authn/sealing/seal.ts";
import type { Peer } from "#contract/ask.ts";
import { startInterval } from "#http/interval.ts";
import { mountMarks } from "#secrets/model/allowed-mounts.ts";
import { readSecretsPolicy } from "#secrets/config.ts";
import { readStores } from "#secrets/providers/kinds/provider-kinds.ts";
import type { Log } from "#telemetry/log.ts";
import type { StartPlan } from "./start-plan.ts";

const TIMEOUT_MS = 2000;
const EVERY_MS = 5000;
const marksOf = z.object({ mounts: z.array(z.string()) });

/** Parts that go by whose places are whose, in a process without secrets: each reads TENANT_ALLOWED_MOUNTS for itself. */
export const mountReaders = ({ commandLine: { serve } }: Pick<StartPlan, "commandLine">): readonly string[] =>
  serve.has("secrets") ? [] : ["crud", "membership"].filter((part) => serve.has(part as "crud"));

/** Marks of the mounts that this process goes by. */
export const ownMounts = ({ settings, allowedMounts }: StartPlan, secrets: InstanceSecrets): readonly string[] => {
  const { environment } = settings.instance;
  const { stores } = readStores(settings, environment);
  return mountMarks(readSecretsPolicy({ ...settings.secrets, allowedMounts }, environment, stores).mounts, secrets);
};

/** Whether the secrets service has other mounts; `undefined`: it does not answer now. Waits 2 s at most, and never fails. */
export const hasOtherMounts = async (secrets: Peer, own: readonly string[]): Promise<boolean | undefined> => {
  const request = new Request("http://sallyport.internal/health/ready", { signal: AbortSignal.timeout(TIMEOUT_MS) });
  const page: unknown = await secrets(request).then(
    (response) => response.json().catch(() => undefined),
    () => undefined,
  );
  const marks = marksOf.safeParse(page).data?.mounts;
  return marks === undefined ? undefined : !marks.some((mark) => own.includes(mark));
};

/** Compares again and again: the secrets service may come later, or come back with other mounts. */
export const watchMounts = (parts: {
  readonly secrets: Peer;
  readonly own: readonly string[];
  readonly log: Log;
  readonly everyMs?: number;
}) => {
  const { secrets, own, log, everyMs = EVERY_MS } = parts;
  let differ = false;
  const look = async (): Promise<void> => {
    const found = (await hasOtherMounts(secrets, own)) ?? differ;
    if (found !== differ) log.error("allowed_mounts_differ", { differ: found });
    differ = found;
  };
  const rounds = startInterval({ everyMs, work: look, failed: (cause) => log.warn("allowed_mounts_unread", { cause }) });
  return { differ: () => differ, [Symbol.asyncDispose]: () => rounds[Symbol.asyncDispose]() };
};
