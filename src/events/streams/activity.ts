import { LRUCache } from "lru-cache";
import type { Database } from "#store/database.ts";
import type { References } from "#events/audit/references.ts";
import { streamResponse, type StreamOptions } from "./stream.ts";
import type { StreamEvent } from "./stream-source.ts";

export interface ActivityOptions extends Pick<
  StreamOptions,
  "bus" | "tenant" | "seesAll" | "lastEventId" | "signal" | "recheck" | "rightChanges" | "ended" | "bookmarkMs"
> {
  readonly database: Database;
  readonly references: References;
  /** Subject id of the reader. */
  readonly subject: string;
  /** Agents whose acts the reader may see because the reader controls them. */
  readonly agents?: readonly string[] | undefined;
  /** Only these categories; undefined = all. */
  readonly categories?: ReadonlySet<string> | undefined;
  /** Name of a subject, to be shown to those who may see who it was. */
  readonly nameOf?: ((subjectId: string) => Promise<string | undefined>) | undefined;
}

const MAX_REMEMBERED = 1_000;

/**
 * The tenant's audit log as it grows: one frame an entry, `id` = its index in the log, the row of its act as data. With `seesAll` all
 * acts of the tenant with who did them, else only the reader's own acts and those of the reader's agents, and no person but the reader
 * is named.
 */
export const activityResponse = async (options: ActivityOptions): Promise<Response> => {
  const { database, references, subject, agents = [], categories, nameOf, ...stream } = options;
  const { tenant, seesAll } = stream;
  const own = await references.refOf(database, tenant, subject);
  const known = new LRUCache<string, Readonly<Record<string, unknown>>>({ max: MAX_REMEMBERED });

  /** Who stands behind a reference: nobody any more once it is erased. */
  const personOf = async (ref: string): Promise<Readonly<Record<string, unknown>>> => {
    const held = known.get(ref);
    if (held !== undefined) return held;
    const id = (await references.subjectsOf(database, tenant, [ref])).get(ref);
    if (id === undefined) return { erased: true };
    // A name is a courtesy: without it the row is still true.
    const name = await nameOf?.(id).catch(() => undefined);
    const person = { subject_id: id, name };
    known.set(ref, person);
    return person;
  };

  const present = async (event: StreamEvent): Promise<Readonly<Record<string, unknown>>> => {
    const actor = event.data["actor"] as { readonly subject_ref: string };
    if (!seesAll && actor.subject_ref !== own) {
      const { subject_ref: _hidden, ...rest } = actor;
      return { ...event.data, actor: rest };
    }
    return { ...event.data, actor: { ...actor, ...(await personOf(actor.subject_ref)) } };
  };

  return streamResponse({
    ...stream,
    stream: "activity",
    subject: [own, ...agents],
    only: categories === undefined ? undefined : (event) => categories.has(String(event.data["category"])),
    present,
  });
};
