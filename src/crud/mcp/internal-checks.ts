import type { Peer } from "#contract/ask.ts";
import type { Database } from "#store/database.ts";
import type { HealthChecks } from "./health-tool.ts";

export type UpOrDown = "up" | "down";

const WAIT_MS = 2000;

/** Whether work succeeds; never why not. */
export const isUp = (work: Promise<unknown>): Promise<UpOrDown> =>
  work.then(
    () => "up" as const,
    () => "down" as const,
  );

const requireAnswer = async (peer: Peer, path: string): Promise<void> => {
  const response = await peer(new Request(`http://sallyport.internal${path}`, { signal: AbortSignal.timeout(WAIT_MS) }));
  if (response.status >= 500) throw new Error(`answered ${response.status}`);
};

/** The parts that a tool call needs. The decision point is up: it let in whoever reads this a moment ago. */
export const createInternalChecks =
  (parts: {
    readonly database: Database;
    readonly membership: Peer;
    readonly secrets: Peer;
    readonly systems: () => UpOrDown;
  }): HealthChecks =>
  async () => {
    const [database, membership, secrets] = await Promise.all([
      isUp(parts.database.ready()),
      isUp(requireAnswer(parts.membership, "/api/v1/health")),
      isUp(requireAnswer(parts.secrets, "/health")),
    ]);
    return { database, pdp: "up", membership, secrets, systems: parts.systems() };
  };
