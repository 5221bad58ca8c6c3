import { isRawNumber, sentJson } from "#contract/exact-numbers.ts";
import { Problem } from "#contract/problem.ts";
import type { CelInputs } from "#parsing/cel.ts";
import { encode, headerText, pathText, queryPairs } from "./parameter-styles.ts";
import { isDotSegment } from "./request-path.ts";
import { writeBody, type SentBody } from "./request-body.ts";
import type { HttpDocument } from "./system-document.ts";
import { compileTemplate, type Template, type TemplateError } from "./template.ts";

type Operation = HttpDocument["operations"][string];
type Input = Readonly<Record<string, unknown>>;

/** One request, bound: what the upstream gets, without credentials and page parameters. */
export interface BoundRequest {
  readonly method: string;
  /** Below the base address, each segment percent-encoded. */
  readonly path: string;
  /** Names and values percent-encoded. */
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: SentBody | undefined;
}

export type BindRequest = (inputs: CelInputs, input: Input) => BoundRequest;

const placeholder = /\{([^{}]*)\}/g;
const takesQuery = (method: string): boolean => method === "GET" || method === "DELETE";
const JSON_BODY = { media: "application/json", base64: false, encoding: {} };

const unfit = (name: string): Problem =>
  new Problem("invalid_arguments", { errors: [{ path: `/${name}`, message: "cannot stand in a path" }] });

/** A caller's value in a path: encoded whole; a value that is not there is refused. */
const segmentOf = (name: string, value: unknown): string => {
  const text = typeof value === "number" || typeof value === "boolean" || isRawNumber(value) ? sentJson(value) : value;
  if (typeof text !== "string" || text === "" || !text.isWellFormed()) throw unfit(name);
  return encodeURIComponent(text);
};

/** Fills a path. A dot segment, or nothing where something was to be, would change the path's meaning. */
const fillPath = (path: string, fill: (name: string) => string): string =>
  path
    .split("/")
    .map((segment) => {
      const [first] = [...segment.matchAll(placeholder)].map((match) => match[1] ?? "");
      if (first === undefined) return segment;
      const filled = segment.replace(placeholder, (_whole, name: string) => fill(name));
      if (filled === "" || isDotSegment(filled)) throw unfit(first);
      return filled;
    })
    .join("/");

const queryOf = (name: string, value: unknown): readonly (readonly [string, string])[] => {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => queryOf(name, item));
  return [[encode(name), encode(typeof value === "string" ? value : sentJson(value))]];
};

const placeholdersOf = (path: string): readonly string[] => [...path.matchAll(placeholder)].map((match) => match[1] ?? "");

const inputsOf = (operation: Operation): ReadonlySet<string> => {
  const properties = operation.input?.["properties"];
  return new Set(typeof properties === "object" && properties !== null ? Object.keys(properties) : []);
};

/** As `request.parameters` and `request.body` say it; what they do not name goes nowhere, but as the body's members where the body has no input. */
const compileParameters = (operation: Operation, path: readonly (string | number)[], tell: TemplateError): BindRequest => {
  const { request } = operation;
  const { body } = request;
  const inputs = inputsOf(operation);
  const parameters = (request.parameters ?? []).map((row, index) => {
    const rule = {
      ...row,
      input: row.input ?? row.name,
      style: row.style ?? (row.in === "query" ? "form" : "simple"),
      explode: row.explode ?? (row.in === "query" && (row.style ?? "form") === "form"),
    };
    if (!inputs.has(rule.input)) tell([...path, "request", "parameters", index], `the input has no ${rule.input}`);
    return rule;
  });
  const names = placeholdersOf(request.path);
  const inPath = new Map(parameters.flatMap((rule) => (rule.in === "path" ? [[rule.name, rule]] : [])));
  for (const name of names) if (!inPath.has(name)) tell([...path, "request", "path"], `nothing fills {${name}}`);
  if (body !== undefined && request.method === "GET") tell([...path, "request", "body"], "GET has no body");
  if (body?.input !== undefined && !inputs.has(body.input)) tell([...path, "request", "body", "input"], `the input has no ${body.input}`);
  const taken = new Set(parameters.map(({ input }) => input));
  const renamed = new Map(
    Object.entries(body?.encoding ?? {}).flatMap(([name, row]) => (row.input === undefined ? [] : [[row.input, name] as const])),
  );
  const bodyOf = (input: Input): SentBody | undefined => {
    if (body === undefined) return undefined;
    if (body.input !== undefined) return input[body.input] === undefined ? undefined : writeBody(input[body.input], body);
    const own = Object.entries(input).filter(([name]) => !taken.has(name));
    return own.length === 0 ? undefined : writeBody(Object.fromEntries(own.map(([name, item]) => [renamed.get(name) ?? name, item])), body);
  };
  return (_prepared, input) => ({
    method: request.method,
    path: fillPath(request.path, (name) => {
      const rule = inPath.get(name);
      const value = rule === undefined ? undefined : input[rule.input];
      if (rule === undefined || value === undefined || value === null) throw unfit(name);
      return pathText(name, value, rule.style, rule.explode);
    }),
    query: parameters.flatMap((rule) =>
      rule.in === "query" ? queryPairs(rule.name, input[rule.input], rule.style, rule.explode, rule.allowReserved) : [],
    ),
    headers: Object.fromEntries(
      parameters.flatMap(({ in: where, name, input: member, style, explode }) => {
        const value = input[member];
        return where !== "header" || value === undefined || value === null ? [] : [[name, headerText(name, value, style, explode)]];
      }),
    ),
    body: bodyOf(input),
  });
};

/**
 * Compiles how arguments become a request: by `request.parameters` and `request.body`, or by `bind`; without either by name: path
 * placeholders first, then the query (GET, DELETE) or the JSON body.
 */
export const compileRequest = (operation: Operation, path: readonly (string | number)[], tell: TemplateError): BindRequest => {
  const { request, bind } = operation;
  if (request.parameters !== undefined || request.body !== undefined) {
    if (bind !== undefined)
      tell([...path, "bind"], "stands beside parameters or a body of the request: one of the two says what goes where");
    return compileParameters(operation, path, tell);
  }
  const names = placeholdersOf(request.path);
  const inputs = inputsOf(operation);
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
    const rest = Object.fromEntries(Object.entries(input).filter(([name]) => !names.includes(name)));
    const givenQuery = query?.(prepared) ?? (bind === undefined && takesQuery(request.method) ? rest : {});
    const givenBody = body?.(prepared) ?? (bind === undefined && !takesQuery(request.method) ? rest : undefined);
    return {
      method: request.method,
      path: fillPath(request.path, (name) => {
        const template = bound[name];
        return segmentOf(name, template === undefined ? input[name] : template(prepared));
      }),
      query: Object.entries(givenQuery).flatMap(([name, value]) => queryOf(name, value)),
      headers: {},
      body: givenBody === undefined ? undefined : writeBody(givenBody, JSON_BODY),
    };
  };
};
