// Measures the graph in memory in a process of its own: reads it, asks it beside the plain driver, and sends what it found.
import { once } from "node:events";
import { monitorEventLoopDelay } from "node:perf_hooks";
import pg from "pg";
import { bodyShareOf } from "#authn/model/caller.ts";
import type { FactAsk } from "#contract/facts.ts";
import { stepUp } from "#contract/membership.ts";
import { listenService } from "#http/listen.ts";
import { createRouter } from "#http/serve.ts";
import { buildGraph } from "#membership/graph/index/build-graph.ts";
import { createFeed } from "#membership/graph/index/feed.ts";
import { createIndexReader } from "#membership/graph/index/index-reader.ts";
import type { GraphReader } from "#membership/graph/graph-reader.ts";
import { putEdge } from "#membership/graph/put-edge.ts";
import { putNode } from "#membership/graph/put-node.ts";
import { delegationLogRow, recordDelegation } from "#membership/delegations/put-delegation.ts";
import { createSqlReader } from "#membership/graph/sql-reader.ts";
import { scopeOfTenant, wholeGraph } from "#membership/graph/tenant-scope.ts";
import { statement } from "#store/database.ts";
import { createPostgres } from "#store/postgres.ts";
import { createYielding } from "#http/yielding.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { createMembership } from "#membership/service.ts";
import { membershipSettings } from "#membership/config.ts";
import { readSettings } from "#contract/setting.ts";
import { createChange } from "#events/changes/create-change.ts";
import { createWriteGraph } from "#membership/graph/write.ts";
import { testAudiences, testIdentity } from "#testing/identity.ts";
import type { WrkRequest } from "../kit/wrk.ts";
import type { AskOverHttp, Delayed, GraphFigures, Timed } from "../membership/graph.ts";
import { plainOf, rate, readerOf, readRows, time, timedOf } from "../membership/plain.ts";

const [url = "", roundsText = "", personsText = "", writesText = ""] = process.argv.slice(2);
const rounds = Number(roundsText);
const persons = Number(personsText);
const dataScope = { unknownType: "tenants", refused: () => {} } as const;

const collect = (): number => {
  (globalThis as { gc?: () => void }).gc?.();
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

await using database = await createPostgres({ url, poolSize: 10, log: silentLog });
const client = new pg.Client({ connectionString: url });
await client.connect();
const pool = new pg.Pool({ connectionString: url, max: 8 });
const metrics = createMetrics();

await readRows(client);
const empty = collect();
const delay = monitorEventLoopDelay({ resolution: 1 });
const reads: number[] = [];
const builds: number[] = [];
for (let round = 0; round < 3; round++) {
  reads.push(await readRows(client));
  collect();
  const started = performance.now();
  const graph = await buildGraph(database, createYielding(5), new AbortController().signal);
  await graph.settle(createYielding(5));
  builds.push(performance.now() - started);
}
// Processor time from turn to turn of the loop: what others do on a busy machine is not the build's.
let longest = 0;
{
  let isBuilding = true;
  let before = process.threadCpuUsage();
  const turn = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
    before = process.threadCpuUsage();
    if (isBuilding) setImmediate(turn);
  };
  setImmediate(turn);
  const graph = await buildGraph(database, createYielding(5), new AbortController().signal);
  await graph.settle(createYielding(5));
  isBuilding = false;
}
const middle = (three: number[]): number => three.toSorted((one, other) => one - other)[1] ?? Number.NaN;

collect();
const started = performance.now();
const feed = await createFeed({ database, log: silentLog, metrics, pollMs: 100, boundMs: 60_000 });
while (typeof feed.look() === "string") await new Promise((resolve) => setTimeout(resolve, 1));
const startMs = performance.now() - started;
const held = collect() - empty;
const seen = feed.look();
if (typeof seen === "string") throw new Error("the index is not fresh");

