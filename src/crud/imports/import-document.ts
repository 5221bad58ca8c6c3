import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { stringify } from "yaml";
import { canonicalJson } from "#contract/canonical-json.ts";
import { MAX_SYSTEM_BYTES } from "#contract/configs.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import type { ImportedOperation, importOpenApi } from "#contract/imports.ts";
import type { Issue } from "#contract/problem.ts";
import { mebibytesOf, printJson, readYaml } from "#parsing/yaml-document.ts";
import { httpMethod } from "#crud/systems/http-operation.ts";
import { systemLimits } from "#crud/systems/read-system-text.ts";
import { ImportError, listOf, nodeOf, readOpenApi, wordOf, type Node, type OpenApi } from "./openapi-document.ts";
import { plain } from "./import-schema.ts";
import { makeOperation, type Made, type MadeOperation } from "./make-operation.ts";
import { operationNames } from "./operation-names.ts";
import { operationsOf, type OperationPlace } from "./read-operation.ts";
import { rewriteSystem } from "#crud/systems/rewrite-system.ts";

/** What the thread of imports is asked: to look at a document, or to make system operations of what was picked of it. */
export type ImportQuestion =
  | { readonly kind: "inspect"; readonly bytes: Uint8Array; readonly prefix: string }
  | {
      readonly kind: "make";
      readonly packed: Uint8Array;
      readonly prefix: string;
      readonly picks: readonly string[];
      /** The system's document but for its operations. */
      readonly head: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: "remake";
      readonly packed: Uint8Array;
      readonly prefix: string;
      readonly picks: readonly string[];
      /** The system's text, and the one that the import before wrote, where there is one. */
      readonly current: string;
      readonly written: string | undefined;
    };

/** What the thread tells of a document: each operation as the row that is kept of it, so that nobody else handles them all. */
export interface Looked extends Omit<ReplyOf<typeof importOpenApi>, "import_id" | "expires_at"> {
  /** gzip of the document. */
  readonly packed: Uint8Array;
  /** JSON, some rows each. */
  readonly rows: readonly string[];
}
export interface Inspected extends Omit<Looked, "operations" | "importable" | "warnings" | "tags" | "rows"> {
  readonly operations: readonly ImportedOperation[];
}
export interface MadeSystem {
  readonly text: string;
  readonly issues: readonly Issue[];
  readonly warnings: readonly string[];
  /** Of a system that was there: keys that the document has no more, and keys that the system has not. */
  readonly gone: readonly string[];
  readonly fresh: readonly string[];
}
export type ImportAnswer = Looked | MadeSystem | { readonly issues: readonly Issue[] };

interface Named {
  readonly place: OperationPlace;
  readonly name: string;
  readonly made: Made | { readonly problem: string };
}

const makeOne = (document: OpenApi, place: OperationPlace): Named["made"] => {
  try {
    return makeOperation(document, place);
  } catch (error) {
    if (error instanceof ImportError) return { problem: error.message };
    // Whatever else a document is wrong in costs this operation alone.
    return { problem: error instanceof RangeError ? "is nested too deeply" : "is not of the form that OpenAPI says" };
  }
};

/** Every operation with its name; made are those that are asked for. */
const nameAll = (document: OpenApi, prefix: string, isWanted: (key: string) => boolean): readonly Named[] => {
  const places = operationsOf(document);
  const names = operationNames(
    places.map(({ key, operation }) => ({ key, id: wordOf(operation["operationId"]) })),
    prefix,
  );
  return places
    .filter(({ key }) => isWanted(key))
    .map((place) => ({ place, name: names.get(place.key) ?? "", made: makeOne(document, place) }));
};

