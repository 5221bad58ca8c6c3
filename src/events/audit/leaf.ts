import { quoted, quotedName, sortedNames } from "#contract/canonical-json.ts";
import { isPersonId } from "#contract/ids.ts";
import type { EntryDraft } from "./entry.ts";
import type { Reference } from "./references.ts";

/** Largest leaf in bytes. */
const MAX_LEAF_BYTES = 16_384;

export type Phase = "open" | "close" | "single";

/** The log of a tenant; what belongs to none, or to Sallyport, is in `internal`. */
export const logOf = (tenant: string): string => (tenant === "" || tenant === "*" ? "internal" : tenant);

/** Already a reference, e.g. of an entry that is continued by somebody else. */
const REFERENCE = /^sr1\.[A-Za-z0-9_-]{22}$/;

const DEEPEST = 24;

/** Everybody a draft names: its actor, and every text that is exactly the id of a person or an account. */
export const subjectsOf = (draft: Pick<EntryDraft, "actor" | "resource" | "data">): ReadonlySet<string> => {
  const found = new Set<string>();
  if (!REFERENCE.test(draft.actor.subject)) found.add(draft.actor.subject);
  const walk = (value: unknown, depth: number): void => {
    if (typeof value === "string") {
      if (isPersonId(value)) found.add(value);
    } else if (typeof value === "object" && value !== null && depth <= DEEPEST) {
      if (Array.isArray(value)) for (let at = 0; at < value.length; at++) walk(value[at], depth + 1);
      else for (const name of Object.keys(value)) walk((value as Members)[name], depth + 1);
    }
  };
  walk(draft.data, 1);
  walk(draft.resource.id, 1);
  return found;
};

type Members = Readonly<Record<string, unknown>>;

/** Text without half surrogates, which no UTF-8 has, and NUL, which PostgreSQL's text has not. */
const cleanText = (text: string): string => text.toWellFormed().replaceAll("\0", "\ufffd");

const isClean = (text: string): boolean => text.isWellFormed() && !text.includes("\0");

const withCleanNames = (value: object): Members => Object.fromEntries(Object.entries(value).map(([name, item]) => [cleanText(name), item]));

/**
 * A value as leaves carry it, as RFC 8785 text: persons as references, numbers that are no safe integers as decimal text, no
 * `undefined`, nothing nested too deeply to be read. Nothing that a module may hand over makes it throw. One walk writes all of it:
 * entries are made with every decision.
 */
const write = (value: unknown, refs: ReadonlyMap<string, Reference>, depth: number): string | undefined => {
  if (typeof value === "string") return quoted((isPersonId(value) ? refs.get(value)?.ref : undefined) ?? value, cleanText);
  if (typeof value === "number") return Number.isSafeInteger(value) ? String(value) : `"${value}"`;
  if (typeof value === "bigint") return `"${value}"`;
  if (typeof value === "boolean" || value === null) return String(value);
  if (typeof value !== "object") return undefined;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "null" : quoted(value.toISOString());
  if (depth > DEEPEST) return '"[deep]"';
  let text = "";
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) text += (at === 0 ? "[" : ",") + (write(value[at], refs, depth + 1) ?? "null");
    return text === "" ? "[]" : `${text}]`;
  }
  const names = sortedNames(value);
  // A name that has to be cleaned may come to stand elsewhere, or be there already.
  if (!names.every(isClean)) return write(withCleanNames(value), refs, depth);
  for (const name of names) {
    const written = write((value as Members)[name], refs, depth + 1);
    if (written !== undefined) text += (text === "" ? "{" : ",") + quotedName(name) + written;
  }
  return text === "" ? "{}" : `${text}}`;
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

/**
 * The entry as one RFC 8785 text. The same parts always give the same bytes. Data that would take it beyond 16 KiB are
 * replaced by their size; an entry that is still too large is a RangeError.
 */
export const leafOf = (parts: LeafParts): string => {
  const { draft, refs } = parts;
  const { subject, delegation_path: path, ...actor } = draft.actor;
  const resourceRef = draft.resource.id !== undefined && isPersonId(draft.resource.id) ? refs.get(draft.resource.id)?.ref : undefined;
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
  const text = write(entry, refs, 0) ?? "";
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_LEAF_BYTES) return text;
  const short = write({ ...entry, data: { truncated: true, bytes } }, refs, 0) ?? "";
  if (Buffer.byteLength(short) > MAX_LEAF_BYTES) throw new RangeError("an entry has at most 16 KiB, data apart");
  return short;
};
