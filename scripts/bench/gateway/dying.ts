import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { say } from "../kit/progress.ts";
import type { Figure } from "../kit/report.ts";
import { pairPath } from "./route-table.ts";
import { jsonBody, pageHeaders, type GatewayWorld } from "./world.ts";

const CLIENTS = 32;
const SECONDS_BEFORE = 2;
const SECONDS_AFTER = 4;

interface Tally {
  answered: number;
  /** 5xx, by `<status> <code>`. */
  readonly issues: Map<string, number>;
}

/** Statuses that the retry budget and the outcome rule allow of a POST that was in flight when its upstream died. */
const isOutcomeUnknown = (issue: string): boolean => issue.startsWith("502 ");

/** One of a service's two instances is killed under load: who only reads must not notice, who writes is told the truth. */
export const measureDying = async (world: GatewayWorld): Promise<readonly Figure[]> => {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const tallies: Record<"GET" | "POST", Tally> = { GET: { answered: 0, issues: new Map() }, POST: { answered: 0, issues: new Map() } };
  let isOver = false;
  const ask = async (method: "GET" | "POST", index: number): Promise<void> => {
    const session = world.sessions[index % world.sessions.length];
    if (session === undefined) throw new Error("no session");
    const outgoing = request({
      agent,
      port: world.port,
      host: "127.0.0.1",
      method,
      path: pairPath,
      headers: { ...pageHeaders(world, session), ...(method === "POST" ? { "Content-Type": "application/json" } : {}) },
    });
    outgoing.end(method === "POST" ? jsonBody : undefined);
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    let text = "";
    for await (const part of response) text += String(part);
    tallies[method].answered += 1;
    if ((response.statusCode ?? 0) < 500) return;
    const issue = `${response.statusCode} ${/"code":"([a-z_]+)"/.exec(text)?.[1] ?? "?"}`;
    tallies[method].issues.set(issue, (tallies[method].issues.get(issue) ?? 0) + 1);
  };
  const client = async (_: unknown, index: number): Promise<void> => {
    for (let round = 0; !isOver; round++) await ask(round % 2 === 0 ? "GET" : "POST", index + round * CLIENTS);
  };
  const running = Promise.all(Array.from({ length: CLIENTS }, client));
  await new Promise((resolve) => setTimeout(resolve, SECONDS_BEFORE * 1000));
  world.mortal.process.kill("SIGKILL");
  await new Promise((resolve) => setTimeout(resolve, SECONDS_AFTER * 1000));
  isOver = true;
  await running;
  agent.destroy();

  const sum = ({ issues }: Tally): number => [...issues.values()].reduce((total, count) => total + count, 0);
  const reported = ({ issues }: Tally): string => [...issues].map(([issue, count]) => `${count} x ${issue}`).join(", ") || "none";
  const { GET: gets, POST: posts } = tallies;
  const isTruthful = [...posts.issues.keys()].every(isOutcomeUnknown) && sum(posts) <= CLIENTS;
  say(`dying: GET ${gets.answered}, issues ${reported(gets)}; POST ${posts.answered}, issues ${reported(posts)}`);
  return [
    {
      what: `one of two instances killed under ${CLIENTS} clients: 5xx answers to ${gets.answered} GETs`,
      own: reported(gets),
      reference: "",
      ratio: "",
      target: "none",
      isMet: sum(gets) === 0,
    },
    {
      what: `the same: 5xx answers to ${posts.answered} POSTs`,
      own: reported(posts),
      reference: "",
      ratio: "",
      target: `502 for those in flight alone (<= ${CLIENTS})`,
      isMet: isTruthful,
    },
  ];
};
