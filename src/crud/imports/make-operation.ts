import { isObject } from "#contract/is-object.ts";
import { missesOf } from "#contract/shape-issues.ts";
import { schemaRefusal } from "#parsing/foreign-schema.ts";
import { longNamePaths, MAX_MEMBER_NAME } from "#parsing/long-names.ts";
import { httpOperation } from "#crud/systems/http-operation.ts";
import { FORM, MULTIPART, isJsonMedia, type PropertyEncoding } from "#crud/systems/request-body.ts";
import { createSchemaShelf, plain, requireMemberName, withoutDescriptions, type Schema } from "./import-schema.ts";
import { follow, ImportError, listOf, nodeOf, wordOf, type Node, type OpenApi } from "./openapi-document.ts";
import { readOperation, type OperationPlace, type ReadBody, type ReadParameter } from "./read-operation.ts";

/** An operation as it stands in a system's document. */
export type MadeOperation = Readonly<Record<string, unknown>>;

export interface Made {
  readonly operation: MadeOperation;
  /** What was left out, in words. */
  readonly warnings: readonly string[];
}

/** Most bytes of a tool's input schema: what a model has to read of it. */
const MAX_INPUT_BYTES = 24_576;

const cut = (text: string, max: number): string => {
  const whole = text.toWellFormed();
  return whole.length <= max
    ? whole
    : `${whole
        .slice(0, max - 1)
        .toWellFormed()
        .replace(/\ufffd$/, "")
        .trimEnd()}…`;
};

const aboutOf = ({ operation, item, key, method }: OperationPlace): Node => {
  const summary = plain(wordOf(operation["summary"]) ?? wordOf(item["summary"]) ?? "");
  const description = plain(wordOf(operation["description"]) ?? "") || summary;
  const tags = listOf(operation["tags"]).flatMap((tag) => (typeof tag === "string" && plain(tag) !== "" ? [cut(plain(tag), 40)] : []));
  return {
    ...(summary === "" ? {} : { title: cut(summary, 80) }),
    description: cut(
      description.length >= 10
        ? description
        : `${description === "" ? "Calls" : `${description.replace(/[.:;,]$/, "")}:`} ${key}`.padEnd(10, "."),
      1024,
    ),
    annotations: {
      ...(method === "GET" ? { readOnlyHint: true } : {}),
      ...(method === "PUT" || method === "DELETE" ? { idempotentHint: true } : {}),
      ...(method === "DELETE" ? { destructiveHint: true } : {}),
      ...(tags.length === 0 ? {} : { tags: tags.slice(0, 20) }),
    },
  };
};

/** Names that a model may be asked to write. */
const inputName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_.-]+/g, "_").slice(0, 64) || "value";

/** The body's members, where they can stand beside the parameters: those of a plain object that is always sent, or has none that must be. */
const memberSchema = (document: OpenApi, body: ReadBody): Node | undefined => {
  if (!isJsonMedia(body.media) && body.media !== FORM && body.media !== MULTIPART) return undefined;
  const schema = follow(document, body.schema);
  const isPlain = ["allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "enum", "const"].every(
    (word) => schema[word] === undefined,
  );
  const isOpen = schema["additionalProperties"] !== undefined && schema["additionalProperties"] !== false;
  const isObjectType = schema["type"] === "object" || (schema["type"] === undefined && isObject(schema["properties"]));
  if (!isPlain || isOpen || !isObjectType || schema["nullable"] === true) return undefined;
  if (Object.keys(isObject(schema["properties"]) ? schema["properties"] : {}).length === 0) return undefined;
  return body.isRequired || listOf(schema["required"]).length === 0 ? schema : undefined;
};

interface Drawn {
  readonly properties: Record<string, Schema>;
  readonly required: string[];
}

const withDescription = (schema: Schema, description: string | undefined): Schema =>
  description === undefined || schema === false ? schema : { ...(schema === true ? {} : schema), description: plain(description) };

