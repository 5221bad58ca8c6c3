import { isTlsOrLoopback } from "#contract/loopback.ts";
import type { Issue } from "#contract/problem.ts";
import { BEYOND_LIST, schemaRefusal } from "#parsing/foreign-schema.ts";
import { createYieldingOfLong } from "#http/yielding.ts";
import type { Tool } from "#crud/tools/tool.ts";
import { createClientCertificates } from "#crud/upstream/client-certificates.ts";
import { createSystemTokens } from "#crud/upstream/system-tokens.ts";
import { createGuardedAgent, type ClientCertificate } from "#crud/upstream/guarded-agent.ts";
import { createHttpConnector, type HttpOperation, type HttpSystem } from "#crud/upstream/http-connector.ts";
import { parseNetworks, refuseLiteral, type NetworkRefusal } from "#crud/upstream/network-rules.ts";
import { createResilience } from "#crud/upstream/resilience.ts";
import { buildTool } from "#crud/mcp/build-tool.ts";
import { definitionOf } from "./definition-of.ts";
import { compileRules } from "#crud/systems/tool-rules.ts";
import { CONNECTION_HEADERS } from "#crud/systems/connection-headers.ts";
import type { Compiled, CompileParts, ConnectorKind } from "./connector-kind.ts";
import { expressionText, type Expression } from "#crud/systems/expression.ts";
import { compileRequest } from "#crud/systems/http-request.ts";
import type { SystemFile } from "#crud/systems/load-systems.ts";
import { operationTests } from "./operation-tests.ts";
import type { PageRules } from "#crud/systems/paginate.ts";
import { fillPlaceholders } from "#crud/systems/placeholders.ts";
import { credentialMembers, type HttpDocument } from "#crud/systems/system-document.ts";
import { compileAt, type TemplateError } from "#crud/systems/template.ts";

type Operation = HttpDocument["operations"][string];

/** What is read of an answer that is cut afterwards, unless more may leave anyway. */
const CUT_FROM_BYTES = 2_097_152;

