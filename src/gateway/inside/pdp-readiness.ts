import { z } from "zod";
import { ask, type Peer } from "#contract/ask.ts";
import { metadata } from "#contract/authzen.ts";
import { Unready } from "./health-checks.ts";

const notReady = z.object({ reasons: z.array(z.string().regex(/^[a-z_]{1,64}$/)).max(8) });

/**
 * Whether the decision service can decide: what it says of its own readiness, which it is not while the decision point behind it is
 * away. A foreign service that has no such page is up when it shows its metadata. Throws `Unready` with what is missing.
 */
export const requireReadyPdp = async (pdp: Peer, signal: AbortSignal): Promise<void> => {
  const response = await pdp(new Request("http://house.internal/health/ready", { signal }));
  if (response.ok) {
    await response.body?.cancel();
    return;
  }
  if (response.status === 404) {
    await response.body?.cancel();
    await ask(pdp, metadata, { signal });
    return;
  }
  const said = notReady.safeParse(await response.json().catch(() => undefined));
  throw new Unready(said.success ? said.data.reasons : []);
};
