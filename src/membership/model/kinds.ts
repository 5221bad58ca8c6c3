import { z } from "zod";
import { maskKinds } from "#contract/data-scope.ts";
import { identityKinds as identities } from "#contract/facts.ts";
import { anyMembers, recordOf } from "#contract/json-members.ts";
import { secretReference } from "#contract/secret-reference.ts";
import { nodeId, prose as proseOf, timestamp } from "#contract/ids.ts";

/** The node and edge kinds of the graph, as data: what each may hold and which two may be joined. Everything else reads this; which kinds act the decision point reads too (`facts.ts` of the contract). */

export interface NodeKindRow {
  readonly props: z.ZodType<Record<string, unknown>>;
  /** May have no tenant: then every tenant sees it. */
  readonly shared?: true;
  /** States that carry rights are the first; default `active suspended disabled`. */
  readonly states?: readonly string[];
  /** Props that a search may find. */
  readonly searched?: readonly string[];
}

const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((value) => !/\p{Cc}/u.test(value), "holds a control character");
const prose = (max: number) => proseOf(1, max);
const mfaLevel = z.enum(["none", "strong", "phishing_resistant"]).optional();
const attributes = recordOf(text(64), z.string().max(256)).refine((held) => Object.keys(held).length <= 32, "at most 32 attributes");
const schema = anyMembers;
const discovered = {
  last_discovered_at: timestamp.optional(),
  discovered_by: text(200).optional(),
  origin_hash: text(128).optional(),
};
const definition = { definition_digest: text(128).optional(), ...discovered };
/** As JSON text escapes them: NUL and half a surrogate pair, which no database keeps. */
const UNFIT = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;
const KIB = 1024;
const closed = <T extends z.ZodRawShape>(shape: T, maxKib = 16): z.ZodType<Record<string, unknown>> =>
  z
    .strictObject(shape)
    .refine((held) => !UNFIT.test(JSON.stringify(held)), "holds NUL or half a surrogate pair")
    .refine((held) => Buffer.byteLength(JSON.stringify(held)) <= maxKib * KIB, `more than ${maxKib} KiB of props`) as unknown as z.ZodType<
    Record<string, unknown>
  >;

const life = ["active", "suspended", "disabled"] as const;
const approval = ["approved", "proposed", "quarantined", "rejected", "retired"] as const;

