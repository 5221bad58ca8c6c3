import { ask, type Peer } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";
import { PLATFORM } from "#contract/secret-schemes.ts";
import { listSecretKeys } from "#contract/secret-listings.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { ServiceIdentity } from "#authn/keys/service-identity.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";

export interface SecretStandingParts {
  readonly secrets: Peer;
  readonly secretsAudience: string;
  readonly identity: Pick<ServiceIdentity, "onBehalfOf">;
  readonly pdpClient: Pick<PdpClient, "decideMany">;
  /** Whose place a secret URI names. */
  readonly secretOwner?: ((uri: string) => string | undefined) | undefined;
}

/** What keeps a call from a secret that its system names. */
export interface SecretStanding {
  readonly uri: string;
  /** `closed`: no secret of the tenant may lie there; `unknown`: secrets are away, or who asks may not know of it. */
  readonly place: "there" | "missing" | "closed" | "unknown";
  /** Why it is missing or closed. */
  readonly code?: string;
  /** The tool server may use it for a permitted call of the tool. */
  readonly isUsable: boolean;
}

const closed: ReadonlySet<string> = new Set(["tenant_mount", "provider_not_configured"]);
/** The tool server itself, which is who uses a secret. */
const toolServer = { sub: "service:crud", tenant: "*", amr: [], scopes: new Set<string>() };

const withoutVersion = (uri: string): string => uri.replace(/\?version=[0-9]+$/, "");
/** A secret without its key: what stands in the identity graph. */
export const secretOf = (uri: string): string => withoutVersion(uri).split("#", 1)[0] ?? uri;

/**
 * How the secrets that a system names stand, as who asks may know it. No value is read, and what is decided here opens nothing: each call
 * is decided anew. Throws `decision_unavailable`.
 */
export const secretStandings = async (
  parts: SecretStandingParts,
  asked: { readonly caller: Caller; readonly correlationId: string; readonly tool: string },
  uris: readonly string[],
): Promise<readonly SecretStanding[]> => {
  const all = [...new Set(uris)];
  if (all.length === 0) return [];
  const { caller, correlationId, tool } = asked;
  const token = await parts.identity.onBehalfOf(parts.secretsAudience, { ...caller, scopes: ["secrets.read_metadata"] });
  const headers = { authorization: `Bearer ${token}`, "x-correlation-id": correlationId };
  const placeOf = async (uri: string): Promise<Pick<SecretStanding, "place" | "code">> => {
    try {
      await ask(parts.secrets, listSecretKeys, { query: { uri }, headers });
      return { place: "there" };
    } catch (error) {
      if (!(error instanceof Problem)) return { place: "unknown" };
      const { code, status } = error;
      if (closed.has(code)) return { place: "closed", code };
      return status === 404 || status === 400 ? { place: "missing", code } : { place: "unknown" };
    }
  };
  const questions = (action: string, context: Readonly<Record<string, unknown>>) =>
    all.map((uri) => ({
      type: "secret",
      action,
      id: withoutVersion(uri),
      properties: { tenant: caller.tenant, platform: parts.secretOwner?.(uri) === PLATFORM },
      context: { showing: true, ...context },
    }));
  const [known, answers] = await Promise.all([
    parts.pdpClient.decideMany(caller, questions("read_metadata", {}), correlationId),
    parts.pdpClient.decideMany(toolServer, questions("use", { could: true, tool: { id: tool } }), correlationId),
  ]);
  // Who only looks at a tool has not tried to reach its secret, and is refused nothing.
  const places = await Promise.all(
    all.map(async (uri, at) => (known[at]?.decision === true ? placeOf(uri) : ({ place: "unknown" } as const))),
  );
  return all.map((uri, at) => ({ uri, ...(places[at] ?? { place: "unknown" }), isUsable: answers[at]?.decision === true }));
};

/** What is in the way, for who publishes a system: no issue, for a secret may be written after the system that needs it. */
export const secretWarnings = (system: string, standings: readonly SecretStanding[]): readonly string[] =>
  standings.flatMap(({ uri, place, code, isUsable }) => [
    ...(place === "missing" ? [`${uri} is not there (${code}): calls are refused until it is written.`] : []),
    ...(place === "closed" ? [`${uri} lies where your tenant may keep no secret (${code}): TENANT_ALLOWED_MOUNTS names the places.`] : []),
    ...(isUsable
      ? []
      : [
          `${system} may not use ${uri} yet: calls are refused until an administrator names the system on it (used_by of its Resource node).`,
        ]),
  ]);
