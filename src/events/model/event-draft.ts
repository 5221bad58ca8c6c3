/** An event to be told: a row of the outbox, and of the live stream where it has one. */
export interface EventDraft {
  /**
   * e.g. `delegation.revoked`; without `.v1`. Types of `contract/event-types.ts` also go to the configured sink; one that has
   * neither a stream nor a sink is not kept.
   */
  readonly type: string;
  /** UUID; a new one unless given. */
  readonly id?: string;
  readonly tenant: string;
  /** Live stream that shows it; absent = none. */
  readonly stream?: "workflow" | "config" | "secret";
  /** `event:` line on the stream, e.g. `delegation`, `budget`, `tools`, `policy`, `session`, `graph`. */
  readonly kind?: string;
  /** Whom it is about: goes out as `subject_ref`, which takes the key's place too. */
  readonly about?: string;
  /** Who made it so: goes out as `author`, by reference. */
  readonly by?: string | undefined;
  /** Ordering key, e.g. the delegation's id. */
  readonly key: string;
  /** Subject ids that may see it on the stream; absent = all of the tenant who may read the stream. */
  readonly visibleTo?: readonly string[];
  /** Wire names; never a secret, a token, an argument, a person's name. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly correlationId?: string;
  /** The span that made it; the sink's consumers go on from there. */
  readonly traceparent?: string | undefined;
}
