import type { AuditCategory, AuditOutcome } from "#contract/events.ts";
import type { EventDraft } from "#events/model/event-draft.ts";

/**
 * What a module says of an act; the recorder turns it into one RFC 8785 text of at most 16 KiB. Any text in `data` or
 * `resource.id` that is exactly the id of a person or an account (`person:ben`) goes in as its subject reference.
 */
export interface EntryDraft {
  readonly tenant: string;
  readonly category: AuditCategory;
  readonly outcome: AuditOutcome;
  readonly code?: string | undefined;
  readonly actor: EntryActor;
  readonly via: { readonly service: string; readonly route_id?: string; readonly view?: string; readonly dialect?: string };
  readonly resource: { readonly type: string; readonly id?: string; readonly ref?: string };
  readonly decisionId?: string | undefined;
  readonly correlationId: string;
  /** Members by category, wire names: digests, counts, codes; never arguments, results, secrets. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Of an entry that belongs to an act known by another id, e.g. the call id of a refused tool call. */
  readonly actId?: string;
  /** Of an act that a transaction opens or closes itself, with its `actId`; absent: the entry stands alone. */
  readonly phase?: "open" | "close";
  readonly traceId?: string;
  /** Personal data of the act (address, user agent): readable only with the actor's key, gone with it. */
  readonly sealed?: Readonly<Record<string, unknown>>;
}

export interface EntryActor {
  /** Identity node id or client id; leaves only as a subject reference. */
  readonly subject: string;
  readonly kind: "person" | "agent" | "service" | "system";
  readonly agent_id?: string | undefined;
  readonly delegation_id?: string | undefined;
  /** Delegations from the person to the agent that acts; the one above alone unless given. */
  readonly delegation_path?: readonly string[];
  readonly client_id?: string | undefined;
  readonly session_ref?: string;
  readonly acr?: string | undefined;
  readonly amr?: readonly string[];
}

/** An act whose open entry is committed. */
export interface OpenAct {
  readonly actId: string;
  /**
   * Closes it: committed before it resolves, with its events; if the database cannot take it within 2 s it resolves to
   * `pending` and the close is retried until it lands. Never throws, never undoes the act.
   */
  close(
    outcome: AuditOutcome,
    data: Readonly<Record<string, unknown>>,
    more?: { readonly code?: string | undefined; readonly events?: readonly EventDraft[] },
  ): Promise<"closed" | "pending">;
}

/**
 * Called for each act that a dead process left open, before it is closed: the module that did it settles what it holds. `left`: that module
 * closes it itself.
 */
export type Settle = (open: {
  readonly actId: string;
  readonly category: AuditCategory;
  readonly tenant: string;
}) => Promise<"left" | undefined>;

export interface Recorder {
  /** Committed before it resolves; else throws `audit_unavailable` (503) and the act must not start. `actId` may be given (a call id). */
  open(draft: Omit<EntryDraft, "outcome">, actId?: string): Promise<OpenAct>;
  /** One single entry of its own (a refusal, a sign-in). Throws `audit_unavailable`. */
  one(draft: EntryDraft): Promise<void>;
  /** Opens left by dead processes, closed as `unknown` at start. `settle` is told each before it is closed. */
  recover(settle: Settle): Promise<number>;
}
