import type { Change } from "#events/change.ts";
import type { Sql } from "#store/database.ts";
import type { Follower } from "./follow-pointer.ts";
import type { Administrator } from "./guard-administration.ts";
import { movePointer, type Pointer } from "./pointer.ts";
import { policyEntry, policyEvents, type PolicyAct } from "./tell.ts";
import type { StoredVersion } from "./version-store.ts";
import type { VersionReader } from "./version-reader.ts";

type Data = Readonly<Record<string, unknown>>;

/** What is told of an act: its audit entry and its events, for the commit that it is part of. */
export const tellOf = async (sql: Sql, admin: Administrator, act: PolicyAct, version: string, data: Data) => ({
  entries: [policyEntry(admin.by, act, version, data)],
  events: await policyEvents(sql, admin.by, act, version, data),
});

/** A change of which versions decide. */
export interface PointerTurn {
  readonly act: PolicyAct;
  /** Whom it is about. */
  readonly version: string;
  readonly from: Pointer;
  readonly to: Pick<Pointer, "active" | "shadow">;
  readonly data?: Data;
}

export interface TurnParts {
  readonly change: Change;
  readonly follower: Follower;
  readonly reader: Pick<VersionReader, "requireVersion">;
}

/** Moves the pointer in one commit with what is told of it; this process follows before it resolves. Throws `stale_version`. */
export const createTurn =
  ({ change, follower, reader }: TurnParts) =>
  async (admin: Administrator, { act, version, from, to, data }: PointerTurn): Promise<StoredVersion> => {
    await change(async (sql) => {
      const epoch = await movePointer(sql, from, to);
      return { result: undefined, ...(await tellOf(sql, admin, act, version, { from: from.active, epoch: Number(epoch), ...data })) };
    });
    await follower.refresh();
    return reader.requireVersion(version);
  };

export type TurnPointer = ReturnType<typeof createTurn>;
