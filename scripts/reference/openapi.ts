import type { z } from "zod";
import type { Auth, Endpoint, ServiceName } from "#contract/endpoint.ts";
import { endpointTable, type EndpointRow } from "#contract/endpoints.ts";
import { problemsOf, statusOf } from "#contract/endpoint-problems.ts";
import { problemCodes, type ProblemCode } from "#contract/problem.ts";
import { jsonSchemaOf, type JsonSchema } from "./json-schema.ts";

const ports: Readonly<Record<ServiceName, number>> = { gateway: 8080, pdp: 8082, crud: 8083, membership: 8084, secrets: 8085 };

const problemContent = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };

/** Refusals by status: problems, and where the handler answers in a protocol of its own, that one's errors. */
const refusalsOf = (endpoint: Endpoint): Record<string, JsonSchema> => {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of problemsOf(endpoint)) {
    const status = statusOf(endpoint, code);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const own = new Set(endpoint.ownBody?.statuses);
  const ownContent = own.size === 0 ? {} : { "application/json": { schema: jsonSchemaOf(endpoint.reply, "output") } };
  return Object.fromEntries(
    [...new Set([...byStatus.keys(), ...own])]
      .toSorted((one, other) => one - other)
      .map((status) => {
        const codes = byStatus.get(status) ?? [];
        const said = codes.toSorted().map((code) => `\`${code}\`: ${problemCodes[code].title}.`);
        if (own.has(status)) said.push("Or an error of the protocol itself.");
        const content = { ...(codes.length === 0 ? {} : problemContent), ...(own.has(status) ? ownContent : {}) };
        return [String(status), { description: said.join(" "), content }];
      }),
  );
};

const parametersOf = (schema: z.ZodType | undefined, place: "path" | "query"): JsonSchema[] => {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = jsonSchemaOf(schema, "input") as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, one]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: one,
  }));
};

const headersOf = (headers: Endpoint["headers"]): JsonSchema[] =>
  Object.entries(headers ?? {}).map(([name, schema]) => ({
    name,
    in: "header",
    required: !schema.safeParse(undefined).success,
    schema: jsonSchemaOf(schema, "input"),
  }));

/** What comes when it went well. A status that also stands for a refusal may bring either. */
const repliesOf = (endpoint: Endpoint, refusals: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> => {
  const schema = jsonSchemaOf(endpoint.reply, "output");
  const content = {
    "application/json": { schema },
    // A document is read before it is held against a schema.
    ...Object.fromEntries(
      (endpoint.moreMedia ?? []).map((media) => [media, { schema: media === "application/yaml" ? {} : { type: "string" } }]),
    ),
  };
  return Object.fromEntries(
    [endpoint.status ?? 200, ...(endpoint.moreStatuses ?? [])].map((status) => {
      const refusal = refusals[String(status)] as { readonly description: string; readonly content: object } | undefined;
      if (status === 204 || status === 304) return [String(status), { description: status === 204 ? "Done." : "As it was." }];
      if (refusal === undefined) return [String(status), { description: "Done.", content }];
      return [String(status), { description: `The reply, or ${refusal.description}`, content: { ...content, ...refusal.content } }];
    }),
  );
};

const security: Readonly<Record<Auth, readonly JsonSchema[]>> = {
  none: [],
  bearer: [{ bearer: [] }],
  session: [{ session: [] }],
  "session+bearer": [{ session: [] }, { bearer: [] }],
};

const operationOf = ({ name, topic, endpoint }: EndpointRow): JsonSchema => {
  const parameters = [...parametersOf(endpoint.params, "path"), ...parametersOf(endpoint.query, "query"), ...headersOf(endpoint.headers)];
  const refusals = refusalsOf(endpoint);
  return {
    operationId: name,
    summary: endpoint.summary,
    tags: [topic],
    security: security[endpoint.auth],
    ...(endpoint.scope === undefined || endpoint.scope.length === 0 ? {} : { "x-scopes": endpoint.scope }),
    ...(endpoint.decision === undefined ? {} : { "x-decision": endpoint.decision }),
    ...(endpoint.agents === undefined ? {} : { "x-agents": endpoint.agents }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(endpoint.textBody === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: Object.fromEntries(endpoint.textBody.map((media) => [media, { schema: { type: "string" } }])),
          },
        }),
    ...(endpoint.body === undefined
      ? {}
      : {
          requestBody: {
            required: !endpoint.body.safeParse(undefined).success,
            content: { "application/json": { schema: jsonSchemaOf(endpoint.body, "input") } },
          },
        }),
    responses: { ...refusals, ...repliesOf(endpoint, refusals) },
  };
};

const problemSchema = (codes: readonly ProblemCode[]): JsonSchema => ({
  type: "object",
  required: ["type", "title", "status", "code", "correlation_id"],
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
    code: { type: "string", enum: [...codes].toSorted() },
    correlation_id: { type: "string" },
    decision_id: { type: "string" },
    errors: {
      type: "array",
      items: {
        type: "object",
        required: ["path", "message"],
        properties: {
          path: { type: "string", description: "JSON Pointer into the body, query.<name>, header.<name>, or a variable." },
          message: { type: "string" },
          code: { type: "string" },
          file: { type: "string" },
          line: { type: "integer" },
          column: { type: "integer" },
          hint: { type: "string" },
        },
      },
    },
  },
});

/** The OpenAPI 3.1 document of one service. */
const documentOf = (service: ServiceName, rows: readonly EndpointRow[]): JsonSchema => {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const row of rows) (paths[row.endpoint.path] ??= {})[row.endpoint.method.toLowerCase()] = operationOf(row);
  return {
    openapi: "3.1.0",
    info: { title: `Sallyport: ${service}`, version: "0.1.0", license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: `http://localhost:${ports[service]}` }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "__Host-Http-sid",
          description: "Unsafe methods also send X-CSRF-Token, X-CSRFToken and X-Requested-With.",
        },
      },
      schemas: { Problem: problemSchema([...new Set(rows.flatMap(({ endpoint }) => problemsOf(endpoint)))]) },
    },
  };
};

/** One document a service, for two services may serve the same path. File name to text. */
export const openApiFiles = (): ReadonlyMap<string, string> =>
  new Map(
    Object.keys(ports).map((name) => {
      const service = name as ServiceName;
      const rows = endpointTable.filter(({ endpoint }) => endpoint.service === service);
      return [`openapi/${service}.json`, `${JSON.stringify(documentOf(service, rows), undefined, 2)}\n`];
    }),
  );
