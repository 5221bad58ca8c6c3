import {
  clientCredentialsRequest,
  createHeldToken,
  MAX_TOKEN_BYTES,
  readForeignToken,
  type ForeignToken,
} from "#authn/exchange/client-credentials.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import type { PdpConfig } from "#pdp/config.ts";
import { ConfigurationRefused } from "#pdp/model/configuration-file.ts";
import { isSafeAddress, type RemoteDecisionPoint } from "#pdp/model/remote-config.ts";
import { fetchBounded } from "./read-bounded.ts";

/** What Sallyport shows to a decision point outside it. */
export interface Credential {
  /** Value of the `Authorization` header, if any. Throws `pdp_unavailable` when no token can be had. */
  authorization(): Promise<string | undefined>;
  /** It was not accepted: the next call fetches another. */
  forget(): void;
}

export type RemoteSecrets = Pick<PdpConfig, "remoteToken" | "remoteTokenUrl" | "remoteClientId" | "remoteClientSecret">;

const clientCredentials = (parts: {
  readonly url: URL;
  readonly id: string;
  readonly secret: string;
  readonly timeoutMs: number;
  readonly now: () => Date;
}): Credential => {
  const held = createHeldToken(parts.now);
  const request = clientCredentialsRequest(parts);

  const fetchToken = async (): Promise<ForeignToken> => {
    const asked = parts.now().getTime();
    try {
      const answer = await fetchBounded(
        parts.url,
        { method: "POST", ...request },
        { timeoutMs: parts.timeoutMs, maxBytes: MAX_TOKEN_BYTES },
      );
      if (answer.status !== 200) throw new Error(`the token endpoint answered with ${answer.status}`);
      const read = readForeignToken(JSON.parse(answer.text), asked);
      if (read === undefined) throw new Error("the token endpoint gave no bearer token");
      return read;
    } catch (cause) {
      throw new Problem("pdp_unavailable", { cause, headers: { "retry-after": "1" } });
    }
  };
  return {
    authorization: async () => `Bearer ${await held.token(fetchToken)}`,
    forget: () => held.drop(),
  };
};

/** Throws `ConfigurationRefused` naming each setting that is missing or unsafe. */
export const createCredential = (
  { auth, timeout_ms: timeoutMs }: Pick<RemoteDecisionPoint, "auth" | "timeout_ms">,
  secrets: RemoteSecrets,
  now: () => Date,
): Credential => {
  const issues: Issue[] = [];
  const need = (path: string, value: string | undefined): string => {
    if (value === undefined) issues.push({ path, message: `is needed: the decision point's auth is ${auth}` });
    return value ?? "";
  };
  if (auth === "none") return { authorization: async () => undefined, forget: () => {} };
  if (auth === "bearer_from_env") {
    const token = need("PDP_REMOTE_TOKEN", secrets.remoteToken);
    if (issues.length > 0) throw new ConfigurationRefused(issues);
    return { authorization: async () => `Bearer ${token}`, forget: () => {} };
  }
  const address = need("PDP_REMOTE_TOKEN_URL", secrets.remoteTokenUrl);
  const id = need("PDP_REMOTE_CLIENT_ID", secrets.remoteClientId);
  const secret = need("PDP_REMOTE_CLIENT_SECRET", secrets.remoteClientSecret);
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (address !== "" && (url === undefined || !isSafeAddress(url)))
    issues.push({ path: "PDP_REMOTE_TOKEN_URL", message: "must be https, or http on loopback" });
  if (issues.length > 0 || url === undefined) throw new ConfigurationRefused(issues);
  return clientCredentials({ url, id, secret, timeoutMs, now });
};
