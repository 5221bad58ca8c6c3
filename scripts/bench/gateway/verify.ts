import { say } from "../kit/progress.ts";
import type { Figure } from "../kit/report.ts";
import { runOpenLoop, wireRequest, type OpenLoopResult } from "../kit/open-loop.ts";
import { medianOf } from "../kit/statistics.ts";
import { runWrk } from "../kit/wrk.ts";
import { warmUp, type Effort } from "./proxied.ts";
import { verifiedPath } from "./route-table.ts";
import { pageHeaders, type GatewayWorld } from "./world.ts";

const CONNECTIONS = 32;

/** `/auth/verify` as a trusted proxy asks it, at half of what it can do, beside a bare 200 at that rate. */
export const measureVerify = async (world: GatewayWorld, effort: Effort): Promise<readonly Figure[]> => {
  const bare = await world.startReference("bare");
  try {
    const requests = world.sessions.map((session) => ({
      method: "GET",
      path: "/auth/verify",
      headers: {
        ...pageHeaders(world, session),
        "X-Forwarded-Method": "POST",
        "X-Forwarded-Uri": verifiedPath,
        "X-Forwarded-Host": new URL(world.origin).host,
      },
    }));
    const saturate = (seconds: number) =>
      runWrk({ port: world.port, requests, seconds, connections: CONNECTIONS, folder: world.folder, pids: [world.gateway.pid] });
    await warmUp(() => saturate(3));
    const saturation = await saturate(effort.seconds);
    const rate = Math.round(saturation.perSecond / 2);
    say(`verify: ${saturation.perSecond.toFixed(0)}/s at saturation, ${saturation.perCpuSecond.toFixed(0)} per CPU-second`);
    const wire = requests.map(({ method, path, headers }) => wireRequest(method, path, headers));
    const run = (port: number, seconds = effort.seconds) => runOpenLoop({ port, requests: wire, rate, seconds, connections: CONNECTIONS });
    await run(bare.port, 2);
    const own: OpenLoopResult[] = [];
    const reference: OpenLoopResult[] = [];
    for (let round = 1; round <= effort.rounds; round++) {
      own.push(await run(world.port));
      reference.push(await run(bare.port));
      say(
        `verify ${round}/${effort.rounds}: p50 ${own.at(-1)?.p50} us, p99 ${own.at(-1)?.p99} us; bare ${reference.at(-1)?.p50}, ${reference.at(-1)?.p99} us`,
      );
    }
    const [p99, bareP99] = [medianOf(own, (one) => one.p99), medianOf(reference, (one) => one.p99)];
    const [p50, bareP50] = [medianOf(own, (one) => one.p50), medianOf(reference, (one) => one.p50)];
    const ms = (micros: number) => `${(micros / 1000).toFixed(2)} ms`;
    return [
      {
        what: `/auth/verify, p99 at ${rate}/s (half of its own saturation), beside a bare node:http 200`,
        own: ms(p99),
        reference: ms(bareP99),
        ratio: (p99 / bareP99).toFixed(2),
        target: "< 2 ms and <= 3",
        isMet: p99 < 2000 && p99 <= 3 * bareP99,
      },
      { what: "the same, p50", own: ms(p50), reference: ms(bareP50), ratio: (p50 / bareP50).toFixed(2), target: "" },
    ];
  } finally {
    await bare.program.stop();
  }
};