const nodeKinds = {
  Person: {
    searched: ["email"],
    props: closed({
      email: text(254).optional(),
      given_name: text(128).optional(),
      family_name: text(128).optional(),
      employee_id: text(64).optional(),
      mfa_level: mfaLevel,
      attributes: attributes.optional(),
    }),
  },
  Account: {
    searched: ["login"],
    props: closed({ login: text(254), system: text(64), mfa_level: mfaLevel, last_seen_at: timestamp.optional() }),
  },
  AIAgent: {
    props: closed({
      owner_id: nodeId.optional(),
      trust_score: z.number().min(0).max(1).optional(),
      version: text(64).optional(),
      model: text(128).optional(),
      client_id: text(200).optional(),
      mfa_level: mfaLevel,
    }),
  },
  Service: {
    shared: true,
    props: closed({ client_id: text(200), type: z.enum(["backend", "workload"]), mfa_level: mfaLevel }),
  },
  MCPService: {
    shared: true,
    props: closed({
      version: text(64).optional(),
      description: prose(2000).optional(),
      service_type: z.enum(["mcp", "internal", "external"]),
      provider: text(128).optional(),
      is_backend: z.boolean().optional(),
      supported_protocols: z.array(text(32)).max(4).optional(),
      preferred_protocol: text(32).optional(),
      url: text(2048).optional(),
      sse_url: text(2048).optional(),
      websocket_url: text(2048).optional(),
      /** Name of a command of the configuration. */
      command_ref: text(128).optional(),
      registry_name: text(256).optional(),
      credential_ref: secretReference.optional(),
      owner_id: nodeId.optional(),
      trust: z.enum(["operator", "pinned"]),
      managed_by: z.enum(["crud", "registry"]),
    }),
  },
  Group: {
    props: closed({
      description: text(2000).optional(),
      /** Files, directories and claims may change who is in it although it leads to a role. Set by who may do `roles/assign`. */
      provisions_roles: z.boolean().optional(),
    }),
  },
  BusinessRole: { shared: true, props: closed({ description: text(2000).optional(), risk: text(64).optional() }) },
  Location: { shared: true, props: closed({ country: text(64).optional(), site: text(128).optional() }) },
  Tenant: { props: closed({ hosts: z.array(text(253)).max(100).optional() }) },
  Resource: {
    props: closed({
      type: text(64),
      owner_id: nodeId.optional(),
      sensitivity: text(64).optional(),
      restricted: z.boolean().optional(),
      attributes: attributes.optional(),
    }),
  },
  RTR: { shared: true, props: closed({ resource_type: text(64), actions: z.array(text(128)).max(100) }) },
  Policy: { shared: true, props: closed({ rev: text(64), uri: text(1024) }) },
  SaaSApp: { shared: true, props: closed({ audience: z.url().max(512), scopes: z.array(text(128)).max(200) }) },
  Tool: {
    shared: true,
    states: approval,
    props: closed(
      {
        version: text(64).optional(),
        service_id: nodeId.optional(),
        title: text(256).optional(),
        description: prose(4000).optional(),
        input_schema: schema.optional(),
        output_schema: schema.optional(),
        annotations: schema.optional(),
        schema_hash: text(128).optional(),
        risk: text(64).optional(),
        /** Calls need a fresh strong sign-in. */
        mfa: z.boolean().optional(),
        /** Type of the rows it returns: which data scope rule filters and masks them. */
        resource_type: text(64).optional(),
        /** Columns of those rows that a call hides unless an action on their type is permitted. */
        masks: z
          .array(
            z.strictObject({
              column: text(128),
              kind: z.enum(maskKinds),
              unless_allowed: text(128).optional(),
            }),
          )
          .max(200)
          .optional(),
        ...definition,
        // Two schemas of 64 KiB each.
      },
      160,
    ),
  },
  MCPResource: {
    shared: true,
    states: approval,
    props: closed({
      uri: text(2048),
      description: prose(4000).optional(),
      mime_type: text(128).optional(),
      size: z.number().int().min(0).optional(),
      etag: text(256).optional(),
      last_modified: timestamp.optional(),
      annotations: schema.optional(),
      ...definition,
    }),
  },
  MCPPrompt: {
    shared: true,
    states: approval,
    props: closed(
      {
        description: prose(4000).optional(),
        version: text(64),
        arguments: z.array(schema).max(100),
        content: z.string().max(8192).optional(),
        ...definition,
      },
      64,
    ),
  },
  MCPPolicyBinding: {
    props: closed({
      action: z.literal("tools/call"),
      priority: z.number().int().min(0).max(1000),
      enabled: z.boolean(),
      params: schema.optional(),
    }),
  },
} as const satisfies Record<string, NodeKindRow>;

export type NodeKind = keyof typeof nodeKinds;
const rows: Readonly<Record<string, NodeKindRow>> = nodeKinds;

export const nodeKindNames = Object.keys(nodeKinds) as readonly NodeKind[];
export const identityKinds: readonly NodeKind[] = identities;
export const isNodeKind = (word: string): word is NodeKind => Object.hasOwn(nodeKinds, word);
export const nodeKindRow = (kind: NodeKind): NodeKindRow => rows[kind] ?? { props: z.never() };
/** Names of the props that a node or an edge of a kind may hold. */
export const propNames = ({ props }: { readonly props: z.ZodType }): readonly string[] =>
  props instanceof z.ZodObject ? Object.keys(props.shape) : [];
export const statesOf = (kind: NodeKind): readonly string[] => nodeKindRow(kind).states ?? life;

/** Words that `node_type` takes: each kind, and `Identity` for the five identity kinds. */
export const nodeLabels: readonly string[] = ["Identity", ...nodeKindNames];
export const kindsOfLabel = (label: string): readonly NodeKind[] =>
  label === "Identity" ? identityKinds : isNodeKind(label) ? [label] : [];
export const labelsOfKind = (kind: string): readonly string[] =>
  identityKinds.some((known) => known === kind) ? [kind, "Identity"] : [kind];

