import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluateMany } from "#contract/authzen.ts";
import { getDecision, listDecisions } from "#contract/decisions.ts";
import { delegationImpact, listDelegations } from "#contract/delegations.ts";
import { searchNodes } from "#contract/membership.ts";
import { getSession } from "#contract/session.ts";
import { explainTool, listTools, toolRpc, uiConfig } from "#contract/tools.ts";
import { throughGateway } from "./gateway-paths.ts";

for (const [endpoint, path] of [
  [getSession, "/auth/session"],
  [evaluateMany, "/access/v1/evaluations"],
  [listDecisions, "/api/pdp/decisions"],
  [getDecision, "/api/pdp/decisions/{id}"],
  [listDelegations, "/api/membership/delegations"],
  [delegationImpact, "/api/membership/delegations/{id}/impact"],
  [searchNodes, "/api/membership/identity_nodes/search"],
  [uiConfig, "/api/configs/ui"],
  [listTools, "/api/crud/mcp/tools/list"],
  [toolRpc, "/api/crud/mcp/jsonrpc"],
  [explainTool, "/api/crud/mcp/tools/explain"],
] as const)
  test(`${endpoint.service} ${endpoint.path} is reached as ${path}`, () => assert.equal(throughGateway(endpoint).path, path));
