/** Why a session ended. */
export type EndReason =
  | "logout"
  | "everywhere"
  | "backchannel"
  | "idle"
  | "absolute"
  | "refresh_denied"
  | "refresh_unknown"
  | "binding"
  | "replaced"
  | "policy"
  | "person_ended"
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
  readonly idpSid?: string;
  /** The provider's own name of the person. */
  readonly idpSub?: string;
  readonly acr?: string;
  readonly amr: readonly string[];
  /** Seconds since 1970. */
  readonly authTime?: number;
  readonly claims: { readonly name: string; readonly user_agent: string };
  /** Keyed hashes of the client and its network. */
  readonly uaHash?: string;
  readonly netHash?: string;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
  readonly idleExpiresAt: Date;
  readonly absoluteExpiresAt: Date;
  readonly accessExpiresAt: Date | undefined;
  /** Sealed; tied to this session and generation. */
  readonly tokens: Uint8Array;
  readonly tokenGeneration: number;
}

/** The session at the provider that a session of ours came from, as far as the provider named it. */
export type ProviderSession = Pick<SessionRecord, "issuer" | "idpSid" | "idpSub">;

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

/** Whose sessions: of a tenant, of a person in it, or one by its name. */
export interface SessionsOf {
  readonly tenant: string;
  readonly subject?: string;
  readonly ref?: string;
}

/** What is ended: one by its hash, some of a tenant, or those that the provider names. */
export type SessionsWhere =
  | { readonly sidHash: string }
  | SessionsOf
  | { readonly issuer: string; readonly idpSid: string }
  | { readonly issuer: string; readonly idpSub: string };

/** A place in a list that is newest first. */
export interface SessionPlace {
  readonly createdAt: Date;
  readonly ref: string;
}

export interface LeaseAsk {
  /** The tokens that are to be refreshed. */
  readonly generation: number;
  /** Who asks; the same one may ask again to keep it longer. */
  readonly owner: string;
  readonly milliseconds: number;
}

/**
 * `held`: it is yours; `afterUnknown` when an earlier holder may have spent the refresh token without hearing the answer.
 * `taken`: another one refreshes now. `moved`: those tokens are replaced, or the session has ended.
 */
export type LeaseAnswer =
  | { readonly kind: "held"; readonly afterUnknown: boolean }
  | { readonly kind: "taken" }
  | { readonly kind: "moved" };

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
  /** Asks to be the only one who refreshes a session's tokens, by the store's own clock. */
  lease(sidHash: string, ask: LeaseAsk): Promise<LeaseAnswer>;
  /** Gives a lease back. `unknown`: what was sent may have happened; whoever comes next is told. */
  release(sidHash: string, owner: string, outcome: "unsent" | "unknown"): Promise<void>;
  /** Keeps refreshed tokens if nobody else did meanwhile; answers whether it did. The generation rises by one, the lease ends. */
  replaceTokens(
    sidHash: string,
    expectedGeneration: number,
    next: { readonly tokens: Uint8Array; readonly accessExpiresAt: Date | undefined },
  ): Promise<boolean>;
  /** Ends sessions. Answers what was ended. */
  end(which: SessionsWhere, reason: EndReason): Promise<readonly SessionRecord[]>;
  /** Ends what is past its limits. */
  endExpired(now: Date): Promise<readonly { readonly record: SessionRecord; readonly reason: "idle" | "absolute" }[]>;
  /** Living sessions, newest first, those behind `after`. */
  list(
    of: SessionsOf,
    page: { readonly now: Date; readonly limit: number; readonly after?: SessionPlace },
  ): Promise<readonly SessionRecord[]>;
  /**
   * Whether a living session came from the same session at the provider: the same `sid`, or, where either has none, the
   * same person there, because then nobody can tell them apart.
   */
  isShared(session: ProviderSession, now: Date): Promise<boolean>;
  /** Living sessions of all. */
  count(now: Date): Promise<number>;
  /** `regained`: changes may have been missed before now. */
  changes(received: (change: SessionChange) => void, regained?: () => void): Promise<SessionFeed>;
  /** Throws when the store does not answer. */
  ready(): Promise<void>;
}

/** Which limit a session has passed; the absolute one counts first, because nothing would have moved it. */
export const reasonOfExpiry = (record: Pick<SessionRecord, "absoluteExpiresAt">, now: Date): "idle" | "absolute" =>
  record.absoluteExpiresAt <= now ? "absolute" : "idle";

export const isRef = (text: string): boolean => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
