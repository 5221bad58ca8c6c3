import type { SystemDocument } from "#crud/systems/system-document.ts";

/** What of a document reaches beyond its tenant: the machine, or networks that are not public. */
export interface DeploymentReach {
  /** Names of the operator's servers that it starts. */
  readonly stdioServers: readonly string[];
  /** Networks (CIDR) that it allows itself. */
  readonly networks: readonly string[];
}

export const noReach: DeploymentReach = { stdioServers: [], networks: [] };

export const deploymentReachOf = (document: SystemDocument): DeploymentReach => ({
  stdioServers: document.kind === "mcp" ? [document.transport.command] : [],
  networks: document.kind === "http" ? document.network.allow : [],
});
