import assert from "node:assert/strict";
import { test } from "node:test";
import { getAccessRequest } from "#contract/access-requests.ts";
import { getDecision } from "#contract/decisions.ts";
import { readDefinition } from "#contract/definitions.ts";
import { delegationUsage } from "#contract/delegations.ts";
import { importedOperations } from "#contract/imports.ts";
import { searchNodes } from "#contract/membership.ts";
import { readRollout } from "#contract/rollouts.ts";
import { searchSecrets } from "#contract/secret-listings.ts";
import { explainTool, listSecretUses, uiConfig } from "#contract/tools.ts";
import { rootOf } from "./use-endpoint.ts";

for (const [endpoint, root] of [
  [delegationUsage, "delegations"],
  [searchNodes, "nodes"],
  [getDecision, "decisions"],
  [readRollout, "policies"],
  [getAccessRequest, "requests"],
  [explainTool, "tools"],
  [searchSecrets, "secrets"],
  [listSecretUses, "secrets"],
  [readDefinition, "systems"],
  [importedOperations, "systems"],
  [uiConfig, "/configs/ui"],
] as const)
  test(`${endpoint.path} is read again with ${root}`, () => assert.equal(rootOf(endpoint), root));
