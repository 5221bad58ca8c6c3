import type { z } from "zod";
import type { mcpServiceDraft, PublishedServer } from "#contract/registry.ts";

/**
 * A `server.json`, as servers are published by, as a service of the registry. Its name keeps its domain, so that two of one name are two;
 * headers, arguments and packages are how somebody may start or call it, which is configured where it is called.
 */
export const serviceOfPublished = (sent: PublishedServer): z.output<typeof mcpServiceDraft> => {
  const { name, title, description, version, remotes = [], packages = [], owner_id, credential_ref, reason } = sent;
  const urlOf = (type: string): string | undefined => remotes.find((remote) => remote.type === type)?.url;
  const types = [...remotes.map(({ type }) => type), ...packages.flatMap(({ transport }) => transport?.type ?? [])];
  return {
    name: name.replace("/", "."),
    registry_name: name,
    display_name: title,
    description,
    version,
    service_type: "external",
    supported_protocols: types.length === 0 ? undefined : [...new Set(types)],
    url: urlOf("streamable-http"),
    sse_url: urlOf("sse"),
    websocket_url: urlOf("websocket"),
    trust: "pinned",
    owner_id,
    credential_ref,
    reason,
  };
};
