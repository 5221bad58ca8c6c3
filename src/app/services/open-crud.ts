import { StartIssues } from "#contract/start-issues.ts";
import { openServers } from "#crud/servers/open-servers.ts";
import { createCrud } from "#crud/service.ts";
import { findOperatorTenant } from "#membership/graph/operator-tenant.ts";
import { readTenantIds } from "#membership/graph/tenant-ids.ts";
import { noteAbandoned } from "#membership/ledger/abandoned.ts";
import { secretOwnerIn, type Opening } from "./opening.ts";

/** Systems and tools; settles first what a process that died left open. */
export const openCrud = async (opening: Opening): Promise<void> => {
  const { common, plan } = opening;
  const { addresses, commandLine } = plan;
  const { database, log, secrets } = common;
  const { servers, issues } = await openServers({ ...plan, config: plan.settings.crud, environment: plan.settings.instance.environment });
  if (issues.length > 0) throw new StartIssues(issues);
  const crud = opening.stack.use(
    await createCrud({
      ...common,
      ...opening.callerOf("crud"),
      config: plan.settings.crud,
      configFolders: plan.configFolders,
      dataFolder: plan.dataFolder,
      servers,
      placeholders: { DEMO_UPSTREAM_URL: commandLine.demo ? addresses.people : undefined },
      internalPorts: addresses.internalPorts,
      tenants: () => readTenantIds(database),
      operator: () => findOperatorTenant(database),
      secretOwner: secretOwnerIn(opening),
      authorizationServers: [addresses.issuer],
      firstPartyClients: opening.firstPartyClients,
      instanceSecrets: secrets,
      notifications: { maxAttempts: plan.settings.events.outboxMaxAttempts },
    }),
  );
  const releaseAbandoned = await noteAbandoned(database);
  await opening.listen("crud", crud);
  const unknown = await crud.recover();
  // Only the embedded database is ours alone; elsewhere another process may be about to begin those calls.
  if (database.kind === "pglite") {
    const released = await releaseAbandoned(crud.isOpenStep);
    if (released > 0) log.warn("reservations_released", { count: released });
  }
  if (unknown > 0) opening.say(`${unknown} acts of a process that died were settled as unknown; the log names them.`);
};
