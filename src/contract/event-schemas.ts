import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { eventTypes, eventVersion } from "./event-types.ts";

/** Names of all types as events carry them, e.g. `secrets.read.v1`. */
export const wireTypes: readonly string[] = Object.keys(eventTypes)
  .map((type) => `${type}.${eventVersion}`)
  .toSorted();

/** In place of data that is larger than an event may be. */
const tooLarge = z.object({ truncated: z.literal(true), bytes: z.int() });

/** JSON Schema 2020-12 of an event's data; undefined for a type that there is none of. Open: within a version members may be added. */
export const eventSchemaOf = (wireType: string): Readonly<Record<string, unknown>> | undefined => {
  const type = wireType.endsWith(`.${eventVersion}`) ? wireType.slice(0, -eventVersion.length - 1) : "";
  const row = Object.hasOwn(eventTypes, type) ? eventTypes[type] : undefined;
  if (row === undefined) return undefined;
  const data = z.union([row.data, tooLarge]);
  const { $schema, ...shape } = z.toJSONSchema(data, { io: "input", target: "draft-2020-12", unrepresentable: "any" });
  return { $schema, title: wireType, ...shape };
};

export const readEventSchema = endpoint("gateway", "GET", "/api/v1/events/schemas/{type}", {
  params: z.strictObject({ type: z.string().regex(/^[a-z][a-z0-9_.]{0,127}$/) }),
  reply: z.looseObject({ title: z.string() }),
  auth: "none",
  problems: ["not_found"],
  summary: "JSON Schema of an event's data, by the type that events name in ce_dataschema.",
});
