import { listSecretUses } from "#contract/tools.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { Router } from "#http/serve.ts";
import type { ConfigStore } from "./config-store.ts";

const SECRET = /^([a-z0-9+]+):\/\/([^\s?]+)/i;

/** A secret's name without its version; only the scheme is the same in any case. */
const nameOf = (text: string): string => {
  const [, scheme, rest] = SECRET.exec(text) ?? [];
  return scheme === undefined ? text : `${scheme.toLowerCase()}://${rest}`;
};

/** Whether a system's URI names the secret itself, a key of it, or one below it; all of a map's keys go with the map. */
const isMeant = (named: string, uri: string): boolean =>
  named === uri || named.startsWith(`${uri}#`) || named.startsWith(`${uri}/`) || uri.startsWith(`${named}#`);

/** Which systems name a secret. Of a system that the caller may not see nothing is said. */
export const serveSecretUses = (
  router: Router<Caller>,
  parts: { readonly store: Pick<ConfigStore, "list">; readonly pdpClient: PdpClient },
): void => {
  router.serve(listSecretUses, async ({ query, caller, correlationId }) => {
    const uri = nameOf(query.uri);
    const found = parts.store
      .list("system", caller.tenant)
      .map(({ name, prepared }) => ({
        name,
        title: prepared?.about.title ?? name,
        uris: [...new Set((prepared?.secrets ?? []).map(nameOf).filter((named) => isMeant(named, uri)))].toSorted(),
      }))
      .filter(({ uris }) => uris.length > 0);
    const answers = await parts.pdpClient.decideMany(
      caller,
      found.map(({ name }) => ({ type: "system", action: "view", id: name })),
      correlationId,
    );
    return {
      systems: found.filter((_system, at) => {
        const decided = answers[at];
        return decided !== undefined && parts.pdpClient.refusal(caller, decided) === undefined;
      }),
    };
  });
};
