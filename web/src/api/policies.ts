import { queryOptions } from "@tanstack/react-query";
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
import { ifMatch, pagesQuery, replyQuery } from "./queries.ts";

export const POLICIES = "policies";

/** Texts by path; `null` removes a file. */
export type FileChanges = Readonly<Record<string, string | null>>;

export const policyListQuery = (client: Client) => replyQuery(client, [POLICIES, "list"], listPolicies, { query: {} });

export const policyQuery = (client: Client, id: string, version: string | undefined) =>
  replyQuery(client, [POLICIES, "one", id, version], readPolicy, { params: { id }, query: { version } });

export const versionPagesQuery = (client: Client) =>
  pagesQuery([POLICIES, "versions"], async (cursor, signal) => await client.ask(listRollouts, { query: { limit: 20, cursor }, signal }));

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
  replyQuery(client, [POLICIES, "version", version], readRollout, { params: { version } });

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
export const differencesQuery = (client: Client, version: string) => ({
  ...replyQuery(client, [POLICIES, "differences", version], rolloutDifferences, { params: { version } }),
  refetchInterval: SHADOW_MS,
});

const REPLAY_MS = 700;

export const replayQuery = (client: Client, id: string) =>
  queryOptions({
    ...replyQuery(client, [POLICIES, "replay", id], readReplay, { params: { id } }),
    refetchInterval: (query) => (query.state.data?.state === "running" ? REPLAY_MS : false),
  });

/** Issues and cases of files over those of a version; nothing is stored. */
export const validateQuery = (client: Client, version: string, files: FileChanges) => ({
  ...replyQuery(client, [POLICIES, "validate", version, files], validatePolicies, { body: { version, files: { ...files } } }),
  staleTime: Infinity,
  gcTime: 10_000,
});

export const saveDraft = async (client: Client, from: string, files: FileChanges, message: string) =>
  await client.ask(createRollout, { body: { from_version: from, files: { ...files }, message } });

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
