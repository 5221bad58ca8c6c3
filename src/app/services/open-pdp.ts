import { createPdp } from "#pdp/service.ts";
import { resourceRefOf } from "#secrets/config.ts";
import type { Opening } from "./opening.ts";

/** The decision point. */
export const openPdp = async (opening: Opening): Promise<void> => {
  const { common, plan } = opening;
  const resourceRef = resourceRefOf(opening.secretsConfig);
  await opening.listen("pdp", opening.stack.use(await createPdp({ ...common, ...opening.callerOf("pdp"), config: plan.pdp, resourceRef })));
};
