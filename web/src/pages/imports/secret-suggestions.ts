import { listSecretKeys, listSecretMetadata, searchSecrets } from "#contract/secret-listings.ts";
import type { Client } from "../../api/client.ts";
import type { Suggestions } from "../../ui/suggest-input.tsx";

const MAX = 6;

const placesOf = async (client: Client, text: string, signal: AbortSignal): Promise<readonly string[]> => {
  const options = { limit: String(MAX), depth: "8" };
  const { items } =
    text === ""
      ? await client.ask(listSecretMetadata, { query: options, signal })
      : await client.ask(searchSecrets, { query: { q: text.slice(0, 128), ...options }, signal });
  return [...new Set(items.map(({ uri }) => uri.split("#")[0] ?? uri))];
};

/** Keys of secrets that the person may know of, by a part of their address. */
export const secretSuggestions = (client: Client, typed: string): Suggestions => {
  const text = (typed.split("#")[0] ?? "").replace(/^[a-z][A-Za-z0-9+]*:\/\//, "");
  return {
    key: ["secrets", "suggestions", text],
    read: async (signal) => {
      const places = await placesOf(client, text, signal);
      const keys = await Promise.all(
        places.map(async (uri) => {
          const found = await client.ask(listSecretKeys, { query: { uri }, signal }).catch(() => undefined);
          return (found?.keys ?? []).map((key) => ({ value: `${uri}#${key}` }));
        }),
      );
      return keys.flat();
    },
  };
};