export interface EdgeKindRow {
  /** Legal pairs: any of the first to any of the second. */
  readonly pairs: readonly (readonly [from: readonly NodeKind[], to: readonly NodeKind[]])[];
  readonly props: z.ZodType<Record<string, unknown>>;
  /** No path of such edges may lead back; `depth` bounds how deep they nest. */
  readonly acyclic?: true;
  readonly depth?: number;
  /** Several between the same two, told apart by `discr`. */
  readonly many?: true;
  /** Both ends are of one tenant, or both shared: what provides owns what it provides. */
  readonly sameTenant?: true;
  /** A tenant may let it begin at a shared identity: it says nothing of what that identity may do. */
  readonly fromShared?: true;
}

const none = closed({});
const level = z.enum(["primary", "deputy"]);
const actors: readonly NodeKind[] = [...identityKinds, "Group", "BusinessRole"];
const granted = closed({ actions: z.array(text(128)).max(100).optional() });

const edgeKinds = {
  BELONGS_TO: { pairs: [[["Person", "AIAgent", "Service"], ["Account"]]], props: none },
  MEMBER_OF: {
    pairs: [
      [["Account"], ["Group", "BusinessRole", "Tenant"]],
      [["Group"], ["Group", "BusinessRole", "Tenant"]],
      [["BusinessRole"], ["Tenant"]],
      [
        ["Person", "AIAgent", "Service"],
        ["Group", "BusinessRole"],
      ],
    ],
    props: none,
    acyclic: true,
    depth: 8,
  },
  DELEGATES_TO: { pairs: [[["Person", "Service", "AIAgent"], ["AIAgent"]]], props: none, many: true },
  GRANTS_ACCESS: {
    pairs: [
      [
        [...actors, "RTR", "Policy"],
        ["Resource", "Tool", "SaaSApp", "MCPService"],
      ],
    ],
    props: granted,
  },
  HAS_RTR: { pairs: [[actors, ["RTR"]]], props: none },
  HAS_RTR_AT: { pairs: [[actors, ["Resource", "Location"]]], props: none, many: true },
  LOCATED_IN: { pairs: [[["Person", "Account", "Group", "Resource", "Location"], ["Location"]]], props: none, acyclic: true },
  USES_TENANT: { pairs: [[["Service", "MCPService", "SaaSApp", "AIAgent"], ["Tenant"]]], props: none, fromShared: true },
  POLICY_REF: {
    pairs: [
      [
        ["Resource", "Tool", "SaaSApp", "Tenant", "MCPService", "MCPResource", "MCPPrompt"],
        ["Policy", "MCPPolicyBinding"],
      ],
      [["MCPPolicyBinding"], ["Policy"]],
    ],
    props: none,
    fromShared: true,
  },
  PROVIDES: { pairs: [[["MCPService", "Service"], ["Tool"]]], props: none, sameTenant: true },
  PROVIDES_RESOURCE: { pairs: [[["MCPService"], ["MCPResource"]]], props: none, sameTenant: true },
  OFFERS_PROMPT: { pairs: [[["MCPService"], ["MCPPrompt"]]], props: none, sameTenant: true },
  HAS_CAPABILITY: { pairs: [[["AIAgent", "Service"], ["Tool"]]], props: closed({ granted_by: nodeId }) },
  CONTROLLED_BY: {
    pairs: [
      [
        ["AIAgent", "Service"],
        ["Person", "Group"],
      ],
    ],
    props: closed({ level }),
  },
  OWNS_RESOURCE: {
    pairs: [
      [
        ["Person", "Group", "Service"],
        ["Resource", "Tool", "MCPService", "SaaSApp"],
      ],
    ],
    props: closed({ level }),
  },
  REQUIRES: { pairs: [[["Tool"], ["SaaSApp"]]], props: closed({ scopes: z.array(text(128)).max(200).optional() }) },
} as const satisfies Record<string, EdgeKindRow>;

export type EdgeKind = keyof typeof edgeKinds;
const edgeRows: Readonly<Record<string, EdgeKindRow>> = edgeKinds;
export const edgeKindNames = Object.keys(edgeKinds) as readonly EdgeKind[];
export const isEdgeKind = (word: string): word is EdgeKind => Object.hasOwn(edgeKinds, word);
export const edgeKindRow = (kind: EdgeKind): EdgeKindRow => edgeRows[kind] ?? { pairs: [], props: z.never() };
export const mayJoin = (kind: EdgeKind, from: NodeKind, to: NodeKind): boolean =>
  edgeKindRow(kind).pairs.some(([sources, targets]) => sources.includes(from) && targets.includes(to));
