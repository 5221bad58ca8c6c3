import { z } from "zod";
import { instanceName, providerName } from "#contract/configs.ts";
import { secretReference } from "#contract/secret-reference.ts";
import { basePattern, externalBasePattern } from "#crud/model/names.ts";
import { boundedList } from "#parsing/bounded-list.ts";
import { boundedMap } from "#parsing/bounded-map.ts";
import { said } from "#parsing/said.ts";
import { httpOperation } from "./http-operation.ts";
import {
  text,
  titled,
  identity,
  usd,
  timeout,
  defaults,
  annotations,
  annotationsSaid,
  price,
  stepUp,
  title,
  described,
  common,
} from "./operation-members.ts";

/** The shape of `config/systems/<provider>.<instance>.yaml`. Strict: an unknown key is an issue, a wrong word too. */

const loopbackOperation = z.strictObject({
  ...common,
  request: said(
    z.strictObject({ endpoint: said(text(1, 64), "Name of an endpoint of this deployment.", "search_identities") }),
    "What is called, as the caller.",
    { endpoint: "search_identities" },
  ),
});

const override = z.strictObject({
  base: said(z.string().regex(externalBasePattern).optional(), "The last part of its name here.", "search"),
  title,
  description: said(described.optional(), "What it does, instead of what the server says.", "Searches the notes of your tenant."),
  cost_usd: said(usd.optional(), price, 0.001),
  stepUp: stepUp.optional(),
  timeout: said(timeout.optional(), "As in `defaults`.", "PT30S"),
  annotations: said(annotations.optional(), annotationsSaid, { readOnlyHint: true }),
});

const head = {
  apiVersion: said(z.literal("systems/v1"), "The version of this format.", "systems/v1"),
  provider: said(
    providerName,
    "First part of its tools' names; not `workflow`, `system` or `tools`. With the instance it is the file's name.",
    "people",
  ),
  instance: said(instanceName, "Second part of its tools' names.", "demo"),
  env: said(z.enum(["dev", "test", "prod"]).optional(), "Which of its environments it is; shown with each tool.", "prod"),
  title: said(titled, "What people read as its name.", "People directory"),
  owner: said(identity, "Who answers for it: an id of the graph.", "group:hr"),
  tenants: said(boundedList(identity, 200).min(1).optional(), "Tenants that it is there for; without it, all.", ["tenant:example"]),
};
const kind = <T extends string>(name: T, description: string) => said(z.literal(name), description, name);

const auth = z.discriminatedUnion(
  "type",
  [
    z.strictObject({ type: said(z.literal("none"), "How Sallyport shows who it is.", "none") }),
    z.strictObject({
      type: said(z.literal("bearer"), "How Sallyport shows who it is.", "bearer"),
      token: said(secretReference, "Secret URI of the token.", "yaml://secret/people/demo#token"),
    }),
    z.strictObject({
      type: said(z.literal("api_key"), "How Sallyport shows who it is.", "api_key"),
      in: said(z.enum(["header", "query"]), "Where the key goes.", "header"),
      name: said(z.string().regex(/^[A-Za-z][A-Za-z0-9-_]{0,60}$/), "Name of the header, or of the member of the query.", "X-Api-Key"),
      value: said(secretReference, "Secret URI of the key.", "yaml://secret/people/demo#api_key"),
    }),
    z.strictObject({
      type: said(z.literal("basic"), "How Sallyport shows who it is.", "basic"),
      username: said(secretReference, "Secret URI of the name.", "yaml://secret/people/demo#user"),
      password: said(secretReference, "Secret URI of the password.", "yaml://secret/people/demo#password"),
    }),
    z.strictObject({
      type: said(z.literal("mtls"), "How Sallyport shows who it is.", "mtls"),
      cert: said(
        secretReference,
        "Secret URI of the certificate that Sallyport shows, PEM, with those between it and its authority.",
        "yaml://secret/people/demo#cert",
      ),
      key: said(secretReference, "Secret URI of its private key, PEM without a passphrase.", "yaml://secret/people/demo#key"),
      ca: said(
        secretReference.optional(),
        "Secret URI of the authorities that the system's own certificate may be of, PEM, in place of the public ones.",
        "yaml://secret/people/demo#ca",
      ),
    }),
    z.strictObject({
      type: said(z.literal("oauth2_client"), "How Sallyport shows who it is.", "oauth2_client"),
      tokenUrl: said(
        z.string(),
        "Where an access token is had by client credentials; it is kept until half a minute before its end. `network.allow` holds for it too.",
        "https://login.people.example/oauth2/token",
      ),
      clientId: said(secretReference, "Secret URI of the client's id.", "yaml://secret/people/demo#client_id"),
      clientSecret: said(secretReference, "Secret URI of the client's secret.", "yaml://secret/people/demo#client_secret"),
      scopes: said(
        z
          .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, "is no scope"))
          .max(50)
          .default([]),
        "Scopes that are asked for.",
        ["people.read"],
      ),
    }),
  ],
  { error: "must be none, bearer, api_key, basic, mtls or oauth2_client; token_exchange is not available" },
);
/** Members of `auth` that are secret URIs. */
export const credentialMembers: ReadonlySet<string> = new Set([
  "token",
  "value",
  "username",
  "password",
  "cert",
  "key",
  "ca",
  "clientId",
  "clientSecret",
]);

