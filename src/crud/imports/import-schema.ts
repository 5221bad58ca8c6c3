import { UNSEEN } from "#contract/ids.ts";
import { isRawNumber, withDoubles } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import { schemaLists, schemaMembers } from "#parsing/foreign-schema.ts";
import { compilePattern } from "#parsing/pattern.ts";
import { follow, ImportError, listOf, lookUp, nodeOf, type Node, type OpenApi } from "./openapi-document.ts";

/** Words for a model without what nobody sees: control and format characters, which may turn or hide what stands beside them. */
export const plain = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u2065\u{e0000}-\u{e007f}]+/gu, " ")
    .replaceAll(/ {2,}/g, " ")
    .trim();

export type Schema = Record<string, unknown> | boolean;

/** What the schemas of one operation are made with: each schema that is referred to once, and what was left out. */
export interface SchemaShelf {
  /** JSON Schema 2020-12 of a schema of the document, with references into `$defs`. Throws `ImportError`. */
  take(schema: unknown): Schema;
  /** What `take` referred to, itself made now. */
  defs(): Readonly<Record<string, Schema>>;
  readonly dropped: ReadonlySet<string>;
}

const TYPES = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
const COUNTS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"] as const;
const NUMBERS = ["minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"] as const;

/** Parts of all schemas of one operation together. */
const MAX_PARTS = 20_000;
const MAX_PATTERN = 1000;

/** Whether Sallyport can hold a text to a pattern in linear time. */
const isLinear = (pattern: string): boolean => {
  if (pattern.length > MAX_PATTERN) return false;
  try {
    compilePattern(pattern);
    return true;
  } catch {
    return false;
  }
};

/** Whether a value holds text that a person reads otherwise than a model does; line breaks and tabs are shown as such. */
const hasUnseen = (value: unknown): boolean => {
  if (typeof value === "string") return UNSEEN.test(value.replaceAll(/[\n\r\t]/g, ""));
  return typeof value === "object" && value !== null && Object.entries(value).flat().some(hasUnseen);
};

/** Whether a value holds a number that was perhaps rounded as the document was read. */
const namesLarge = (value: unknown): boolean =>
  isRawNumber(value) ||
  (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) ||
  (typeof value === "object" && value !== null && Object.values(value).some(namesLarge));

/** Objects that stand behind this name are no members: what is sent under it would be lost. */
export const requireMemberName = (name: string): void => {
  if (name === "__proto__") throw new ImportError("has a member __proto__, which cannot be sent");
  if (UNSEEN.test(name)) throw new ImportError(`has a member ${plain(name).slice(0, 60)}, whose name holds characters that do not show`);
};