const securityOf = ({ version, root }: OpenApi): Inspected["security"] =>
  Object.entries(nodeOf(version === "2.0" ? root["securityDefinitions"] : nodeOf(root["components"])["securitySchemes"]))
    .slice(0, 20)
    .map(([name, one]) => {
      const { type, in: where, name: parameter, scheme, flow, flows } = nodeOf(one);
      const client = version === "2.0" ? (flow === "application" ? nodeOf(one) : {}) : nodeOf(nodeOf(flows)["clientCredentials"]);
      const tokenUrl = type === "oauth2" ? wordOf(client["tokenUrl"]) : undefined;
      return {
        name: name.slice(0, 100),
        type: String(type === "http" ? (scheme ?? type) : type).slice(0, 40),
        ...(typeof where === "string" && typeof parameter === "string"
          ? { in: where.slice(0, 20), parameter: parameter.slice(0, 100) }
          : {}),
        ...(tokenUrl === undefined
          ? {}
          : { tokenUrl: tokenUrl.slice(0, 1000), scopes: Object.keys(nodeOf(client["scopes"])).slice(0, 50) }),
      };
    });

/** What is told of one operation, and characters of each. */
const MAX_PROBLEMS = 20;
const MAX_PROBLEM = 500;

/** Cut, and of characters that a database keeps. */
const cut = (text: string, max: number): string => text.slice(0, max).replaceAll("\0", "").toWellFormed();

const rowOf = ({ place, name, made }: Named, prefix: string): ImportedOperation => {
  const id = wordOf(place.operation["operationId"]);
  const about = "operation" in made ? made.operation : {};
  return {
    key: cut(place.key, 500),
    ...(id === undefined ? {} : { operation_id: cut(id, 200) }),
    name: `${prefix}${name}`,
    ...(typeof about["title"] === "string" ? { title: about["title"] } : {}),
    tags: listOf(place.operation["tags"])
      .flatMap((tag) => (typeof tag === "string" ? [cut(tag, 100)] : []))
      .slice(0, 20),
    hints: {
      read_only: place.method === "GET",
      destructive: place.method === "DELETE",
      idempotent: ["GET", "PUT", "DELETE"].includes(place.method),
    },
    importable: "operation" in made,
    problems: ("operation" in made ? made.warnings : [made.problem]).slice(0, MAX_PROBLEMS).map((problem) => cut(problem, MAX_PROBLEM)),
  };
};

/** Looks at a document: what each operation would be, and why others cannot be one. Cost: three times its parsing. */
export const inspectDocument = (bytes: Uint8Array, prefix: string): Inspected | { readonly issues: readonly Issue[] } => {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { issues: [{ path: "", message: "is no UTF-8 text" }] };
  }
  const document = readOpenApi(text);
  if ("issues" in document) return document;
  try {
    return {
      title: cut(plain(document.title), 200),
      openapi: cut(document.declared, 20),
      servers: document.servers.slice(0, 20).map((server) => cut(server, 500)),
      security: securityOf(document),
      operations: nameAll(document, prefix, () => true).map((row) => rowOf(row, prefix)),
      sha256: createHash("sha256").update(bytes).digest("hex"),
      packed: gzipSync(bytes, { level: 6 }),
    };
  } catch (error) {
    if (error instanceof ImportError) return { issues: [{ path: "/paths", message: error.message }] };
    throw error;
  }
};

/** Characters of rows that go to the database at once, more or less. */
const MAX_ROWS_TEXT = 1_000_000;
const MAX_TAGS = 1000;
const MAX_WARNINGS = 50;

const rowsOf = (operations: readonly ImportedOperation[]): readonly string[] => {
  const parts: string[][] = [];
  let left = 0;
  for (const [at, operation] of operations.entries()) {
    const { key, name, title = "", operation_id: id = "", tags, importable } = operation;
    const row = JSON.stringify({ at, key, tags, importable, searched: `${key}\n${name}\n${title}\n${id}`.toLowerCase(), operation });
    if (left <= 0) {
      parts.push([]);
      left = MAX_ROWS_TEXT;
    }
    parts.at(-1)?.push(row);
    left -= row.length;
  }
  return parts.map((rows) => `[${rows.join(",")}]`);
};

