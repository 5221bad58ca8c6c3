import type { Delegation } from "#contract/delegations.ts";

/** Can it still be stopped? */
export const isLive = (delegation: Pick<Delegation, "status">): boolean => delegation.status === "active" || delegation.status === "paused";

/** When it ends, or when it ended: the day that was set says nothing of one that was ended before it. `null`: never. */
export const endingOf = ({
  status,
  expires_at: expires,
  ended_at: ended,
}: Pick<Delegation, "status" | "expires_at" | "ended_at">): { readonly at: string | null; readonly isOver: boolean } =>
  status === "revoked" || status === "expired" ? { at: ended ?? expires, isOver: true } : { at: expires, isOver: false };
