import { isObject } from "#contract/is-object.ts";
import { parsePointer } from "#contract/json-pointer.ts";
import { relaxSchema } from "#crud/mcp/relax-schema.ts";
import { valueAt } from "#crud/model/value-at.ts";
import type { Definition } from "#crud/tools/tool.ts";
import type { HttpDocument, LoopbackDocument } from "#crud/systems/system-document.ts";
import { cutsAt } from "#crud/systems/tool-rules.ts";

type Operation = HttpDocument["operations"][string] | LoopbackDocument["operations"][string];

/** Objects without a word on further members are closed: what a tool does not declare it does not take. */
const closeSchema = (input: Readonly<Record<string, unknown>> | undefined): Readonly<Record<string, unknown>> => {
  if (input === undefined) return { type: "object" };
  return Object.hasOwn(input, "additionalProperties") || input["type"] !== "object" ? input : { ...input, additionalProperties: false };
};

/** Members of the output that a mask, by the file or by the data scope, can act on. */
const maskedPointers = (operation: Operation, document: HttpDocument | LoopbackDocument): readonly string[] => {
  const scope = operation.dataScope ?? document.defaults.dataScope ?? "none";
  const rows =
    scope === "none" ? [] : Object.values(scope.columns).map((pointer) => `${scope.rows}${scope.rows === "" ? "" : "/*"}${pointer}`);
  return [...operation.mask.map((mask) => mask.path), ...rows];
};

/** The members by which a cut answer goes on. */
const CURSOR = { cursor: { type: "string", description: "Goes on where a truncated answer ended: its `next_cursor`." } };
const CUT = { truncated: { type: "boolean" }, next_cursor: { type: "string" } };

const plus = (
  schema: Readonly<Record<string, unknown>>,
  members: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> => ({
  ...schema,
  properties: { ...(isObject(schema["properties"]) ? schema["properties"] : {}), ...members },
});

/** The schema of a value, or the part of the same schema that it names instead. */
const namedSchema = (schema: Readonly<Record<string, unknown>>): unknown => {
  const named = schema["$ref"];
  return typeof named === "string" && named.startsWith("#/") ? valueAt(schema, parsePointer(named.slice(1))) : schema;
};

/** What a cut answer may be: a list that is the whole answer is given as its `items`. */
const cutSchema = (schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  const named = namedSchema(schema);
  if (!isObject(named) || named["type"] !== "array") return plus(schema, CUT);
  const { $defs, ...items } = schema;
  return plus({ type: "object", required: ["items"], ...($defs === undefined ? {} : { $defs }) }, { items, ...CUT });
};

/** The definition that clients see: closed input, relaxed output. */
export const definitionOf = (name: string, operation: Operation, document: HttpDocument | LoopbackDocument): Definition => {
  const { title, description, annotations, input, output } = operation;
  const isCut = cutsAt(operation, document) !== undefined;
  const relaxed = output.schema === undefined ? undefined : relaxSchema(output.schema, maskedPointers(operation, document));
  return {
    name,
    title,
    description,
    inputSchema: isCut ? plus(closeSchema(input), CURSOR) : closeSchema(input),
    ...(relaxed === undefined ? {} : { outputSchema: isCut ? cutSchema(relaxed) : relaxed }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
};
