import type { z } from "zod";
import type { Auth, Endpoint, ServiceName } from "#contract/endpoint.ts";
import { endpointTable, type EndpointRow } from "#contract/endpoints.ts";
import { problemCodes, type ProblemCode } from "#contract/problem.ts";
import { jsonSchemaOf, type JsonSchema } from "./json-schema.ts";

const ports: Readonly<Record<ServiceName, number>> = { gateway: 8080, pdp: 8082, crud: 8083, membership: 8084, secrets: 8085 };

const byAuth: Readonly<Record<Auth, readonly ProblemCode[]>> = {
  none: [],
  bearer: ["unauthenticated", "invalid_token"],
  session: ["unauthenticated", "csrf_failed", "session_store_unavailable"],
  "session+bearer": ["unauthenticated", "invalid_token", "csrf_failed", "session_store_unavailable"],
};
const withBody: readonly ProblemCode[] = [
  "body_unreadable",
  "duplicate_member",
  "body_too_large",
  "unsupported_media_type",
  "invalid_body",
  "unknown_member",
];
const withQuery: readonly ProblemCode[] = ["ambiguous_query", "unprocessable", "unknown_parameter"];
const withDecision: readonly ProblemCode[] = ["access_denied", "step_up_required", "decision_unavailable"];

const codesOf = (endpoint: Endpoint): readonly ProblemCode[] => [
  ...new Set([
    "internal" as const,
    ...byAuth[endpoint.auth],
    ...(endpoint.scope === undefined || endpoint.scope.length === 0 ? [] : (["insufficient_scope"] as const)),
    ...(endpoint.decision === undefined ? [] : withDecision),
    ...(endpoint.query === undefined ? [] : withQuery),
    ...(endpoint.body === undefined ? [] : withBody),
    ...(endpoint.problems ?? []),
  ]),
];

const refusalsOf = (endpoint: Endpoint): Record<string, JsonSchema> => {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of codesOf(endpoint)) {
    const status = problemCodes[code].status;
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus]
      .toSorted(([one], [other]) => one - other)
      .map(([status, codes]) => [
        String(status),
        {
          description: codes
            .toSorted()
            .map((code) => `\`${code}\`: ${problemCodes[code].title}.`)
            .join(" "),
          content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
        },
      ]),
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

const security: Readonly<Record<Auth, readonly JsonSchema[]>> = {
  none: [],
  bearer: [{ bearer: [] }],
  session: [{ session: [] }],
  "session+bearer": [{ session: [] }, { bearer: [] }],
};

const operationOf = ({ name, topic, endpoint }: EndpointRow): JsonSchema => {
  const parameters = [...parametersOf(endpoint.params, "path"), ...parametersOf(endpoint.query, "query")];
  const status = String(endpoint.status ?? 200);
  return {
    operationId: name,
    summary: endpoint.summary,
    tags: [topic],
    security: security[endpoint.auth],
    ...(endpoint.scope === undefined || endpoint.scope.length === 0 ? {} : { "x-scopes": endpoint.scope }),
    ...(endpoint.decision === undefined ? {} : { "x-decision": endpoint.decision }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(endpoint.body === undefined
      ? {}
      : {
          requestBody: {
            required: !endpoint.body.safeParse(undefined).success,
            content: { "application/json": { schema: jsonSchemaOf(endpoint.body, "input") } },
          },
        }),
    responses: {
      [status]:
        status === "204"
          ? { description: "Done." }
          : { description: "Done.", content: { "application/json": { schema: jsonSchemaOf(endpoint.reply, "output") } } },
      ...refusalsOf(endpoint),
    },
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
      schemas: { Problem: problemSchema([...new Set(rows.flatMap(({ endpoint }) => codesOf(endpoint)))]) },
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
