/** How long an event stream lasts at most; its client comes back by its last id. */
export const STREAM_AGE_MS = 3_600_000;
/** When a client comes back that was told nothing else. */
export const RETRY_MS = 3000;

/** Between 2 and 5 s, so that clients cut at once do not come back at once. */
export const comeBackMs = (): number => 2000 + Math.round(Math.random() * 3000);