/** As `inspectDocument`, laid out to be kept. */
export const lookAtDocument = (bytes: Uint8Array, prefix: string): Looked | { readonly issues: readonly Issue[] } => {
  const found = inspectDocument(bytes, prefix);
  if ("issues" in found) return found;
  const { operations, sha256, packed, ...about } = found;
  const counts = new Map<string, number>();
  for (const { tags } of operations) for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return {
    ...about,
    operations: operations.length,
    importable: operations.filter(({ importable }) => importable).length,
    warnings: operations.flatMap(({ key, problems }) => problems.map((problem) => `${key}: ${problem}`)).slice(0, MAX_WARNINGS),
    tags: [...counts].map(([name, count]) => ({ name, operations: count })).slice(0, MAX_TAGS),
    sha256,
    packed,
    rows: rowsOf(operations),
  };
};

/** Below this a person can read it as YAML; above it reading YAML takes seconds. */
const MAX_YAML = 150_000;

const printSystem = (value: Readonly<Record<string, unknown>>): string => {
  const json = printJson(value);
  return json.length > MAX_YAML ? json : stringify(value, { lineWidth: 140, aliasDuplicateObjects: false, version: "1.2" });
};

type Question<Kind> = Extract<ImportQuestion, { readonly kind: Kind }>;

/** The document of a system that signs in by `auth`. */
const unpack = (packed: Uint8Array, auth: unknown): OpenApi => {
  const document = readOpenApi(gunzipSync(packed).toString("utf8"));
  if ("issues" in document) throw new TypeError("it was readable before");
  const { type, in: where, name } = nodeOf(auth);
  return type === "api_key" ? { ...document, credential: `${String(where)} ${String(name).toLowerCase()}` } : document;
};

/** Why picks cannot be taken. */
const pickFaults = (picks: readonly string[], named: readonly Named[]): readonly Issue[] => {
  const found = new Map(named.map((row) => [row.place.key, row.made]));
  return picks.flatMap((key, index) => {
    const made = found.get(key);
    const message = made === undefined ? "is no operation of the document" : "problem" in made ? `${key} ${made.problem}` : undefined;
    return message === undefined ? [] : [{ path: `/pick/${index}`, message: message.slice(0, 500) }];
  });
};
/** A system that is too large for its document. */
const sizeFaults = (text: string): readonly Issue[] => {
  if (text.length <= MAX_SYSTEM_BYTES) return [];
  const max = MAX_SYSTEM_BYTES / 1_048_576;
  return [{ path: "/pick", message: `makes a system of ${mebibytesOf(text)} MiB, of which ${max} MiB may be kept: pick fewer operations` }];
};
const madeOf = (named: readonly Named[]): readonly (readonly [string, MadeOperation])[] =>
  named.flatMap(({ name, made }) => ("operation" in made ? [[name, made.operation] as const] : []));
const warningsOf = (named: readonly Named[]): readonly string[] =>
  named
    .flatMap(({ place, made }) => ("operation" in made ? made.warnings.map((warning) => `${place.key}: ${warning}`) : []))
    .slice(0, MAX_WARNINGS);

/** Makes a system of what is picked, operations in the order of the document; the same picks of the same document give the same bytes. */
export const makeSystem = ({ packed, prefix, picks, head }: Omit<Question<"make">, "kind">): MadeSystem => {
  const wanted = new Set(picks);
  const document = unpack(packed, head["auth"]);
  const named = nameAll(document, prefix, (key) => wanted.has(key));
  const text = printSystem({ ...head, operations: Object.fromEntries(madeOf(named)) });
  const ways = nodeOf(head["auth"])["type"] === "none" ? securityOf(document).map(({ name, type }) => `${name} (${type})`) : [];
  const open =
    ways.length === 0 ? [] : [`auth is none, and the document knows its callers by ${ways.join(", ")}: say auth with its secrets.`];
  const warnings = [...open, ...warningsOf(named)].slice(0, MAX_WARNINGS);
  return { text, issues: [...pickFaults(picks, named), ...sizeFaults(text)], warnings, gone: [], fresh: [] };
};

