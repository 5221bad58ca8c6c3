import { eventSchemaOf, wireTypes } from "#contract/event-schemas.ts";

/** A file a type of event: what `GET /api/v1/events/schemas/{type}` answers. */
export const eventSchemaFiles = (): ReadonlyMap<string, string> =>
  new Map(wireTypes.map((type) => [`events/${type}.json`, `${JSON.stringify(eventSchemaOf(type), null, 2)}\n`]));
