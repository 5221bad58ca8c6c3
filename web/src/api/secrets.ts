import { queryOptions } from "@tanstack/react-query";
import type { ReplyOf, SentBody } from "#contract/endpoint.ts";
import { bulkSecrets } from "#contract/secret-acts.ts";
import { listSecretAudit } from "#contract/secret-audit.ts";
import { describeSecret, listSecretKeys, listSecretMetadata, listSecretMounts } from "#contract/secret-listings.ts";
import { listSecretUses } from "#contract/tools.ts";
import type { Client } from "./client.ts";
import { GatewayError } from "../model/gateway-error.ts";

/** Root of every query about secrets. No value is ever in one. */
export const SECRETS = "secrets";

export type Mount = ReplyOf<typeof listSecretMounts>["mounts"][number];
export type SecretDetail = ReplyOf<typeof describeSecret>;
export type SecretAct = ReplyOf<typeof listSecretAudit>["items"][number];

export const mountsQuery = (client: Client) =>
  queryOptions({
    queryKey: [SECRETS, "mounts"],
    queryFn: async ({ signal }) => (await client.ask(listSecretMounts, { signal })).mounts,
    staleTime: 60_000,
  });

/** `undefined` instead of a refusal that says that nothing is there. */
const orAbsent = async <T>(read: Promise<T>): Promise<T | undefined> => {
  try {
    return await read;
  } catch (error) {
    if (error instanceof GatewayError && error.problem.status === 404) return undefined;
    throw error;
  }
};

export interface ReadSecret {
  /** Absent: there is nothing, or the newest version is deleted. */
  readonly content: { readonly keys: readonly string[]; readonly nodes: readonly string[] } | undefined;
  /** Of stores that keep versions; absent where there never was one. */
  readonly detail: SecretDetail | undefined;
}
/** Whose it is, and who made and last changed it through Sallyport. */
export type SecretStory = Pick<ReplyOf<typeof listSecretMetadata>["items"][number], "owner" | "created_by" | "updated_by" | "updated_at">;

/** What lies at a place now. */
export const readSecretAt = async (client: Client, uri: string, keepsVersions: boolean, signal?: AbortSignal): Promise<ReadSecret> => {
  const options = { query: { uri }, signal };
  const [content, detail] = await Promise.all([
    orAbsent(client.ask(listSecretKeys, options)),
    keepsVersions ? orAbsent(client.ask(describeSecret, options)) : undefined,
  ]);
  return { content, detail };
};

export const secretQuery = (client: Client, uri: string, keepsVersions: boolean) =>
  queryOptions({
    queryKey: [SECRETS, "one", uri, keepsVersions],
    queryFn: async ({ signal }): Promise<ReadSecret & { readonly story: SecretStory | undefined }> => {
      const [read, listed] = await Promise.all([
        readSecretAt(client, uri, keepsVersions, signal),
        // What keeps versions says it of the newest one.
        keepsVersions ? undefined : client.ask(listSecretMetadata, { query: { prefix: uri, limit: "1" }, signal }),
      ]);
      return { ...read, story: read.detail ?? listed?.items.find((item) => item.uri === uri) };
    },
  });

/** Systems that name a secret, or a key of it, or one below it; those that one may see. */
export const readUses = async (client: Client, uri: string, signal?: AbortSignal) =>
  (await client.ask(listSecretUses, { query: { uri }, signal })).systems;

/** More than are shown, for looking at the page is on record too. */
const MAX_ACTS = 50;

/** Root of what is on record of secrets. */
export const ACTS = [SECRETS, "acts"] as const;

/** The last acts on each of these, the newest first; which of them each is of stands beside it. */
export const actsQuery = (client: Client, uris: readonly string[]) =>
  queryOptions({
    queryKey: [...ACTS, uris],
    queryFn: async ({ signal }) => {
      const pages = await Promise.all(
        uris.map(async (uri) => {
          const { items } = await client.ask(listSecretAudit, { query: { uri, limit: String(MAX_ACTS) }, signal });
          return items.map((act) => ({ ...act, uri }));
        }),
      );
      return pages.flat().toSorted((one, other) => (one.at < other.at ? 1 : -1));
    },
  });

export type Operation = SentBody<typeof bulkSecrets>["operations"][number];
export type Looked = ReplyOf<typeof bulkSecrets>["results"][number];

/** Whether each would be let through; nothing is done. */
export const lookAhead = async (client: Client, operations: readonly Operation[]): Promise<readonly Looked[]> =>
  (await client.ask(bulkSecrets, { body: { operations: [...operations], dry_run: true } })).results;

/** What Sallyport refuses a dry run with; undefined where it would be done. */
export const refusalOf = async (asked: Promise<unknown>): Promise<GatewayError | undefined> => {
  try {
    await asked;
    return undefined;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
};
