import { PLATFORM } from "#contract/secret-schemes.ts";
import { demoSignIns } from "#demo/sign-ins.ts";
import { seedDemo } from "#demo/world.ts";
import { createMembership } from "#membership/service.ts";
import { createWriteGraph } from "#membership/graph/write.ts";
import { appointFirst, otherIssuer } from "#membership/sign-ins/first-administrator.ts";
import { reportLockedOut } from "#membership/roles/report-locked-out.ts";
import { loadGroupsDocument } from "#membership/sign-ins/groups-document.ts";
import { secretOwnerIn, type Opening } from "./opening.ts";

/** The identity graph, and with the demo its world. */
export const openMembership = async (opening: Opening): Promise<void> => {
  const { common, plan } = opening;
  const { authn, membership: config } = plan.settings;
  const signIns = {
    provision: authn.oidcProvision,
    system: authn.oidcSystem,
    subjectPrefix: authn.oidcSubjectPrefix,
    groups: await loadGroupsDocument(plan.configFolders),
    ...(plan.isProviderEmbedded
      ? { persons: plan.commandLine.demo ? demoSignIns.persons.map(({ sub }) => sub) : [] }
      : { issuer: plan.addresses.issuer }),
  };
  const { publicOrigins } = plan.addresses;
  const secretOwner = secretOwnerIn(opening);
  const isPlatformSecret = (uri: string): boolean => secretOwner(uri) === PLATFORM;
  const parts = { ...common, ...opening.callerOf("membership"), config, signIns, publicOrigins, isPlatformSecret };
  const membership = opening.stack.use(await createMembership(parts));
  if (plan.commandLine.demo) await seedDemo(common);
  if (config.bootstrapAdmin !== undefined) {
    const { change, metrics, log } = common;
    const by = { actor: "service:membership", source: "sync", correlationId: "bootstrap-admin", system: authn.oidcSystem } as const;
    const other = otherIssuer(config.bootstrapAdmin.issuer, authn.oidcIssuer);
    const done =
      other === undefined
        ? await appointFirst(createWriteGraph({ change, metrics, signIns }), config.bootstrapAdmin, by)
        : { refused: other };
    if ("refused" in done) log.info("bootstrap_admin_ignored", { reason: done.refused });
    else log.info("first_administrator", { person_id: done.personId, tenant: config.bootstrapAdmin.tenant });
  }
  await reportLockedOut(common.database, signIns, common.log);
  await opening.listen("membership", membership);
};
