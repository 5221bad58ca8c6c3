/** Why a session ended. */
export type EndReason =
  | "logout"
  | "everywhere"
  | "idle"
  | "absolute"
  | "refresh_denied"
  | "refresh_unknown"
  | "binding"
  | "replaced"
  | "admin";

/** A browser's session as it is kept. Never a token in the clear, never the id that the browser holds. */
export interface SessionRecord {
  /** SHA-256 of the browser's id, base64url. */
  readonly sidHash: string;
  /** Names the session in lists, events and audit entries. */
  readonly ref: string;
  /** Part of the CSRF token: another generation, another token. */
  readonly generation: number;
  readonly subject: string;
  readonly tenant: string;
  readonly issuer: string;
  /** The provider's own name of its session. */
  readonly idpSid: string | undefined;
  readonly acr: string | undefined;
  readonly amr: readonly string[];
  /** Seconds since 1970. */
  readonly authTime: number | undefined;
  readonly claims: { readonly name: string; readonly user_agent: string };
  /** Keyed hashes of the client and its network. */
  readonly uaHash: string | undefined;
  readonly netHash: string | undefined;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
  readonly idleExpiresAt: Date;
  readonly absoluteExpiresAt: Date;
  readonly accessExpiresAt: Date | undefined;
  /** Sealed; tied to this session and generation. */
  readonly tokens: Uint8Array;
  readonly tokenGeneration: number;
}

/** Told to every replica, so that caches and streams let go within a second. */
export interface SessionChange {
  readonly ref: string;
  readonly kind: "ended" | "changed";
  readonly reason?: EndReason;
}

export interface SessionFeed {
  /** True while changes made elsewhere are heard; a cache is trusted only then. */
  isConnected(): boolean;
  stop(): Promise<void>;
}

/** Whose sessions; `ref` narrows it to one. */
export interface SessionsOf {
  readonly tenant: string;
  readonly subject: string;
  readonly ref?: string;
}

/**
 * Where sessions are kept. Every method throws `session_store_unavailable` when the store does not answer: without it
 * nobody is signed in, and nobody is signed out by mistake.
 */
export interface SessionStore {
  /** Keeps a new session and, in the same step, ends the one that it replaces. Answers what was replaced. */
  create(record: SessionRecord, replaces?: string): Promise<SessionRecord | undefined>;
  read(sidHash: string): Promise<SessionRecord | undefined>;
  /** Moves the idle limit; never backwards. */
  touch(sidHash: string, lastSeenAt: Date, idleExpiresAt: Date): Promise<void>;
  /** Keeps refreshed tokens if nobody else did meanwhile; answers whether it did. The generation rises by one. */
  replaceTokens(
    sidHash: string,
    expectedGeneration: number,
    next: { readonly tokens: Uint8Array; readonly accessExpiresAt: Date | undefined },
  ): Promise<boolean>;
  /** Ends one session by its hash, or those of a subject. Answers what was ended. */
  end(which: { readonly sidHash: string } | SessionsOf, reason: EndReason): Promise<readonly SessionRecord[]>;
  /** Ends what is past its limits. */
  endExpired(now: Date): Promise<readonly { readonly record: SessionRecord; readonly reason: "idle" | "absolute" }[]>;
  /** Living sessions of a subject, newest first. */
  list(of: SessionsOf, now: Date): Promise<readonly SessionRecord[]>;
  /** Living sessions of all. */
  count(now: Date): Promise<number>;
  changes(heard: (change: SessionChange) => void): Promise<SessionFeed>;
  /** Throws when the store does not answer. */
  ready(): Promise<void>;
}
