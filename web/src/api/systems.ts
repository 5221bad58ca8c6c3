import { queryOptions } from "@tanstack/react-query";
import { configKinds, type ConfigWritten } from "#contract/configs.ts";
import type { ReplyOf, SentBody } from "#contract/endpoint.ts";
import { acceptImport, importedOperations, importOpenApi, reimportSystem } from "#contract/imports.ts";
import type { Client } from "./client.ts";
import { ifMatch, readAll } from "./queries.ts";

export const systems = configKinds.system.endpoints;

/** Root of every query about systems. */
export const SYSTEMS = "systems";

export type SystemRow = ReplyOf<typeof systems.list>["systems"][number];
/** A system with the bytes of its newest version. */
export type ReadSystem = ReplyOf<typeof systems.read> & { readonly text: string };
export type VersionRow = ReplyOf<typeof systems.versions>["versions"][number];
export type ConfigIssue = NonNullable<ConfigWritten["errors"]>[number];

/** All systems that the person may see; or those that were taken away. */
export const systemListQuery = (client: Client, state?: "deleted") =>
  queryOptions({
    queryKey: [SYSTEMS, "list", state],
    queryFn: async ({ signal }) => ({
      systems: await readAll(
        async (cursor) => await client.ask(systems.list, { query: { limit: 500, cursor, state }, signal }),
        (page) => page.systems,
        5_000,
      ),
    }),
  });

const readText = async (client: Client, name: string, version: number, signal: AbortSignal): Promise<string> =>
  await client.ask(systems.version, { params: { name, version: String(version) }, signal });

export const systemQuery = (client: Client, name: string) =>
  queryOptions({
    queryKey: [SYSTEMS, "one", name],
    queryFn: async ({ signal }): Promise<ReadSystem> => {
      const read = await client.ask(systems.read, { params: { name }, headers: { accept: "application/json" }, signal });
      // A file that never loaded has no version.
      return { ...read, text: read.version === 0 ? "" : await readText(client, name, read.version, signal) };
    },
  });

/** The bytes of a version, which never change. */
export const versionTextQuery = (client: Client, name: string, version: number) =>
  queryOptions({
    queryKey: [SYSTEMS, "text", name, version],
    queryFn: async ({ signal }) => await readText(client, name, version, signal),
    staleTime: Infinity,
  });

const textOptions = (text: string, etag?: string) => ({
  text,
  // What an import writes is JSON, and may be larger than YAML may.
  headers: {
    "content-type": text.startsWith("{") ? "application/json" : "application/yaml",
    ...ifMatch(etag).headers,
  },
});

/** Issues and effects of a text; nothing is stored. Without a name it is a new system. */
export const tryQuery = (client: Client, name: string | undefined, text: string) =>
  queryOptions({
    queryKey: [SYSTEMS, "try", name, text],
    queryFn: async ({ signal }): Promise<ConfigWritten> =>
      name === undefined
        ? await client.ask(systems.create, { query: { dryRun: "true" }, ...textOptions(text), signal })
        : await client.ask(systems.put, { params: { name }, query: { dryRun: "true" }, ...textOptions(text), signal }),
    staleTime: 30_000,
    gcTime: 30_000,
  });

export const publishNew = async (client: Client, text: string, reason: string) =>
  await client.ask(systems.create, { query: { reason }, ...textOptions(text) });

/** Refused with `stale_version` when it is not over the version of this tag. */
export const publishOver = async (client: Client, name: string, text: string, reason: string | undefined, etag: string) =>
  await client.ask(systems.put, { params: { name }, query: { reason }, ...textOptions(text, etag) });

export type Looked = ReplyOf<typeof importOpenApi>;

export interface ImportSource {
  readonly provider: string;
  readonly instance: string;
  /** One of both. */
  readonly text?: string;
  readonly url?: string;
  /** A network that is not public and may be dialled for `url`. */
  readonly allow?: string;
}

/** Reads an OpenAPI document; nothing becomes a tool yet. */
export const lookAt = async (client: Client, { provider, instance, text, url, allow }: ImportSource): Promise<Looked> =>
  await client.ask(importOpenApi, { query: { provider, instance, url, allow }, ...(text === undefined ? {} : textOptions(text)) });

/** Keys of all that fit the filter and can be imported. */
export const importableKeys = async (
  client: Client,
  id: string,
  filter: { readonly q: string | undefined; readonly tag: string | undefined },
): Promise<readonly string[]> =>
  await readAll(
    async (cursor) => await client.ask(importedOperations, { params: { id }, query: { ...filter, limit: 500, cursor } }),
    ({ operations }) => operations.filter(({ importable }) => importable).map(({ key }) => key),
  );

export type AcceptBody = SentBody<typeof acceptImport>;
export type ImportWritten = ReplyOf<typeof acceptImport>;

/** Where an import goes: it becomes a system, or brings one up to date. */
export type ImportTarget =
  | { readonly id: string; readonly body: AcceptBody }
  | { readonly id: string; readonly system: string; readonly etag: string; readonly pick: readonly string[] };

const runImport = async (client: Client, target: ImportTarget, dryRun: "true" | "false", signal?: AbortSignal): Promise<ImportWritten> => {
  const options = { query: { dryRun }, signal };
  if ("body" in target) return await client.ask(acceptImport, { params: { id: target.id }, body: target.body, ...options });
  const { id, system, etag, pick } = target;
  const body = { import_id: id, ...(pick.length === 0 ? {} : { pick: [...pick] }) };
  return await client.ask(reimportSystem, { params: { name: system }, body, headers: { "if-match": etag }, ...options });
};

/** What an import would make, or change; nothing is stored. */
export const importTryQuery = (client: Client, target: ImportTarget) =>
  queryOptions({
    queryKey: [SYSTEMS, "import-try", target],
    queryFn: async ({ signal }) => await runImport(client, target, "true", signal),
    staleTime: 30_000,
  });

export const publishImport = async (client: Client, target: ImportTarget): Promise<ImportWritten> =>
  await runImport(client, target, "false");