const operations = <T extends z.ZodType>(operation: T, example: unknown) =>
  said(
    z
      .record(z.string().regex(basePattern, "must be [a-z][a-z0-9_-]*"), operation)
      .refine((map) => Object.keys(map).length > 0, "needs an operation")
      .meta({ minProperties: 1 }),
    "Its tools, by the last part of their names; a whole name has at most 64 characters.",
    example,
  );

const httpDocument = z.strictObject({
  ...head,
  kind: kind("http", "Operations over HTTP."),
  baseUrl: said(
    z.string(),
    "What paths stand below: scheme, host and port, without user, query and fragment; `${SETTING}` stands for a setting. In production https, unless on loopback.",
    "https://people.example/api",
  ),
  network: said(
    z
      .strictObject({
        allow: said(
          boundedList(z.string(), 100).default([]),
          "Networks (CIDR) that may be dialled though they are not public, within `TOOLS_NETWORK_CEILING`.",
          ["10.1.0.0/16"],
        ),
        redirects: said(
          z.enum(["none", "same_origin"]).default("none"),
          "Which redirects of a GET are followed: none, or at most three within the scheme, host and port of `baseUrl`.",
          "same_origin",
        ),
      })
      .prefault({}),
    "Where it may lead to.",
    { allow: ["10.1.0.0/16"] },
  ),
  requires: said(
    z.strictObject({ app: said(identity, "The application of the graph that a caller needs an account of.", "saas:hr") }).optional(),
    "What a caller needs beside the right to the tool.",
    { app: "saas:hr" },
  ),
  auth: said(auth.prefault({ type: "none" }), "The system's own credential, by secret URI; never written here.", {
    type: "bearer",
    token: "yaml://secret/people/demo#token",
  }),
  defaults,
  operations: operations(httpOperation, {
    now: { description: "Tells what time it is.", request: { method: "GET", path: "/now" }, dataScope: "none" },
  }),
});

const loopbackDocument = z.strictObject({
  ...head,
  kind: kind("loopback", "Endpoints of this deployment, always as the person who calls."),
  defaults,
  operations: operations(loopbackOperation, {
    search_identities: { description: "Searches the identity graph.", request: { endpoint: "search_identities" }, dataScope: "none" },
  }),
});

/** Each is matched against every tool that the server lists. */
const patterns = boundedList(text(1, 128), 200);

const mcpDocument = z.strictObject({
  ...head,
  kind: kind("mcp", "Tools of an MCP server."),
  transport: said(
    z.strictObject({
      type: said(z.literal("stdio", { error: "only stdio is available" }), "A process of this machine.", "stdio"),
      command: said(text(1, 200), "A server of the operator's `servers.yaml`, by its name there.", "mcp-server-memory"),
      args: said(
        z.array(z.string().max(1000)).max(50).default([]),
        "Its arguments, as far as the entry lets a system add any; `${TENANT_FOLDER}` is a folder of its own.",
        ["--root", "${TENANT_FOLDER}"],
      ),
      env: said(
        boundedMap(z.string().regex(/^[A-Z][A-Z0-9_]{0,60}$/), z.string().max(2000), 100).default({}),
        "Variables that it gets, as far as the entry lets a system choose them; no others of this program.",
        { MEMORY_FILE_PATH: "${TENANT_FOLDER}/memory.jsonl" },
      ),
    }),
    "How the server is reached.",
    { type: "stdio", command: "mcp-server-memory" },
  ),
  tools: said(
    z
      .strictObject({
        include: said(patterns.default(["*"]), "Tools that are taken, by the server's names; `*` stands for any text.", ["read_*"]),
        exclude: said(patterns.default([]), "Of these, tools that are left out.", ["*_raw"]),
        overrides: said(z.record(z.string(), override).default({}), "What is said otherwise, by the server's name of the tool.", {
          search_nodes: { base: "search" },
        }),
      })
      .prefault({}),
    "Which of its tools are served, and what is said of them.",
    { include: ["read_*"] },
  ),
  isolation: said(
    z.enum(["shared", "per_tenant", "per_principal"]).default("per_tenant"),
    "Who shares a process and its folder.",
    "per_principal",
  ),
  interaction: said(
    z
      .strictObject({
        elicitation: said(z.literal(false).default(false), "Questions of the server to the person: not available.", false),
        sampling: said(z.literal(false).default(false), "Questions of the server to the client's model: not available.", false),
      })
      .prefault({}),
    "What the server may ask of its client.",
    {},
  ),
  trustAnnotations: said(z.boolean().default(false), "Whether hints of the server count; else those of `overrides` alone.", true),
  quarantineNew: said(
    z.boolean().default(true),
    "Tools that were never seen wait for an approval; false takes their first definition for approved. A changed definition always waits.",
    false,
  ),
  defaults,
});

export type HttpDocument = z.output<typeof httpDocument>;
export type LoopbackDocument = z.output<typeof loopbackDocument>;
export type McpDocument = z.output<typeof mcpDocument>;
export type SystemDocument = HttpDocument | LoopbackDocument | McpDocument;

export const documentKinds = { http: httpDocument, loopback: loopbackDocument, mcp: mcpDocument } as const;
/** Named by the format, but without a connector here. */
export const plannedKinds: readonly string[] = ["sql", "static", "ldap", "scim"];

export type AuthRules = z.output<typeof auth>;