const index = createIndexReader({ feed, sql: createSqlReader({ database, dataScope }), database, dataScope });
const plain = readerOf(plainOf(client));
const pooled = readerOf(plainOf(pool));
const AGENTS = Number((await client.query("select count(*)::int as n from membership.node where kind = 'AIAgent'")).rows[0].n);
const TENANTS = Number((await client.query("select count(*)::int as n from membership.node where kind = 'Tenant'")).rows[0].n);
const TOOLS = Number((await client.query("select count(*)::int as n from membership.node where kind = 'Tool'")).rows[0].n);
/** Persons that have delegated, spread over all. */
const personAt = (at: number): number => ((at * 7_919) % Math.floor(persons / 5)) * 5;
const agentOf = (person: number): number => (person % TENANTS) + TENANTS * (Math.floor(person / TENANTS) % Math.floor(AGENTS / TENANTS));
const scopeAt = (person: number) => scopeOfTenant(`tenant:t${person % TENANTS}`);
const questions: Readonly<Record<string, (reader: GraphReader, at: number) => Promise<{ readonly value: unknown }>>> = {
  capabilities: (reader, at) => {
    const person = personAt(at);
    return reader.capabilities(scopeAt(person), { userId: `person:p${person}`, agentId: `agent:x${agentOf(person)}` });
  },
  "data-scope": (reader, at) => reader.dataScope(scopeAt(personAt(at)), { subjectId: `person:p${personAt(at)}`, resourceType: "employee" }),
  chain: (reader, at) => {
    const person = personAt(at);
    const agent = agentOf(person);
    return reader.chain(scopeAt(person), {
      userId: `person:p${person}`,
      agentId: `agent:x${agent}`,
      toolId: `gen.demo.tool${agent % TOOLS}`,
    });
  },
};
for (const [name, ask] of Object.entries(questions))
  for (let at = 0; at < 20; at++) {
    const [own, reference] = [await ask(index, at), await ask(plain, at)];
    const isSame = JSON.stringify(own.value) === JSON.stringify(reference.value);
    if (!isSame || JSON.stringify(own.value).length < 5)
      throw new Error(`${name} ${at}: ${JSON.stringify(own.value)}, by SQL ${JSON.stringify(reference.value)}`);
  }
const single: Record<string, { own: Timed; reference: Timed }> = {};
for (const [name, ask] of Object.entries(questions))
  single[name] = { own: await time(rounds * 5, (at) => ask(index, at)), reference: await time(rounds, (at) => ask(plain, at)) };
const anyOf = (reader: GraphReader) => (at: number) => Object.values(questions)[at % 3]?.(reader, at) ?? Promise.resolve();
const concurrent = { own: await rate(rounds * 10, anyOf(index)), reference: await rate(rounds, anyOf(pooled)) };

const asksAt = (at: number): FactAsk[] =>
  Array.from({ length: 100 }, (_none, one) => ({
    subject_id: `person:p${personAt(at)}`,
    action: "tools/call",
    resource: { type: "tool", external_id: `gen.demo.tool${(at + one) % TOOLS}` },
  }));
const facts = {
  own: await time(Math.ceil(rounds / 5), (at) => index.facts(wholeGraph, asksAt(at))),
  reference: await time(Math.ceil(rounds / 20), async (at) => {
    for (let one = 0; one < 200; one++) await anyOf(plain)(at * 200 + one);
  }),
};

// The service itself beside an endpoint of the same router and bearer check that knows nothing.
const identity = testIdentity();
const change = createChange({ database, bus: { announce: () => {} }, recorder: { writeIn: async () => [], ended: () => {} } });
const { values } = readSettings(membershipSettings, { DELEGATION_SWEEP_MS: "3600000", GRAPH_STALENESS_BOUND_MS: "60000" });
const authenticate = identity.authenticateFor(testAudiences.membership);
await using service = await createMembership({
  config: values,
  database,
  change,
  authenticate,
  pdpClient: undefined as never,
  secrets: identity.secrets,
  log: silentLog,
  metrics,
  now: () => new Date(),
  environment: "production",
  version: "bench",
});
const bare = createRouter({ shareOf: bodyShareOf, name: "membership", authenticate, log: silentLog, validateReplies: false });
bare.serve(stepUp, async () => ({ mfa_required: true, level: "strong" }));
const token = await identity.identityOf("pdp").asService(testAudiences.membership, ["pip.read"]);
const ask = async (fetch: (request: Request) => Promise<Response>, path: string): Promise<Response> => {
  const response = await fetch(
    new Request(`http://localhost:8084/api/v1/pip/membership/${path}`, { headers: { authorization: `Bearer ${token}` } }),
  );
  await response.text();
  return response;
};
const pathAt = (at: number): string => `capabilities?user_id=person:p${personAt(at)}&agent_id=agent:x${agentOf(personAt(at))}`;
while ((await ask(service.fetch, pathAt(0))).headers.get("x-graph-source") !== "index")
  await new Promise((resolve) => setTimeout(resolve, 50));
