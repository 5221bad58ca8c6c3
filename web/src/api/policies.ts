import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { listPolicies, readPolicy, validatePolicies } from "#contract/policies.ts";
import { readReplay, startReplay, stopReplay } from "#contract/replay.ts";
import {
  createRollout,
  deleteRollout,
  listRollouts,
  promoteRollout,
  readRollout,
  rollBack,
  rolloutDifferences,
  rolloutMatrix,
  type MatrixDifference,
  type Rollout,
} from "#contract/rollouts.ts";
import type { SentBody } from "#contract/endpoint.ts";
import type { Client } from "./client.ts";

export const POLICIES = "policies";

/** Texts by path; `null` removes a file. */
export type FileChanges = Readonly<Record<string, string | null>>;

export const policyListQuery = (client: Client) =>
  queryOptions({
    queryKey: [POLICIES, "list"],
    queryFn: async ({ signal }) => await client.ask(listPolicies, { query: {}, signal }),
  });

export const policyQuery = (client: Client, id: string, version: string | undefined) =>
  queryOptions({
    queryKey: [POLICIES, "one", id, version],
    queryFn: async ({ signal }) =>
      await client.ask(readPolicy, { params: { id }, query: version === undefined ? {} : { version }, signal }),
  });

export const versionPagesQuery = (client: Client) =>
  infiniteQueryOptions({
    queryKey: [POLICIES, "versions"],
    queryFn: async ({ pageParam, signal }) =>
      await client.ask(listRollouts, { query: { limit: 20, cursor: pageParam || undefined }, signal }),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
  });

/** The version that decided before the present one; `undefined` where there is none. */
export const lastRetiredQuery = (client: Client) =>
  queryOptions({
    queryKey: [POLICIES, "last-retired"],
    queryFn: async ({ signal }): Promise<{ readonly last: Rollout | undefined }> => {
      const { rollouts } = await client.ask(listRollouts, { query: { state: "retired", limit: 200 }, signal });
      return { last: rollouts.toSorted((a, b) => (b.activated_at ?? "").localeCompare(a.activated_at ?? ""))[0] };
    },
  });

export const versionQuery = (client: Client, version: string) =>
  queryOptions({
    queryKey: [POLICIES, "version", version],
    queryFn: async ({ signal }) => await client.ask(readRollout, { params: { version }, signal }),
  });

/** The name of the version that decides. */
export const activeVersionQuery = (client: Client) =>
  queryOptions({
    queryKey: [POLICIES, "active"],
    queryFn: async ({ signal }) => {
      const { rollouts } = await client.ask(listRollouts, { query: { state: "active", limit: 1 }, signal });
      return { version: rollouts[0]?.version };
    },
  });

export interface ReadMatrix {
  readonly matrix: MatrixDifference;
  /** Of what decided when it was drawn, for If-Match. */
  readonly etag: string | undefined;
}

/** Cells that a version would change of what decides now. Some seconds for the server: every cell is asked twice. */
export const matrixQuery = (client: Client, version: string) =>
  queryOptions({
    queryKey: [POLICIES, "matrix", version],
    queryFn: async ({ signal }): Promise<ReadMatrix> => {
      const answered = await client.askAnswer(rolloutMatrix, { params: { version }, query: {}, signal });
      return { matrix: answered.value, etag: answered.headers.get("etag") ?? undefined };
    },
    structuralSharing: false,
  });

const SHADOW_MS = 2_000;

/** What a version in the shadow decided otherwise; read again every two seconds while it is on screen. */
export const differencesQuery = (client: Client, version: string) =>
  queryOptions({
    queryKey: [POLICIES, "differences", version],
    queryFn: async ({ signal }) => await client.ask(rolloutDifferences, { params: { version }, signal }),
    refetchInterval: SHADOW_MS,
  });

const REPLAY_MS = 700;

export const replayQuery = (client: Client, id: string) =>
  queryOptions({
    queryKey: [POLICIES, "replay", id],
    queryFn: async ({ signal }) => await client.ask(readReplay, { params: { id }, signal }),
    refetchInterval: (query) => (query.state.data?.state === "running" ? REPLAY_MS : false),
  });

/** Faults and cases of files over those of a version; nothing is stored. */
export const validateQuery = (client: Client, version: string, files: FileChanges) =>
  queryOptions({
    queryKey: [POLICIES, "validate", version, files],
    queryFn: async ({ signal }) => await client.ask(validatePolicies, { body: { version, files: { ...files } }, signal }),
    staleTime: Infinity,
    gcTime: 10_000,
  });

export const saveDraft = async (client: Client, from: string, files: FileChanges, message: string) =>
  await client.ask(createRollout, { body: { from_version: from, files: { ...files }, message } });

const ifMatch = (etag: string | undefined) => (etag === undefined ? {} : { headers: { "if-match": etag } });

export const putInShadow = async (client: Client, version: string) =>
  await client.ask(promoteRollout, { params: { version }, body: { to: "shadow" } });

export const takeOutOfShadow = async (client: Client, version: string) =>
  await client.ask(promoteRollout, { params: { version }, body: { to: "draft" } });

/** Lets a version decide: names the difference that was shown, and refuses when another has been made to decide since. */
export const activate = async (client: Client, { matrix, etag }: ReadMatrix) =>
  await client.ask(promoteRollout, {
    params: { version: matrix.version },
    body: { to: "active", acknowledged_diff: matrix.digest },
    ...ifMatch(etag),
  });

export const rollBackTo = async (client: Client, { matrix, etag }: ReadMatrix, message: string) =>
  await client.ask(rollBack, { params: { version: matrix.version }, body: message === "" ? {} : { message }, ...ifMatch(etag) });

export const dropDraft = async (client: Client, version: string) => await client.ask(deleteRollout, { params: { version } });

export type ReplayAsk = SentBody<typeof startReplay>;

export const beginReplay = async (client: Client, ask: ReplayAsk) => await client.ask(startReplay, { body: ask });

export const endReplay = async (client: Client, id: string) => await client.ask(stopReplay, { params: { id } });
