import { parseStrictJson } from "#http/strict-json.ts";
import { isObject } from "#contract/is-object.ts";
import type { Issue } from "#contract/problem.ts";
import { isDeeper } from "#parsing/yaml-document.ts";
import { readYamlSlices } from "#parsing/yaml-slices.ts";

export type Node = Readonly<Record<string, unknown>>;

/** A document of OpenAPI 3.0, 3.1 or Swagger 2.0 as it was read; nothing in it is trusted to have its shape. */
export interface OpenApi {
  readonly root: Node;
  readonly version: "2.0" | "3.0" | "3.1";
  /** As the document says it: `openapi` or `swagger`. */
  readonly declared: string;
  readonly title: string;
  /** Addresses of the API as they stand there; of Swagger 2 they are made of its parts. */
  readonly servers: readonly string[];
  /** The system's own credential as `in name`, whatever the document says of it. */
  readonly credential?: string;
}

/** What keeps one operation from becoming a tool; its message is shown. */
export class ImportError extends Error {
  override readonly name = "ImportError";
}

const MAX_DEPTH = 200;
/** A member twice is refused in either form. How many there are is bounded by the document's size, and their depth is looked at below. */
const JSON_LIMITS = { depth: Number.POSITIVE_INFINITY, members: Number.POSITIVE_INFINITY, keepsUnfit: true };
/** What YAML is read into takes some 50 times its size; that many MiB are read at once. */
const YAML_LIMITS = { mebibytes: 8, depth: 100, aliases: 10_000, rounds: true };
const MAX_HOPS = 20;

export const nodeOf = (value: unknown): Node => (isObject(value) ? value : {});
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const wordOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
export const memberOf = (node: Node, name: string): unknown => (Object.hasOwn(node, name) ? node[name] : undefined);

const refused = (message: string): { readonly issues: readonly Issue[] } => ({ issues: [{ path: "", message }] });

const readValue = (text: string): { readonly value: unknown } | { readonly issues: readonly Issue[] } => {
  const plain = text.replace(/^\ufeff/, "");
  if (/^\s*\{/.test(plain)) {
    try {
      return { value: parseStrictJson(plain, JSON_LIMITS) };
    } catch {
      // A flow map of YAML begins like this too.
    }
  }
  return readYamlSlices(plain, "document", YAML_LIMITS);
};

const swaggerServers = (root: Node): readonly string[] => {
  const host = wordOf(root["host"]);
  const base = wordOf(root["basePath"]) ?? "";
  if (host === undefined) return base === "" ? [] : [base];
  const schemes = listOf(root["schemes"]).filter((scheme) => scheme === "https" || scheme === "http");
  return (schemes.length === 0 ? ["https"] : schemes.toSorted().toReversed()).map((scheme) => `${String(scheme)}://${host}${base}`);
};

/** Reads JSON or YAML up to what it is. Cost: JSON 10 ms a MiB, YAML 1.5 s a MiB: for a thread. */
export const readOpenApi = (text: string): OpenApi | { readonly issues: readonly Issue[] } => {
  const read = readValue(text);
  if ("issues" in read) return read;
  if (!isObject(read.value) || Array.isArray(read.value)) return refused("is no OpenAPI document: it is no object");
  if (isDeeper(read.value, MAX_DEPTH)) return refused(`is nested deeper than ${MAX_DEPTH}`);
  const root = read.value as Node;
  const declared = wordOf(root["openapi"]) ?? wordOf(root["swagger"]) ?? "";
  const version = (["2.0", "3.0", "3.1"] as const).find((one) => declared === one || declared.startsWith(`${one}.`));
  if (version === undefined || (version === "2.0") !== (root["openapi"] === undefined))
    return refused('is no OpenAPI document: it must say openapi: 3.0.x or 3.1.x, or swagger: "2.0"');
  const title = wordOf(nodeOf(root["info"])["title"]) ?? "API";
  const servers = version === "2.0" ? swaggerServers(root) : serversOf(root);
  // Some name their server at each path, or at each operation, alone.
  const places = Object.values(nodeOf(root["paths"])).flatMap((item) => [nodeOf(item), ...Object.values(nodeOf(item)).map(nodeOf)]);
  const first = servers.length > 0 ? servers : places.map(serversOf).find(({ length }) => length > 0);
  return { root, version, declared, title, servers: first ?? [] };
};

/** Addresses in a `servers` list, with the defaults of their variables. */
export const serversOf = (holder: Node): readonly string[] =>
  listOf(holder["servers"]).flatMap((server) => {
    const { url, variables } = nodeOf(server);
    const filled = wordOf(url)?.replaceAll(/\{([^{}]+)\}/g, (whole, name: string) => {
      const preset = nodeOf(memberOf(nodeOf(variables), name))["default"];
      return typeof preset === "string" || typeof preset === "number" ? String(preset) : whole;
    });
    return filled === undefined ? [] : [filled.startsWith("//") ? `https:${filled}` : filled];
  });

/** What a reference of the document points to; `$ref` may be percent-encoded. Throws `ImportError` for another document and for what is not there. */
export const lookUp = ({ root }: OpenApi, reference: string): unknown => {
  if (!reference.startsWith("#")) throw new ImportError(`refers to another document: ${reference.slice(0, 100)}`);
  let pointer = reference.slice(1);
  try {
    pointer = decodeURIComponent(pointer);
  } catch {
    // It stands there as it is.
  }
  let at: unknown = root;
  for (const part of pointer === "" ? [] : pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    at = Array.isArray(at) ? at[Number(name)] : memberOf(nodeOf(at), name);
    if (at === undefined) break;
  }
  if (at === undefined || (pointer !== "" && !pointer.startsWith("/")))
    throw new ImportError(`refers to ${reference.slice(0, 100)}, which is not there`);
  return at;
};

/** A node, or what it refers to. Throws `ImportError`, for a reference that leads to itself too. */
export const follow = (document: OpenApi, value: unknown): Node => {
  let node = nodeOf(value);
  for (let hops = 0; typeof node["$ref"] === "string"; hops++) {
    if (hops === MAX_HOPS) throw new ImportError("has a reference that leads to itself");
    node = nodeOf(lookUp(document, node["$ref"]));
  }
  return node;
};
