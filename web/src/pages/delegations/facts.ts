import type { Delegation } from "#contract/delegations.ts";

/** Can it still be stopped? */
export const isLive = (delegation: Pick<Delegation, "status">): boolean => delegation.status === "active" || delegation.status === "paused";

export const isReason = (text: string): boolean => text.trim().length >= 3 && text.trim().length <= 200;
