import { queryOptions } from "@tanstack/react-query";
import { rolloutMatrix, type MatrixDifference } from "#contract/rollouts.ts";
import type { Client } from "./client.ts";

export const POLICIES = "policies";

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
