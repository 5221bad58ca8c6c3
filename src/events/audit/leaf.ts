import { canonicalJson } from "#contract/canonical-json.ts";
import type { EntryDraft } from "./entry.ts";
import type { Reference } from "./references.ts";

/** Largest leaf in bytes. */
const MOST_LEAF_BYTES = 16_384;

export type Phase = "open" | "close" | "single";

/** The log of a tenant; what belongs to none, or to the house, is in `house`. */
export const logOf = (tenant: string): string => (tenant === "" || tenant === "*" ? "house" : tenant);

/** Already a reference, e.g. of an entry that is continued by somebody else. */
const REFERENCE = /^sr1\.[A-Za-z0-9_-]{22}$/;
const PERSON = /^(?:person|account):[A-Za-z0-9._:@+~-]{1,200}$/;

const DEEPEST = 24;

/** Everybody a draft names: its actor, and every text that is exactly the id of a person or an account. */
export const subjectsOf = (draft: Pick<EntryDraft, "actor" | "resource" | "data">): ReadonlySet<string> => {
  const found = new Set(REFERENCE.test(draft.actor.subject) ? [] : [draft.actor.subject]);
  const walk = (value: unknown, depth: number): void => {
    if (typeof value === "string") {
      if (PERSON.test(value)) found.add(value);
    } else if (typeof value === "object" && value !== null && depth <= DEEPEST) {
      for (const item of Object.values(value)) walk(item, depth + 1);
    }
  };
  walk(draft.data, 1);
  walk(draft.resource.id, 1);
  return found;
};

/** Text without half surrogates, which no UTF-8 has, and NUL, which PostgreSQL's text has not. */
const cleanText = (text: string): string => text.toWellFormed().replaceAll("\0", "\ufffd");

/**
 * A value as leaves carry it: persons as references, numbers that are no safe integers as decimal text, no `undefined`,
 * nothing nested too deeply to be read. Nothing that a room may hand over makes it throw.
 */
const plain = (value: unknown, refs: ReadonlyMap<string, Reference>, depth = 0): unknown => {
  if (typeof value === "string") return refs.get(PERSON.test(value) ? value : "")?.ref ?? cleanText(value);
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : String(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value === "boolean" || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object") return undefined;
  if (depth > DEEPEST) return "[deep]";
  if (Array.isArray(value)) return value.map((item) => plain(item, refs, depth + 1) ?? null);
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, item]) => [cleanText(name), plain(item, refs, depth + 1)] as const)
      .filter(([, item]) => item !== undefined),
  );
};

export interface LeafParts {
  readonly entryId: string;
  readonly at: Date;
  readonly writer: { readonly id: string; readonly n: number };
  readonly phase: Phase;
  readonly actId: string;
  readonly draft: EntryDraft;
  readonly refs: ReadonlyMap<string, Reference>;
  /** What is sealed for the actor's key, sealed. */
  readonly sealed?: string | undefined;
}

const canonical = (value: unknown): string => {
  const text = canonicalJson(value);
  if (text === undefined) throw new TypeError("an entry is an object");
  return text;
};

/**
 * The entry as one RFC 8785 text. The same parts always give the same bytes. Data that would take it beyond 16 KiB are
 * replaced by their size; an entry that is still too large is a RangeError.
 */
export const leafOf = (parts: LeafParts): string => {
  const { draft, refs } = parts;
  const { subject, delegation_path: path, ...actor } = draft.actor;
  const resourceRef = refs.get(PERSON.test(draft.resource.id ?? "") ? (draft.resource.id ?? "") : "")?.ref;
  const { id: resourceId, ...resource } = draft.resource;
  const entry = {
    v: 1,
    entry_id: parts.entryId,
    at: parts.at.toISOString(),
    log: logOf(draft.tenant),
    writer: { id: parts.writer.id, n: parts.writer.n },
    category: draft.category,
    phase: parts.phase,
    act_id: parts.actId,
    outcome: draft.outcome,
    code: draft.code,
    actor: {
      ...actor,
      subject_ref: refs.get(subject)?.ref ?? subject,
      delegation_path: path ?? (actor.delegation_id === undefined ? [] : [actor.delegation_id]),
    },
    via: draft.via,
    resource: resourceRef === undefined ? { ...resource, id: resourceId } : { ...resource, ref: resourceRef },
    decision_id: draft.decisionId,
    correlation_id: draft.correlationId,
    trace_id: draft.traceId,
    data: draft.data,
    sealed: parts.sealed,
  };
  const whole = plain(entry, refs) as Record<string, unknown>;
  const text = canonical(whole);
  const bytes = Buffer.byteLength(text);
  if (bytes <= MOST_LEAF_BYTES) return text;
  const short = canonical({ ...whole, data: { truncated: true, bytes } });
  if (Buffer.byteLength(short) > MOST_LEAF_BYTES) throw new RangeError("an entry has at most 16 KiB, data apart");
  return short;
};
