import { degradedLines } from "#crud/documents/degraded-lines.ts";
import { createCrud } from "#crud/service.ts";
import { releaseAbandoned } from "#membership/meter/abandoned.ts";
import { statement } from "#store/database.ts";
import type { Opening } from "./house-opening.ts";

const databaseClock = statement<{ now: string }>("house.clock", "select clock_timestamp() as now");
const tenantIds = statement<{ id: string }>("house.tenants", "select id from membership.node where kind = 'Tenant' order by id");

/** Systems and tools; settles first what a process that died left open. */
export const openCrud = async (opening: Opening): Promise<void> => {
  const { addresses, common } = opening;
  const { database, log, secrets } = common;
  const crud = opening.stack.use(
    await createCrud({
      ...common,
      ...opening.identityOf("crud"),
      config: opening.settings.crud,
      configFolder: opening.configFolder,
      dataFolder: opening.dataFolder,
      placeholders: { DEMO_UPSTREAM_URL: opening.commandLine.demo ? addresses.people : undefined },
      housePorts: Object.entries(addresses.ports).flatMap(([part, port]) => (part === "people" ? [] : [port])),
      tenants: (await database.run(tenantIds)).map(({ id }) => id),
      authorizationServers: [addresses.issuer],
      firstPartyClients: opening.firstPartyClients,
      houseSecrets: secrets,
    }),
  );
  for (const line of crud.degraded.flatMap(degradedLines)) opening.say(line);
  const [clock] = await database.run(databaseClock);
  await opening.listen("crud", crud);
  const unknown = await crud.recover();
  // Only the embedded database is ours alone; elsewhere another process may be about to begin those calls.
  if (database.kind === "pglite" && clock !== undefined) {
    const released = await releaseAbandoned(database, clock.now);
    if (released > 0) log.warn("reservations_released", { count: released });
  }
  if (unknown > 0) opening.say(`${unknown} acts of a process that died were settled as unknown; the log names them.`);
};