/** Bytes of what are sent as base64, for a model. */
const asBase64 = (schema: Schema): Schema => {
  if (typeof schema === "boolean") return { type: "string", contentEncoding: "base64" };
  if (schema["type"] === "array") return { ...schema, items: asBase64((schema["items"] as Schema | undefined) ?? true) };
  const { format: _format, contentMediaType: _media, $ref: _ref, ...rest } = schema;
  return { ...rest, type: "string", contentEncoding: "base64" };
};

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Why a schema cannot be served, if so. */
const issueOf = (schema: unknown): string | undefined => {
  const size = jsonBytes(schema);
  return size > MAX_INPUT_BYTES ? `the input has ${size} bytes` : schemaRefusal(schema);
};

/**
 * Makes a tool's operation of one of the document. Parameters and the members of a plain body stand in one flat object; what would share a name gets
 * `_query`, `_header`, `_body`. Where the input is too large its descriptions go first, then the body becomes one object that is listed open and checked
 * whole. Throws `ImportError`.
 */
export const makeOperation = (document: OpenApi, place: OperationPlace): Made => {
  const read = readOperation(document, place);
  const warnings = read.left.map((what) => `left out ${what}`);
  const inPath = new Set([...place.path.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? ""));
  const parameters = read.parameters.filter(({ in: where, name }) => where !== "path" || inPath.has(name));
  const members = read.body === undefined ? undefined : memberSchema(document, read.body);

  const draw = (isOpen: boolean): { readonly input: Node; readonly request: Node; readonly dropped: ReadonlySet<string> } => {
    const shelf = createSchemaShelf(document);
    const drawn: Drawn = { properties: {}, required: [] };
    const own = (name: string, where: string): string => {
      let found = inputName(name);
      if (Object.hasOwn(drawn.properties, found)) found = `${found.slice(0, 57)}_${where}`;
      for (let n = 2; Object.hasOwn(drawn.properties, found); n++) found = `${inputName(name).slice(0, 54)}_${where}${n}`;
      return found;
    };
    const put = (name: string, schema: Schema, isRequired: boolean): void => {
      requireMemberName(name);
      drawn.properties[name] = schema;
      if (isRequired) drawn.required.push(name);
    };
    const rows = parameters.map((parameter: ReadParameter) => {
      const { name, in: where, style, explode, allowReserved } = parameter;
      const input = own(name, where);
      put(input, withDescription(shelf.take(parameter.schema ?? true), parameter.description), parameter.isRequired);
      return {
        name,
        in: where,
        ...(input === name ? {} : { input }),
        ...(style === undefined ? {} : { style }),
        ...(explode === undefined ? {} : { explode }),
        ...(allowReserved === true ? { allowReserved } : {}),
      };
    });
    const body = read.body === undefined ? undefined : isOpen ? openBody(read.body) : drawBody(read.body);
    function openBody({ media, description, isRequired, encoding }: ReadBody): Node {
      const input = own("body", "body");
      put(input, { type: "object", ...(description === undefined ? {} : { description: cut(description, 500) }) }, isRequired);
      return { media, input, ...(Object.keys(encoding).length === 0 ? {} : { encoding }) };
    }
    function drawBody(given: ReadBody): Node {
      const { media, isRequired, description, encoding } = given;
      const isBytes = !isJsonMedia(media) && media !== FORM && media !== MULTIPART && !media.startsWith("text/");
      if (members === undefined) {
        const input = own("body", "body");
        const schema = isBytes ? asBase64({}) : shelf.take(given.schema);
        put(input, withDescription(schema, description), isRequired);
        return { media, input, ...(isBytes ? { base64: true } : {}), ...(Object.keys(encoding).length === 0 ? {} : { encoding }) };
      }
      const taken = shelf.take(members);
      const all = typeof taken === "boolean" ? {} : taken;
      const rules: Record<string, PropertyEncoding & { readonly input?: string }> = { ...encoding };
      for (const [name, schema] of Object.entries(isObject(all["properties"]) ? all["properties"] : {})) {
        const input = own(name, "body");
        const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
        put(input, rule?.["base64"] === true ? asBase64(schema as Schema) : (schema as Schema), listOf(all["required"]).includes(name));
        if (input !== name) rules[name] = { ...rule, input };
      }
      return { media, ...(Object.keys(rules).length === 0 ? {} : { encoding: rules }) };
    }
    const defs = shelf.defs();
    const input = {
      type: "object",
      ...(drawn.required.length === 0 ? {} : { required: drawn.required }),
      properties: drawn.properties,
      ...(Object.keys(defs).length === 0 ? {} : { $defs: defs }),
    };
    return { input, dropped: shelf.dropped, request: { parameters: rows, ...(body === undefined ? {} : { body }) } };
  };

  let { input, request, dropped } = draw(false);
  let inputCheck: Node | undefined;
  let issue = issueOf(input);
  if (issue !== undefined) {
    input = withoutDescriptions(input) as Node;
    const first = issue;
    issue = issueOf(input);
    if (issue === undefined) warnings.push(`left out descriptions: ${first}`);
  }
  if (issue !== undefined && read.body !== undefined && isBodyObject(document, read.body)) {
    const first = issue;
    ({ input, request, dropped } = draw(true));
    issue = issueOf(input);
    if (issue !== undefined) {
      input = withoutDescriptions(input) as Node;
      issue = issueOf(input);
    }
    if (issue === undefined) {
      inputCheck = wholeBody(document, read.body, String(nodeOf(request["body"])["input"]));
      const how = inputCheck === undefined ? "open object that the upstream alone checks" : "object, listed open and checked whole";
      warnings.push(`the body is one ${how}: ${first}`);
    }
  }
  if (issue !== undefined) throw new ImportError(`cannot be listed: ${issue}${largest(input)}`);
  for (const one of dropped) warnings.push(`left out ${one}`);
  const { method, path } = place;
  const operation = {
    ...aboutOf(place),
    request: { method, path, ...request },
    input,
    ...(inputCheck === undefined ? {} : { inputCheck }),
    ...(read.answersBytes ? { output: { binary: true } } : {}),
  };
  requireShape(operation);
  return { operation, warnings };
};

