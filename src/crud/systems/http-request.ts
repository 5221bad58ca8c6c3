import { Problem } from "#contract/problem.ts";
import type { CelInputs } from "#documents/cel.ts";
import type { HttpDocument } from "./system-document.ts";
import { compileTemplate, type Template, type TemplateFault } from "./template.ts";

type Operation = HttpDocument["operations"][string];

/** One request, bound: what the upstream gets, without credentials and page parameters. */
export interface BoundRequest {
  readonly method: string;
  /** Below the base address, each segment percent-encoded. */
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly body?: unknown;
}

export type BindRequest = (inputs: CelInputs, input: Readonly<Record<string, unknown>>) => BoundRequest;

const placeholder = /\{([^{}]*)\}/g;
const takesQuery = (method: string): boolean => method === "GET" || method === "DELETE";

/** A path segment of a caller's value: encoded whole; a dot segment or nothing would change the path's meaning. */
const segmentOf = (name: string, value: unknown): string => {
  const text = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
  if (typeof text !== "string" || text === "" || text === "." || text === ".." || !text.isWellFormed()) {
    throw new Problem("invalid_arguments", { errors: [{ path: `/${name}`, message: "cannot stand in a path" }] });
  }
  return encodeURIComponent(text);
};

const queryOf = (name: string, value: unknown): readonly (readonly [string, string])[] => {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => queryOf(name, item));
  return [[name, typeof value === "string" ? value : JSON.stringify(value)]];
};

/**
 * Compiles how arguments become a request. Without `bind` they go by name: path placeholders first, then the query (GET,
 * DELETE) or the JSON body.
 */
export const compileRequest = (operation: Operation, path: readonly (string | number)[], tell: TemplateFault): BindRequest => {
  const { request, bind } = operation;
  const names = [...request.path.matchAll(placeholder)].map((match) => match[1] ?? "");
  const properties = operation.input?.["properties"];
  const inputs = new Set(typeof properties === "object" && properties !== null ? Object.keys(properties) : []);
  const bound: Record<string, Template> = {};
  const compile = (value: unknown, ...more: readonly string[]): Template =>
    compileTemplate(value, "call", [...path, "bind", ...more], tell);
  for (const [name, value] of Object.entries(bind?.path ?? {})) {
    if (!names.includes(name)) tell([...path, "bind", "path", name], "is no placeholder of the path");
    bound[name] = compile(value, "path", name);
  }
  for (const name of names) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) tell([...path, "request", "path"], "has a placeholder that is no name");
    else if (bound[name] === undefined && !inputs.has(name)) tell([...path, "request", "path"], `nothing fills {${name}}`);
  }
  if (bind?.body !== undefined && takesQuery(request.method)) tell([...path, "bind", "body"], `${request.method} has no body`);
  const query = bind?.query === undefined ? undefined : compile(bind.query, "query");
  const body = bind?.body === undefined ? undefined : compile(bind.body, "body");
  return (prepared, input) => {
    const filled = request.path.replace(placeholder, (_whole, name: string) => {
      const template = bound[name];
      return segmentOf(name, template === undefined ? input[name] : template(prepared));
    });
    const rest = Object.fromEntries(Object.entries(input).filter(([name]) => !names.includes(name)));
    const givenQuery = query?.(prepared) ?? (bind === undefined && takesQuery(request.method) ? rest : {});
    const givenBody = body?.(prepared) ?? (bind === undefined && !takesQuery(request.method) ? rest : undefined);
    return {
      method: request.method,
      path: filled,
      query: Object.entries(givenQuery).flatMap(([name, value]) => queryOf(name, value)),
      body: givenBody,
    };
  };
};