const keyOfOperation = (operation: Node): string => {
  const { method, path } = nodeOf(operation["request"]);
  return `${String(method)} ${String(path)}`;
};
const isSame = (one: unknown, other: unknown): boolean => canonicalJson(one) === canonicalJson(other);

/** What was written last, what stands there and what is new: what a person changed stays, the rest follows the document. */
const merge = (written: Node | undefined, current: Node, made: Node): Node => {
  const { body: _body, parameters: _parameters, ...ownRequest } = nodeOf(current["request"]);
  const members = [...new Set([...Object.keys(current), ...Object.keys(made)])].map((name): [string, unknown] => {
    if (name === "request") return [name, { ...ownRequest, ...nodeOf(made["request"]) }];
    if (name === "input" || name === "inputCheck") return [name, made[name]];
    return [name, written !== undefined && isSame(written[name], current[name]) ? made[name] : current[name]];
  });
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
};

/** Brings a system up to a document. Its text stays as it is where nothing changes. */
export const remakeSystem = ({ packed, prefix, picks, current, written }: Omit<Question<"remake">, "kind">): MadeSystem => {
  const system = nodeOf(readYaml(current, "system", systemLimits).document?.value);
  const before = nodeOf(
    nodeOf(written === undefined ? undefined : readYaml(written, "system", systemLimits).document?.value)["operations"],
  );
  const own = Object.entries(nodeOf(system["operations"])).map(([name, value]) => [name, nodeOf(value)] as const);
  const ownKeys = new Set(own.map(([, operation]) => keyOfOperation(operation)));
  const wrote = new Map(Object.values(before).map((one) => [keyOfOperation(nodeOf(one)), nodeOf(one)]));
  const document = unpack(packed, system["auth"]);
  const wanted = new Set([...picks, ...ownKeys]);
  const places = operationsOf(document);
  const all = new Set(places.map(({ key }) => key));
  const callable = places.filter(({ method }) => httpMethod.safeParse(method).success).map(({ key }) => key);
  const named = nameAll(document, prefix, (key) => wanted.has(key));
  const made = new Map(named.map((row) => [row.place.key, row]));
  const kept = own.flatMap(([name, operation]) => {
    const key = keyOfOperation(operation);
    const row = made.get(key);
    if (row === undefined) return [];
    return [[name, "operation" in row.made ? merge(wrote.get(key), operation, row.made.operation) : operation] as const];
  });
  const taken = new Set(kept.map(([name]) => name));
  const added = named.filter(({ place }) => picks.includes(place.key) && !ownKeys.has(place.key));
  const clash = madeOf(added).filter(([name]) => taken.has(name));
  const value = { ...system, operations: Object.fromEntries([...kept, ...madeOf(added)]) };
  const stale = named.flatMap(({ place, made: one }) =>
    "problem" in one && ownKeys.has(place.key) ? [`${place.key} stays as it is: it ${one.problem}`] : [],
  );
  const printed = printSystem(value);
  // What was written as JSON has no comments, and what becomes JSON cannot keep them.
  const rewritten = current.startsWith("{") || printed.startsWith("{") ? undefined : rewriteSystem(current, system, value);
  const text = isSame(value, system) ? current : (rewritten ?? printed);
  const lost = text === printed && /(?:^|\s)#/.test(current) && !current.startsWith("{");
  return {
    text,
    issues: [
      ...pickFaults(picks, named),
      ...sizeFaults(text),
      ...clash.map(([name]) => ({ path: "/pick", message: `${name} is a tool of this system already, of another operation` })),
    ],
    warnings: [...(lost ? ["comments of the document are gone: it was written anew"] : []), ...stale, ...warningsOf(added)].slice(
      0,
      MAX_WARNINGS,
    ),
    gone: [...ownKeys].filter((key) => !all.has(key)),
    fresh: callable.filter((key) => !ownKeys.has(key) && !picks.includes(key)).slice(0, 500),
  };
};
