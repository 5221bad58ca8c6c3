import type * as topic from "#contract/tools.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  crudHealth: {},
  execute: {
    repeat: {
      bodies: [
        { tool: "people.demo.list_employees", arguments: { limit: 1 } },
        { tool: "people.demo.list_employees", arguments: { limit: 2 } },
      ],
    },
    agent: { gets: "decided" },
  },
  explainTool: { read: { query: { tool: "system.health" } }, agent: { gets: "decided" } },
  listSecretUses: {},
  listTools: { agent: { gets: "decided" } },
  listViewTools: { read: { params: { view: "workflows" } }, agent: { gets: "decided", params: { view: "people" } } },
  toolRpc: {
    repeat: {
      bodies: [
        { jsonrpc: "2.0", id: "1", method: "tools/call", params: { name: "people.demo.list_employees", arguments: { limit: 1 } } },
        { jsonrpc: "2.0", id: "1", method: "tools/call", params: { name: "people.demo.list_employees", arguments: { limit: 2 } } },
      ],
    },
    agent: {
      gets: "decided",
      body: { jsonrpc: "2.0", id: "1", method: "tools/call", params: { name: "people.demo.list_employees", arguments: { limit: 1 } } },
    },
  },
  uiConfig: {},
  viewToolRpc: {
    repeat: {
      params: { view: "people" },
      bodies: [
        { jsonrpc: "2.0", id: "1", method: "tools/call", params: { name: "people.demo.list_employees", arguments: { limit: 1 } } },
        { jsonrpc: "2.0", id: "1", method: "tools/call", params: { name: "people.demo.list_employees", arguments: { limit: 2 } } },
      ],
    },
    agent: {
      gets: "decided",
      params: { view: "people" },
      body: { jsonrpc: "2.0", id: "1", method: "tools/call", params: { name: "people.demo.list_employees", arguments: { limit: 1 } } },
    },
  },
};
