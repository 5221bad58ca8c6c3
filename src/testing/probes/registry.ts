import type * as topic from "#contract/registry.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  affectedCapabilities: {
    about: [{ body: { tools: [{ tool_id: "{id}", definition_digest: null }] } }],
    attempts: [{ body: { tools: [{ tool_id: "acme.files.read", definition_digest: null }] } }],
  },
  deleteMcpService: {
    about: [{ params: { service_id: "{id}" }, query: { force: "true" } }],
    attempts: [{ params: { service_id: "mcp:acme.files" }, query: { force: "true" } }],
  },
  deleteMcpTool: {
    about: [{ params: { tool_id: "{id}" } }, { params: { tool_id: "{id}" }, query: { purge: "true" } }],
    attempts: [{ params: { tool_id: "acme.files.read" } }],
  },
  getMcpService: { read: { params: { service_id: "{service}" } }, about: [{ params: { service_id: "{id}" } }] },
  getMcpServiceByName: { read: { params: { name: "{service}" } }, about: [{ params: { name: "{id}" } }] },
  getMcpTool: { read: { params: { tool_id: "memory.demo.read_graph" } }, about: [{ params: { tool_id: "{id}" } }] },
  getMcpToolByName: { read: { params: { tool_name: "memory.demo.read_graph" } }, about: [{ params: { tool_name: "{id}" } }] },
  listMcpPrompts: { read: { params: { service_id: "{service}" } }, about: [{ params: { service_id: "{id}" } }] },
  listMcpResources: { read: { params: { service_id: "{service}" } }, about: [{ params: { service_id: "{id}" } }] },
  listMcpServices: { about: [{ query: { search: "{id}" } }, { query: { provider: "{id}" } }] },
  listMcpTools: { read: { params: { service_id: "{service}" } }, about: [{ params: { service_id: "{id}" } }] },
  putMcpPrompts: {
    about: [{ params: { service_id: "{id}" }, body: { name: "x" } }],
    attempts: [{ params: { service_id: "mcp:acme.files" }, body: { name: "ask" } }],
  },
  putMcpResources: {
    about: [{ params: { service_id: "{id}" }, body: { uri: "x:1" } }],
    attempts: [{ params: { service_id: "mcp:acme.files" }, body: { uri: "file:///x" } }],
  },
  putMcpTools: {
    about: [{ params: { service_id: "{id}" }, body: { name: "x" } }],
    attempts: [{ params: { service_id: "mcp:acme.files" }, body: { name: "read" } }],
  },
  registerMcpService: {
    about: [{ body: { name: "walled", service_type: "mcp", owner_id: "{id}" } }],
    attempts: [{ body: { name: "mine", service_type: "external" } }],
  },
  retireMcpTools: { about: [{ body: { tool_ids: ["{id}"] } }], attempts: [{ body: { tool_ids: ["acme.files.read"] } }] },
};