// Over HTTP whoever started this asks, from the other core.
const listeners = await Promise.all([service.fetch, bare.fetch].map((fetch) => listenService(fetch, { port: 0, hosts: ["127.0.0.1"] })));
const requestOf = (path: string): WrkRequest => ({
  method: "GET",
  path: `/api/v1/pip/membership/${path}`,
  headers: { authorization: `Bearer ${token}` },
});
const asked: AskOverHttp = {
  ports: { own: listeners[0]?.port ?? 0, reference: listeners[1]?.port ?? 0 },
  requests: {
    own: Array.from({ length: 1000 }, (_none, at) => requestOf(pathAt(at))),
    reference: Array.from({ length: 1000 }, (_none, at) => requestOf(`step-up?subject_id=person:p${personAt(at)}`)),
  },
};
const answered = once(process, "message");
process.send?.(asked);
const served = (await answered)[0] as GraphFigures["served"];
await Promise.all(listeners.map((one) => one.close()));

const write = createWriteGraph({ change, metrics, written: feed.written });
const PAUSE = statement("bench.pause", "update membership.delegation set purpose = $2 where id = $1");
const writeOne = (at: number): Promise<unknown> =>
  write({ actor: "person:bench", source: "api", correlationId: "bench", tenantId: null }, async (tx) => {
    const person = personAt(at);
    if (at % 5 === 0) {
      const id = `delegation:b${person}`;
      const before = await delegationLogRow(tx.sql, id);
      await tx.sql.run(PAUSE, [id, `bench ${at}`]);
      await recordDelegation(tx, id, before);
    } else if (at % 5 === 1)
      await putNode(tx, { id: `group:bench${at}`, kind: "Group", name: `Bench ${at}`, tenant_id: `tenant:t${at % TENANTS}` });
    else
      await putEdge(tx, {
        kind: "GRANTS_ACCESS",
        src: `group:g${at % TENANTS}`,
        dst: `gen.demo.tool${(at * 13) % TOOLS}`,
        props: { actions: [`a${at}`] },
      });
    return { value: undefined };
  });
const overSeconds = Number(writesText);
const askFor = async (seconds: number): Promise<Delayed> => {
  const taken: number[] = [];
  delay.reset();
  delay.enable();
  for (let at = 0, end = performance.now() + seconds * 1000; performance.now() < end; at++) {
    const from = process.hrtime.bigint();
    await ask(service.fetch, pathAt(at));
    taken.push(Number(process.hrtime.bigint() - from) / 1000);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  delay.disable();
  return { ...timedOf(taken), delayMs: delay.percentile(99.9) / 1e6 };
};
const idle = await askFor(overSeconds);
let writes = 0;
const writing = setInterval(() => void writeOne(writes++).catch((error: unknown) => console.error(error)), 10);
const busy = await askFor(overSeconds);
// As the feed does where the log leads on no more, or the past takes more room than the present.
let isRebuilding = true;
const rebuilding = (async () => {
  while (isRebuilding) {
    const graph = await buildGraph(database, createYielding(5), new AbortController().signal);
    await graph.settle(createYielding(5));
  }
})();
const rebuilt = await askFor(overSeconds);
isRebuilding = false;
clearInterval(writing);
await rebuilding;
const PATHS = 200;
const path = {
  own: await time(PATHS, (at) =>
    index.path(wholeGraph, { from: `person:p${personAt(at)}`, to: `gen.demo.tool${at % TOOLS}`, maxHops: 6, types: [], directed: true }),
  ),
  label: await time(PATHS, () => index.edgeKindCounts(wholeGraph)),
  labelReference: await time(3, () => plain.edgeKindCounts(wholeGraph)),
};

const figures: GraphFigures = {
  readMs: middle(reads),
  buildMs: middle(builds),
  maxMs: longest,
  startMs,
  heldBytes: held,
  edgeBytes: seen.graph.edges.bytes,
  edges: seen.graph.edges.size,
  single,
  concurrent,
  facts,
  served,
  written: { idle, busy, rebuilt, perSecond: writes / (2 * overSeconds) },
  path,
};
await feed[Symbol.asyncDispose]();
await client.end();
await pool.end();
process.send?.(figures, () => process.exit(0));
