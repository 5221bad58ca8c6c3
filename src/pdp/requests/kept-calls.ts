import type { ShownCall } from "#contract/access-requests.ts";
import type { Sealer } from "#authn/sealing/seal.ts";
import type { Database } from "#store/database.ts";
import type { ActBinder } from "#pdp/engine/act-binding.ts";
import { openShownCall, sealCall } from "./binding-token.ts";
import { readSealedCall, type RequestRow } from "#pdp/records/request-store.ts";

/** What was asked for, as it is kept with its request. */
export interface KeptCall {
  /**
   * It is the very one that the denial was bound to: nothing but this, shown in these words, will be permitted. A row that somebody
   * wrote to by hand proves nothing, shows nothing, and is approved by nobody.
   */
  readonly proven: boolean;
  /** Absent where nothing came with the question. */
  readonly call?: ShownCall;
}

export interface KeptCallsParts {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly acts: Pick<ActBinder, "wholeOf">;
}

/** Calls sealed at rest, each tied to its request. */
export const createKeptCalls = ({ database, sealer, acts }: KeptCallsParts) => ({
  seal: (call: ShownCall | undefined, requestId: string): Uint8Array | undefined =>
    call === undefined ? undefined : sealCall(sealer, call, requestId),
  read: async (row: RequestRow): Promise<KeptCall> => {
    const sealed = await readSealedCall(database, row.id);
    const call = sealed === undefined ? undefined : openShownCall(sealer, sealed, row.id);
    if (sealed !== undefined && call === undefined) return { proven: false };
    const { act_digest: act, definition, policy_version: policyVersion } = row;
    const proven = acts.wholeOf({ act, definition, policyVersion, call }) === row.binding_digest;
    return proven && call !== undefined ? { proven, call } : { proven };
  },
});

export type KeptCalls = ReturnType<typeof createKeptCalls>;
