import { z } from "zod";
import { eventTypes, eventVersion } from "#contract/event-types.ts";
import { list, table, wrap } from "./markdown.ts";

const membersOf = (data: z.ZodObject): string =>
  Object.entries(data.shape)
    .map(([name, schema]) => `\`${name}${z.safeParse(schema, undefined).success ? "?" : ""}\``)
    .join(", ");

const page = (): string => {
  const byTopic = Map.groupBy(Object.entries(eventTypes), ([, { topic }]) => topic);
  return [
    "# Events",
    "",
    wrap(
      "`npm run docs` makes this page from the table of event types. Each type is a CloudEvents type with the version appended. " +
        "Its JSON Schema lies in `events/`, and the gateway serves it at `/api/v1/events/schemas/{type}`. Within a version only members that may be absent are added. " +
        'Data over 64 KiB is `{"truncated": true, "bytes": N}`. [Events](../explanation/events.md) explains delivery, order and keys.',
    ),
    ...[...byTopic].flatMap(([topic, types]) => [
      "",
      `## ${topic}`,
      "",
      ...table(
        ["type", "service"],
        types.map(([type, { service }]) => [`[${type}.${eventVersion}](events/${type}.${eventVersion}.json)`, service]),
      ),
      "",
      "Members of the data; `?` may be absent:",
      "",
      ...list(
        [...Map.groupBy(types, ([, { data }]) => data)].map(
          ([data, alike]) => `${alike.map(([type]) => `\`${type}\``).join(", ")}: ${membersOf(data)}`,
        ),
      ),
    ]),
    "",
  ].join("\n");
};

/** The events that consumers receive, by topic. File name to text. */
export const eventTypeFiles = (): ReadonlyMap<string, string> => new Map([["events.md", page()]]);
