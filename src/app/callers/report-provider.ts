import type { Log } from "#telemetry/log.ts";
import type { ProviderConnection } from "./provider.ts";

const WAIT_MS = 10_000;

const reasonOf = (error: unknown): string => {
  const { cause } = error as { cause?: unknown };
  const { code, message } = (cause instanceof AggregateError ? (cause.errors[0] as unknown) : (cause ?? error)) as {
    code?: string;
    message?: string;
  };
  return code ?? message ?? String(error);
};

const lookAt = async (issuer: string, ask: ProviderConnection["ask"], signal: AbortSignal): Promise<string | undefined> => {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  try {
    const answer = await ask(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)]) });
    if (answer.status !== 200) return `${url} answers ${answer.status}`;
    const { issuer: named } = (await answer.json()) as { issuer?: unknown };
    return named === issuer ? undefined : `${url} is of the issuer ${JSON.stringify(named)}`;
  } catch (error) {
    return reasonOf(error);
  }
};

/**
 * Says it at start when the OpenID provider cannot be used, and not only to the first who signs in. It stops no start: the
 * provider may come later. Waits ten seconds at most; never throws.
 */
export const tellOfProvider = async (parts: {
  readonly provider: Pick<ProviderConnection, "issuer" | "ask">;
  readonly log: Log;
  readonly say: (line: string) => void;
  /** Aborted when Sallyport ends. */
  readonly signal: AbortSignal;
}): Promise<void> => {
  const { issuer, ask } = parts.provider;
  const reason = await lookAt(issuer, ask, parts.signal);
  if (reason === undefined || parts.signal.aborted) return;
  parts.say(`The OpenID provider ${issuer} cannot be used (${reason}): nobody can sign in until it can.`);
  parts.log.warn("identity_provider_unusable", { issuer, reason });
};