/** The schema of a body that is listed open; undefined where it is beyond what Sallyport can hold arguments to. */
const wholeBody = (document: OpenApi, body: ReadBody, name: string): Node | undefined => {
  const shelf = createSchemaShelf(document);
  const properties = { [name]: shelf.take(body.schema) };
  const whole = withoutDescriptions({ properties, $defs: shelf.defs() }) as Node;
  return schemaRefusal(whole) === undefined ? whole : undefined;
};

/** What a system's document would refuse is an issue of this operation alone. */
const requireShape = (operation: MadeOperation): void => {
  if (longNamePaths(operation).next().done !== true)
    throw new ImportError(`has a member whose name is longer than ${MAX_MEMBER_NAME} characters`);
  const [miss] = missesOf(httpOperation.safeParse(operation).error ?? { issues: [] });
  if (miss === undefined) return;
  const value = miss.path.reduce<unknown>((at, name) => (at as Readonly<Record<PropertyKey, unknown>> | undefined)?.[name], operation);
  const shown = typeof value === "string" ? ` (${cut(plain(value), 100)})` : "";
  throw new ImportError(`cannot be sent: ${miss.path.join(".")}${shown} ${miss.message}`);
};

const isBodyObject = (document: OpenApi, body: ReadBody): boolean => {
  if (!isJsonMedia(body.media) && body.media !== FORM && body.media !== MULTIPART) return false;
  const schema = follow(document, body.schema);
  return schema["type"] !== "array" && schema["type"] !== "string";
};

/** The member that takes most of an input. */
const largest = (input: Node): string => {
  const [found] = Object.entries({ ...(isObject(input["properties"]) ? input["properties"] : {}) })
    .map(([name, value]) => [name, jsonBytes(value)] as const)
    .toSorted((a, b) => b[1] - a[1]);
  return found === undefined ? "" : `; most of it is ${found[0].slice(0, 60)}`;
};
