import { eventSchemaOf, readEventSchema } from "#contract/event-schemas.ts";
import { Problem } from "#contract/problem.ts";
import type { BuiltInHandler } from "#gateway/built-in.ts";
import { reply } from "#gateway/reply.ts";

/** What consumers of events hold their data against; the same for everybody. */
export const readSchema: BuiltInHandler = async ({ captures }) => {
  const schema = eventSchemaOf(captures.get("type") ?? "");
  if (schema === undefined) throw new Problem("not_found");
  return reply(readEventSchema, { ...schema, title: String(schema["title"]) }, { headers: { "cache-control": "public, max-age=300" } });
};
