import { z } from "zod";
import { ask, type Peer } from "#contract/ask.ts";
import { metadata } from "#contract/authzen.ts";
import { Problem } from "#contract/problem.ts";
import { Unready } from "./health-checks.ts";

const reasons = z.array(z.string().regex(/^[a-z][a-z0-9_:+-]{0,63}$/)).max(8);
const notReady = z.object({ reasons });
const degraded = z.object({ degraded: reasons });

/**
 * Whether a service of the house can do its work, and what of it not: what it says of its own readiness. Throws `Unready` with what is
 * missing, of a certificate that is not trusted too.
 */
export const requireReady = async (service: Peer, signal: AbortSignal): Promise<readonly string[]> => {
  const response = await service(new Request("http://house.internal/health/ready", { signal })).catch((error: unknown) => {
    throw error instanceof Problem && error.code === "upstream_tls_failed" ? new Unready(["certificate"]) : error;
  });
  const body: unknown = await response.json().catch(() => undefined);
  if (response.ok) return degraded.safeParse(body).data?.degraded ?? [];
  const said = notReady.safeParse(body);
  throw new Unready(said.success ? said.data.reasons : [], response.status === 404);
};

/** The same of the decision point: a foreign one that has no such page is up when it shows its metadata. */
export const requireReadyPdp = async (pdp: Peer, signal: AbortSignal): Promise<readonly string[]> => {
  try {
    return await requireReady(pdp, signal);
  } catch (error) {
    if (!(error instanceof Unready && error.isUnknown)) throw error;
    await ask(pdp, metadata, { signal });
    return [];
  }
};
