import type { Issue } from "#contract/problem.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { MembershipParts } from "#crud/model/ask-membership.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { AllowedServers } from "#crud/servers/allowed-servers.ts";
import type { NetworkCeiling } from "#crud/upstream/network-rules.ts";
import type { SystemFile } from "#crud/systems/load-systems.ts";
import type { Placeholders } from "#crud/systems/placeholders.ts";
import type { McpDocument, SystemDocument } from "#crud/systems/system-document.ts";

export interface CompileParts {
  readonly placeholders: Placeholders;
  readonly internalPorts: ReadonlySet<number>;
  readonly ceiling: NetworkCeiling;
  /** Upstreams on other machines are reached over TLS alone. */
  readonly requiresTls: boolean;
  readonly metrics: Metrics;
  readonly now: () => Date;
  readonly version: string;
}

export interface SystemParts extends CompileParts, MembershipParts {
  /** False: the API of Sallyport gives no tools. */
  readonly withLoopback: boolean;
  /** What may be started. */
  readonly servers: Pick<AllowedServers, "check" | "launch">;
}

export type Compiled =
  | {
      readonly kind: "tools";
      readonly tools: readonly Tool[];
      /** Networks that its addresses lie in and its document does not allow yet: calls are refused. */
      readonly unlisted?: readonly string[];
      readonly close: () => Promise<void>;
    }
  | { readonly kind: "off"; readonly name: string }
  | { readonly kind: "degraded"; readonly issues: readonly Issue[] };

/** What a file becomes: tools at once, an external system that is asked for its tools, nothing here, or its issues. */
export type CompiledSystem = Compiled | { readonly kind: "external"; readonly document: McpDocument };

/** One kind of connector: how systems of a `kind` are reached. The shape of its document is in `documentKinds`. */
export interface ConnectorKind<Document extends SystemDocument> {
  compile(file: SystemFile & { readonly document: Document }, parts: SystemParts): CompiledSystem | Promise<CompiledSystem>;
  /** Whether answers that are too long can be cut. */
  readonly cutsAnswers: boolean;
  /** Where a system leads to, as publishing shows it. */
  hostsOf(document: Document): readonly string[];
  /** Credentials that it names: the member of `auth`, and the secret URI. */
  secretsOf(document: Document): readonly { readonly member: string; readonly uri: string }[];
  /** Names of the operator's servers that it starts on the machine. */
  serversOf(document: Document): readonly string[];
  /** What the registry calls it. A server of MCP is registered before its tools are known. */
  readonly registryName: "external" | "mcp";
}
