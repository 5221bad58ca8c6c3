import type { Problem } from "#contract/problem.ts";
import type { Principal, PdpClient } from "./pdp-client.ts";

/**
 * Acts whose effect reaches more than the caller's tenant: they are the deployment's. Each asks its own pair, which the shipped policies
 * permit to `role:platform` after a strong sign-in. Who has a tenant's `role:administrator` alone does none of them.
 */
export interface DeploymentAct {
  readonly type: string;
  readonly action: string;
  /** What it is, for documents. */
  readonly what: string;
}

export const deploymentActs = [
  { type: "policies", action: "edit", what: "draft a version of the policies, drop one" },
  { type: "policies", action: "activate", what: "let a version decide or shadow, take it out of the shadow, roll back" },
  { type: "gateway.routes", action: "reload", what: "reload the gateway's route table" },
  { type: "plugins", action: "manage", what: "refresh the catalogue of plugins" },
  { type: "deployment", action: "reload_config", what: "take up changed files of the configuration folders" },
  {
    type: "deployment",
    action: "edit_systems",
    what: "write, delete or roll back a system, or approve its tools, unless it serves the own tenant alone",
  },
  {
    type: "deployment",
    action: "edit_views",
    what: "change views and overrides of the tools document, unless they serve the own tenant alone",
  },
  { type: "deployment", action: "edit_graph", what: "write shared nodes and edges of the graph, and what names a secret of the platform" },
  {
    type: "deployment",
    action: "manage_events",
    what: "see, send again or drop events of all tenants and of none that Kafka has not taken",
  },
] as const satisfies readonly DeploymentAct[];

/** Actions of the pairs `deployment/...`: acts that a pair of the tenant's own does not cover. */
export type DeploymentAction = Extract<(typeof deploymentActs)[number], { readonly type: "deployment" }>["action"];

/**
 * Why the caller may not do such an act; `undefined`: it may. `access_denied`, or `step_up_required` where a fresh strong sign-in would
 * do. Cost: one decision, on record.
 */
export const refusalOfAct = async (
  pdpClient: Pick<PdpClient, "decide" | "refusal">,
  { caller, correlationId }: { readonly caller: Principal; readonly correlationId: string },
  action: DeploymentAction,
): Promise<Problem | undefined> => pdpClient.refusal(caller, await pdpClient.decide(caller, { type: "deployment", action }, correlationId));
