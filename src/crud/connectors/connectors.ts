import { httpConnector } from "./compile-http.ts";
import { loopbackConnector } from "./compile-loopback.ts";
import { mcpConnector } from "./compile-mcp.ts";
import type { CompiledSystem, ConnectorKind, SystemParts } from "./connector-kind.ts";
import type { SystemFile } from "#crud/systems/load-systems.ts";
import type { SystemDocument } from "#crud/systems/system-document.ts";

type Kind = SystemDocument["kind"];

/** Every kind of connector, by the `kind` of its documents. */
const connectors: { readonly [Name in Kind]: ConnectorKind<Extract<SystemDocument, { readonly kind: Name }>> } = {
  http: httpConnector,
  loopback: loopbackConnector,
  mcp: mcpConnector,
};

/** The connector of a document; it takes documents of its kind alone. */
export const connectorOf = ({ kind }: { readonly kind: Kind }): ConnectorKind<SystemDocument> => connectors[kind];

/** What the registry calls a system of a kind; one that is not known is any external one. */
export const registryNameOf = (kind = ""): ConnectorKind<SystemDocument>["registryName"] =>
  Object.hasOwn(connectors, kind) ? connectors[kind as Kind].registryName : "external";

/** Turns a file that was read into what gives its tools; the same for a start and for whoever asks what a start would do. */
export const compileSystem = async (file: SystemFile, parts: SystemParts): Promise<CompiledSystem> => {
  const { document, yaml } = file;
  const connector = connectorOf(document);
  const message = "truncate is there for systems over http alone";
  return !connector.cutsAnswers && document.defaults.response.onExceed === "truncate"
    ? { kind: "degraded", issues: [yaml.issue(["defaults", "response", "onExceed"], message)] }
    : connector.compile(file, parts);
};