export const createSchemaShelf = (document: OpenApi): SchemaShelf => {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const made: Record<string, Schema> = {};
  const waiting: string[] = [];
  const dropped = new Set<string>();
  let parts = 0;

  const nameOf = (reference: string): string => {
    const known = names.get(reference);
    if (known !== undefined) return known;
    const last = decodeURIComponent(
      reference
        .split("/")
        .at(-1)
        ?.replace(/%(?![0-9A-Fa-f]{2})/g, "") ?? "",
    )
      .replaceAll(/[^A-Za-z0-9_.-]+/g, "_")
      .slice(0, 60);
    let name = last === "" ? "schema" : last;
    for (let n = 2; taken.has(name); n++) name = `${last}_${n}`;
    taken.add(name);
    names.set(reference, name);
    waiting.push(reference);
    return name;
  };

  const typeOf = (node: Node, isNullable: boolean): unknown => {
    const known = (Array.isArray(node["type"]) ? node["type"] : [node["type"]]).filter((type) => TYPES.has(String(type)));
    const all = [...new Set([...known, ...(isNullable && known.length > 0 ? ["null"] : [])])];
    return all.length > 1 ? all : all[0];
  };

  const take = (value: unknown): Schema => {
    if (typeof value === "boolean") return value;
    if (++parts > MAX_PARTS) throw new ImportError(`has schemas of more than ${MAX_PARTS} parts`);
    const node = nodeOf(value);
    const isNullable = node["nullable"] === true;
    if (typeof node["$ref"] === "string") {
      lookUp(document, node["$ref"]);
      const own = { $ref: `#/$defs/${nameOf(node["$ref"])}` };
      const about = typeof node["description"] === "string" ? { description: plain(node["description"]) } : {};
      return isNullable ? { ...about, anyOf: [own, { type: "null" }] } : { ...about, ...own };
    }
    const copy: Record<string, unknown> = {};
    const type = typeOf(node, isNullable);
    if (type !== undefined) copy["type"] = type;
    for (const word of ["description", "contentEncoding", "contentMediaType"] as const)
      if (typeof node[word] === "string" && node[word] !== "") copy[word] = word === "description" ? plain(node[word]) : node[word];
    if (typeof node["format"] === "string" && /^[a-z0-9-]{1,40}$/i.test(node["format"])) copy["format"] = node["format"];
    const shows = (word: "default" | "const" | "enum"): boolean => {
      const unfit = hasUnseen(node[word]) ? "characters that do not show" : namesLarge(node[word]) ? "a number beyond 2^53" : undefined;
      if (unfit !== undefined) dropped.add(`${word} with ${unfit}`);
      return unfit === undefined;
    };
    for (const word of ["default", "const"] as const) if (node[word] !== undefined && shows(word)) copy[word] = node[word];
    if (shows("enum") && Array.isArray(node["enum"]) && node["enum"].length > 0)
      copy["enum"] = isNullable && !node["enum"].includes(null) ? [...(node["enum"] as unknown[]), null] : node["enum"];
    // A bound may be the nearest double: it is only compared.
    for (const word of NUMBERS) {
      const bound = withDoubles(node[word]);
      if (Number.isFinite(bound)) copy[word] = bound;
    }
    for (const word of COUNTS) if (Number.isSafeInteger(node[word]) && Number(node[word]) >= 0) copy[word] = node[word];
    if (typeof node["uniqueItems"] === "boolean") copy["uniqueItems"] = node["uniqueItems"];
    if (node["writeOnly"] === true) copy["writeOnly"] = true;
    // Booleans before 3.1: they say how the bound is meant.
    for (const [word, bound] of [
      ["exclusiveMinimum", "minimum"],
      ["exclusiveMaximum", "maximum"],
    ] as const)
      if (node[word] === true && typeof copy[bound] === "number") {
        copy[word] = copy[bound];
        delete copy[bound];
      }
    if (copy["multipleOf"] !== undefined && Number(copy["multipleOf"]) <= 0) delete copy["multipleOf"];
    if (typeof node["pattern"] === "string") {
      if (isLinear(node["pattern"])) copy["pattern"] = node["pattern"];
      else dropped.add("a pattern that cannot be held in linear time");
    }
    if (isObject(node["patternProperties"])) dropped.add("patternProperties");
    for (const word of schemaMembers) {
      if (Array.isArray(node[word]) && word === "items") copy["prefixItems"] = node[word].map(take);
      else if (isObject(node[word]) || typeof node[word] === "boolean") copy[word] = take(node[word]);
    }
    if (isObject(node["patternProperties"]) && copy["additionalProperties"] === false) delete copy["additionalProperties"];
    for (const word of schemaLists) if (listOf(node[word]).length > 0) copy[word] = listOf(node[word]).map(take);
    if (isObject(node["dependentSchemas"]))
      copy["dependentSchemas"] = Object.fromEntries(Object.entries(node["dependentSchemas"]).map(([name, one]) => [name, take(one)]));
    if (isObject(node["properties"])) {
      // What only the server writes is nothing to send.
      Object.keys(node["properties"]).forEach(requireMemberName);
      const sent = Object.entries(node["properties"]).filter(([, one]) => nodeOf(one)["readOnly"] !== true);
      copy["properties"] = Object.fromEntries(sent.map(([name, one]) => [name, take(one)]));
    }
    const hidden = new Set(
      Object.entries(nodeOf(node["properties"])).flatMap(([name, one]) => (nodeOf(one)["readOnly"] === true ? [name] : [])),
    );
    const required = [...new Set(listOf(node["required"]))].filter((name) => typeof name === "string" && !hidden.has(name));
    if (required.length > 0) copy["required"] = required;
    const needsUnion =
      isNullable && type === undefined && (copy["allOf"] !== undefined || copy["anyOf"] !== undefined || copy["oneOf"] !== undefined);
    return needsUnion ? { anyOf: [copy, { type: "null" }] } : copy;
  };

  return {
    take,
    dropped,
    defs: () => {
      for (let reference = waiting.shift(); reference !== undefined; reference = waiting.shift()) {
        const name = names.get(reference);
        // A reference to a reference is what that one is of: a chain that never ends is found here.
        if (name !== undefined) made[name] = take(follow(document, { $ref: reference }));
      }
      return made;
    },
  };
};

/** The schema without what only people and models read. */
export const withoutDescriptions = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(withoutDescriptions);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) => {
      if (name === "description" && typeof value === "string") return [];
      if (name === "enum" || name === "default" || name === "const") return [[name, value]];
      return [
        [
          name,
          isNamed(name, value)
            ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutDescriptions(one)]))
            : withoutDescriptions(value),
        ],
      ];
    }),
  );
};
const isNamed = (name: string, value: unknown): value is Readonly<Record<string, unknown>> =>
  (name === "properties" || name === "$defs" || name === "dependentSchemas") && isObject(value);
