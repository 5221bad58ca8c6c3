import { isObject } from "#contract/is-object.ts";
import { microFromUsd } from "#contract/ids.ts";
import { prepareSchema, type SchemaCheck } from "#parsing/foreign-schema.ts";
import { parsePointer } from "#contract/json-pointer.ts";
import { sha256Of } from "#crud/mcp/digest.ts";
import { relaxSchema } from "#crud/mcp/relax-schema.ts";
import { valueAt } from "#crud/mcp/value-at.ts";
import type { CallRules, Definition, RowRules, Tool } from "#crud/mcp/tool.ts";
import { compileAuthz } from "./authz-mapping.ts";
import { compileAuthzenMapping } from "./authzen-mapping.ts";
import type { HttpDocument, LoopbackDocument } from "./system-document.ts";
import { compileTemplate, type TemplateFault } from "./template.ts";

type Operation = HttpDocument["operations"][string] | LoopbackDocument["operations"][string];
type Path = readonly (string | number)[];

/** Objects without a word on further members are closed: what a tool does not declare it does not take. */
const closeSchema = (input: Readonly<Record<string, unknown>> | undefined): Readonly<Record<string, unknown>> => {
  if (input === undefined) return { type: "object" };
  return Object.hasOwn(input, "additionalProperties") || input["type"] !== "object" ? input : { ...input, additionalProperties: false };
};

const rowRules = (
  operation: Operation,
  document: HttpDocument | LoopbackDocument,
  find: (base: string) => Tool | undefined,
  path: Path,
  tell: TemplateFault,
): RowRules | undefined => {
  const scope = operation.dataScope ?? document.defaults.dataScope;
  if (scope === undefined) {
    tell(path, "says nothing of dataScope: name its rows, or none");
    return undefined;
  }
  if (scope === "none") return undefined;
  const columns = new Map(Object.entries(scope.columns).map(([column, pointer]) => [column, parsePointer(pointer)]));
  const guard = scope.guard;
  if (guard === undefined) return { resourceType: scope.resourceType, rows: parsePointer(scope.rows), columns };
  const at = [...path, "dataScope", "guard"];
  const read = document.operations[guard.operation];
  if (read === undefined || (read.dataScope ?? document.defaults.dataScope ?? "none") === "none")
    tell([...at, "operation"], "must be an operation of this system whose rows are scoped");
  const tool = (): Tool => {
    const found = find(guard.operation);
    if (found === undefined) throw new TypeError(`guard ${guard.operation} is not there`);
    return found;
  };
  return {
    resourceType: scope.resourceType,
    rows: parsePointer(scope.rows),
    columns,
    guard: { tool, input: compileTemplate(guard.input, "call", [...at, "input"], tell) },
  };
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

/** Where answers are cut: over HTTP alone, for what others list is not ours to add to. */
const cutsAt = (operation: Operation, document: HttpDocument | LoopbackDocument): number | undefined => {
  const limits = ("response" in operation ? operation.response : undefined) ?? document.defaults.response;
  return document.kind === "http" && limits.onExceed === "truncate" ? limits.maxBytes : undefined;
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

/** What the pipeline needs of an operation; every fault is told. */
export const callRules = (
  operation: Operation,
  document: HttpDocument | LoopbackDocument,
  find: (base: string) => Tool | undefined,
  path: Path,
  tell: TemplateFault,
): CallRules => {
  const rows = rowRules(operation, document, find, path, tell);
  const cost = operation.cost_usd;
  const prepare = (schema: unknown, ...at: readonly string[]): SchemaCheck | undefined => {
    try {
      return schema === undefined ? undefined : prepareSchema(schema);
    } catch (error) {
      tell([...path, ...at], error instanceof Error ? error.message : "is wrong");
      return undefined;
    }
  };
  const checkOutput = prepare(definitionOf("x", operation, document).outputSchema, "output", "schema");
  const check = "inputCheck" in operation ? prepare(operation.inputCheck, "inputCheck") : undefined;
  const isGet = "method" in operation.request && operation.request.method === "GET";
  const declared = operation["x-authzen-mapping"];
  const app = document.kind === "http" ? document.requires?.app : undefined;
  const cutsAtBytes = cutsAt(operation, document);
  if (cutsAtBytes !== undefined && isObject(operation.input?.["properties"]) && Object.hasOwn(operation.input["properties"], "cursor"))
    tell([...path, "input", "properties", "cursor"], "is what a truncated answer goes on by: with onExceed: truncate the name is taken");
  const wanted = "paginate" in operation ? operation.paginate?.size?.param : undefined;
  return {
    app,
    scopes: operation.scopes,
    mappings: [
      ...(operation.authz === undefined ? [] : [compileAuthz(operation.authz, [...path, "authz"], tell)]),
      ...(declared === undefined ? [] : [compileAuthzenMapping(declared, [...path, "x-authzen-mapping"], tell)]),
    ],
    rows,
    masks: operation.mask.map((mask) => ({
      pointer: parsePointer(mask.path),
      kind: mask.action,
      unlessAllowed: mask.unlessAllowed,
    })),
    ...(operation.stepUp === undefined
      ? {}
      : { stepUp: { level: operation.stepUp.level, maxAgeSeconds: Math.floor(operation.stepUp.maxAge / 1000) } }),
    timeoutMs: operation.timeout ?? document.defaults.timeout,
    reserveMicro: microFromUsd(typeof cost === "number" ? cost : cost.reserve),
    isReadOnly: operation.annotations.readOnlyHint ?? isGet,
    isDestructive: operation.annotations.destructiveHint ?? false,
    checkOutput,
    ...(check === undefined || !("inputCheck" in operation) ? {} : { inputCheck: { check, digest: sha256Of(operation.inputCheck) } }),
    ...(cutsAtBytes === undefined ? {} : { cutsAtBytes }),
    wantedRows: wanted,
  };
};
