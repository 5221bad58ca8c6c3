import { eventSchemaOf, wireTypes } from "#contract/event-schemas.ts";
import { eventTypes, eventVersion } from "#contract/event-types.ts";

const page = (): string =>
  [
    "# Events on Kafka",
    "",
    "Made by `npm run docs` from the table of events. Each type has the JSON Schema of its data in [events/](events/).",
    "How they are sent: [events](../explanation/events.md).",
    "",
    "| type | topic | key | when |",
    "|---|---|---|---|",
    ...Object.entries(eventTypes).map(
      ([type, { topic, key, summary }]) => `| [\`${type}\`](events/${type}.${eventVersion}.json) | \`${topic}\` | ${key} | ${summary} |`,
    ),
    "",
  ].join("\n");

/** The table of all types, and a file for each: what `GET /api/v1/events/schemas/{type}` answers. */
export const eventSchemaFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ["events.md", page()],
    ...wireTypes.map((type) => [`events/${type}.json`, `${JSON.stringify(eventSchemaOf(type), null, 2)}\n`] as const),
  ]);
