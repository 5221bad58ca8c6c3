import type { Database } from "#store/database.ts";
import { startInterval } from "#http/interval.ts";

export interface FollowParts {
  readonly database: Pick<Database, "kind" | "listen">;
  readonly channel: string;
  /** Between two looks, for a hint that was lost; a second unless given, three where no other process can change anything. */
  readonly pollMs?: number | undefined;
  /** Looks at what is in force now; it is asked again while it still looks. */
  readonly look: () => Promise<unknown>;
  readonly failed: (cause: unknown) => void;
}

const POLL_MS = 1_000;
/** The embedded database has no other process that could change anything. */
const ALONE_POLL_MS = 3_000;

export const followPollMs = ({ database, pollMs }: Pick<FollowParts, "database" | "pollMs">): number =>
  pollMs ?? (database.kind === "pglite" ? ALONE_POLL_MS : POLL_MS);

/** Follows what other processes put in force: told by a notification, and looking now and then whether one was lost. */
export const followChannel = async (parts: FollowParts): Promise<AsyncDisposable> => {
  const { database, channel, look, failed } = parts;
  const loop = startInterval({ everyMs: followPollMs(parts), work: look, failed });
  const again = (): void => void look().catch(failed);
  const deafen = await database.listen(channel, again, again);
  return {
    [Symbol.asyncDispose]: async () => {
      await deafen();
      await loop[Symbol.asyncDispose]();
    },
  };
};