/** Checks a base address of a system: literal scheme, host and port; no userinfo, query, fragment or expression. */
const parseBaseUrl = (text: string): { readonly url: URL } | { readonly issue: string } => {
  if (/[\s\\]|\$\{/.test(text)) return { issue: "must be a literal address" };
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { issue: "is no address" };
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return { issue: "must begin with http:// or https://" };
  if (url.username !== "" || url.password !== "" || text.includes("@")) return { issue: "names a user" };
  if (url.search !== "" || url.hash !== "" || text.includes("?") || text.includes("#")) return { issue: "has a query or a fragment" };
  if (/\/\.{1,2}(?:\/|$)|%/.test(text.slice(text.indexOf("//") + 2))) return { issue: "has a path with more than one reading" };
  return { url };
};

/** An expression over the response at a place of the file; an issue is told and gives `undefined`. */
const compileResponse = (text: string, path: readonly (string | number)[], tell: TemplateError): Expression | undefined => {
  const inner = expressionText(text);
  if (inner !== undefined) return compileAt(inner, "response", path, tell);
  tell(path, "must be an expression: ${ ... } with blanks inside the braces");
  return undefined;
};

/** With the expressions that were compiled; of one with an issue nothing is made, for the file is refused. */
const pagingOf = (
  rules: PageRules | undefined,
  items: Expression | undefined,
  next: Expression | undefined,
): Pick<HttpOperation, "paginate"> => {
  if (rules === undefined || items === undefined) return {};
  if (rules.style !== "cursor") return { paginate: { ...rules, items } };
  return next === undefined ? {} : { paginate: { ...rules, items, next } };
};

const compileOperation = (document: HttpDocument, base: string, operation: Operation, tell: TemplateError): HttpOperation => {
  const path = ["operations", base];
  const pages = operation.paginate;
  const items = pages === undefined ? undefined : compileResponse(pages.items, [...path, "paginate", "items"], tell);
  const next = pages?.style === "cursor" ? compileResponse(pages.next, [...path, "paginate", "next"], tell) : undefined;
  if (pages?.style === "link" && operation.request.method !== "GET")
    tell([...path, "paginate", "style"], "link follows addresses, which only a GET can");
  const select =
    operation.output.select === undefined ? undefined : compileResponse(operation.output.select, [...path, "output", "select"], tell);
  const actual =
    typeof operation.cost_usd === "number" ? undefined : compileResponse(operation.cost_usd.actual, [...path, "cost_usd", "actual"], tell);
  const errors = operation.errors.flatMap((row, index) => {
    const when = compileResponse(row.when, [...path, "errors", index, "when"], tell);
    return when === undefined ? [] : [{ when, as: row.as, isRetryable: row.retryable }];
  });
  const limits = operation.response ?? document.defaults.response;
  return {
    bind: compileRequest(operation, path, tell),
    idempotencyHeader: operation.request.idempotencyHeader,
    ...pagingOf(pages, items, next),
    select,
    actualCost: actual,
    errors,
    retry: operation.retry ?? document.defaults.retry,
    timeoutMs: operation.timeout ?? document.defaults.timeout,
    maxBytes: limits.onExceed === "truncate" ? Math.max(CUT_FROM_BYTES, limits.maxBytes) : limits.maxBytes,
    takesBinary: operation.output.binary,
    isReadOnly: operation.annotations.readOnlyHint ?? operation.request.method === "GET",
    isIdempotent: operation.annotations.idempotentHint ?? operation.request.method === "GET",
  };
};

/** Why no line of a document lets an address be dialled. */
const CLOSED: Readonly<Record<Exclude<NetworkRefusal, "not_public">, string>> = {
  metadata: "is an address of cloud metadata, which is never dialled",
  internal_port: "is a port of this deployment, which is never dialled",
  plain_http: "must be https: it is a public address",
  not_an_address: "is no address",
};

/** What all schemas of a system may cost to be prepared, in steps: a document as large as may be, and patterns for half a second. */
const MAX_LIST_STEPS = 1_000_000;

/** Turns an HTTP system into tools. Every issue of the file is collected, and with one there are none: who may do without the faulty operations reads the file without them. */
export const compileHttp = async (file: SystemFile & { readonly document: HttpDocument }, parts: CompileParts): Promise<Compiled> => {
  const { document, yaml } = file;
  const issues: Issue[] = [];
  const tell: TemplateError = (path, message) => issues.push(yaml.issue(path, message));
  const filled = fillPlaceholders(document.baseUrl, parts.placeholders);
  if (filled.kind === "off") return filled;
  if (filled.kind === "unknown")
    return { kind: "degraded", issues: [yaml.issue(["baseUrl"], `names ${filled.name}, which no setting fills`)] };
  const base = parseBaseUrl(filled.text);
  if ("issue" in base) return { kind: "degraded", issues: [yaml.issue(["baseUrl"], base.issue)] };
  if (parts.requiresTls && !isTlsOrLoopback(base.url.href)) tell(["baseUrl"], "must be https unless on loopback");
  const networks = parseNetworks(document.network.allow, parts.ceiling);
  for (const { index, message } of networks.issues) tell(["network", "allow", index], message);

  const { auth } = document;
  const tokenUrl = auth.type === "oauth2_client" ? parseBaseUrl(auth.tokenUrl) : undefined;
  if (tokenUrl !== undefined && "issue" in tokenUrl) tell(["auth", "tokenUrl"], tokenUrl.issue);
  else if (tokenUrl !== undefined && parts.requiresTls && !isTlsOrLoopback(tokenUrl.url.href))
    tell(["auth", "tokenUrl"], "must be https unless on loopback");
  if (auth.type === "api_key" && auth.in === "header" && CONNECTION_HEADERS.test(auth.name))
    tell(["auth", "name"], "is a header of the connection, which Sallyport writes itself");
  const isCredential = (row: { readonly in: string; readonly name: string }): boolean =>
    auth.type === "api_key" && row.in === auth.in && row.name.toLowerCase() === auth.name.toLowerCase();
  for (const [name, operation] of Object.entries(document.operations))
    for (const [index, row] of (operation.request.parameters ?? []).entries())
      if (isCredential(row)) tell(["operations", name, "request", "parameters", index], "is the credential, which no caller sends");

  const rules = { allow: networks.blocks, ceiling: parts.ceiling, internalPorts: parts.internalPorts };
  const unlisted = new Set<string>();
  for (const [path, read] of [
    [["baseUrl"], base],
    [["auth", "tokenUrl"], tokenUrl],
  ] as const) {
    const refused = read !== undefined && "url" in read ? refuseLiteral(read.url, rules) : undefined;
    if (refused?.refusal === "not_public") unlisted.add(refused.network);
    else if (refused !== undefined && !(parts.requiresTls && refused.refusal === "plain_http")) tell(path, CLOSED[refused.refusal]);
  }

  if (auth.type === "mtls" && base.url.protocol !== "https:")
    tell(["auth", "type"], "needs a baseUrl of https: certificates are shown in TLS");
  const connect = (certificate?: ClientCertificate) => createGuardedAgent({ rules, certificate });
  const agent = connect();
  const certificates = auth.type === "mtls" ? createClientCertificates(auth, connect) : undefined;
  const userAgent = `sallyport/${parts.version}`;
  const system: HttpSystem = {
    baseUrl: base.url,
    auth,
    agent,
    userAgent,
    followsRedirects: document.network.redirects === "same_origin",
    ...(auth.type === "oauth2_client" && tokenUrl !== undefined && "url" in tokenUrl
      ? { tokens: createSystemTokens(auth, { agent, userAgent, now: parts.now }) }
      : {}),
    ...(certificates === undefined ? {} : { certificates }),
    resilience: createResilience({
      system: file.name,
      concurrency: document.defaults.concurrency,
      circuit: document.defaults.circuit,
      rateLimit: document.defaults.rateLimit,
      metrics: parts.metrics,
      now: parts.now,
    }),
  };
  const tools = new Map<string, Tool>();
  // A large system is compiled in pieces, other requests between them.
  const turn = createYieldingOfLong();
  const list = { left: MAX_LIST_STEPS };
  for (const [name, operation] of Object.entries(document.operations)) {
    const path = ["operations", name];
    const compiled = compileOperation(document, name, operation, tell);
    if (operation.output.binary && ((operation.dataScope ?? document.defaults.dataScope) !== "none" || operation.mask.length > 0))
      tell([...path, "output", "binary"], "has neither rows nor members: dataScope must be none, and there can be no mask");
    const definition = definitionOf(`${file.name}.${name}`, operation, document);
    // What is refused here is refused below, too, but for what is beyond the list.
    const refusals: (string | undefined)[] = [];
    for (const schema of [definition.inputSchema, definition.outputSchema, operation.inputCheck]) {
      await turn();
      if (schema !== undefined) refusals.push(schemaRefusal(schema, list));
    }
    if (refusals.includes(BEYOND_LIST)) {
      tell([...path, "input"], BEYOND_LIST);
      continue;
    }
    const find = (other: string): Tool | undefined => tools.get(other);
    const { outputSchema } = definition;
    const ofCalls = compileRules({ written: operation, document, outputSchema, find, path, tell });
    try {
      const tool = buildTool(document, definition, ofCalls, createHttpConnector(system, compiled));
      tools.set(name, operation.tests.length === 0 ? tool : { ...tool, tests: operationTests(system, compiled, tool, operation.tests) });
    } catch (error) {
      tell([...path, "input"], error instanceof Error ? error.message : "is wrong");
    }
  }
  const close = async (): Promise<void> => void (await Promise.all([agent.close(), certificates?.close()]));
  if (issues.length > 0) {
    void close();
    return { kind: "degraded", issues };
  }
  return { kind: "tools", tools: [...tools.values()], unlisted: [...unlisted], close };
};

/** Systems over HTTP. */
export const httpConnector: ConnectorKind<HttpDocument> = {
  compile: compileHttp,
  cutsAnswers: true,
  hostsOf: ({ baseUrl, auth }) => [baseUrl, ...(auth.type === "oauth2_client" ? [auth.tokenUrl] : [])],
  secretsOf: ({ auth }) =>
    Object.entries(auth).flatMap(([member, value]) => (credentialMembers.has(member) ? [{ member, uri: String(value) }] : [])),
  serversOf: () => [],
  registryName: "external",
};
