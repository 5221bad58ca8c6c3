import { setTimeout as pause } from "node:timers/promises";
import { printJson } from "#parsing/yaml-document.ts";
import { startPostgresServer } from "#testing/postgres-server.ts";
import type { TestInstance } from "../../../e2e/test-instance.ts";
import { fetchToken } from "../../../e2e/tokens.ts";
import { startTwoInstances } from "../../../e2e/two-instances.ts";
import { say } from "../kit/progress.ts";
import type { Figure } from "../kit/report.ts";
import { spread } from "../kit/statistics.ts";
import { send } from "./send.ts";

const TOOL = "flip.tools.show";
const SYSTEM = "/config/systems/flip.tools";
const SWITCH = `/config/kill-switches/${encodeURIComponent(`tool:${TOOL}`)}`;
/** What every node must have kept, milliseconds. */
const MAX_MS = 1_000;
/** Longest wait for a node that does not hear. */
const PATIENCE_MS = 30_000;

const systemOf = (turn: number): string =>
  printJson({
    apiVersion: "systems/v1",
    provider: "flip",
    instance: "tools",
    title: "Flip",
    owner: "group:people-ops",
    tenants: ["tenant:acme"],
    kind: "http",
    baseUrl: "https://flip.example",
    defaults: { dataScope: "none" },
    operations: { show: { description: `Shows what was published in turn ${turn}.`, request: { method: "GET", path: "/" } } },
  });

const crudOf = ({ port }: TestInstance, path: string): string => `http://localhost:${port + 3}${path}`;

/** The text of the tool as this deployment lists it; undefined: it does not. */
const listed = async (instance: TestInstance, token: string): Promise<string | undefined> => {
  const answer = await fetch(crudOf(instance, "/mcp/flip/tools/list"), { headers: { authorization: `Bearer ${token}` } });
  if (!answer.ok) return undefined;
  const { tools } = (await answer.json()) as { readonly tools: readonly { readonly name: string; readonly description: string }[] };
  return tools.find(({ name }) => name === TOOL)?.description;
};

/** Milliseconds from the request for a change at one instance until the other one has listed what it made: the change itself is part of it. */
const seenAfter = async (change: () => Promise<void>, isSeen: () => Promise<boolean>): Promise<number> => {
  const begun = performance.now();
  const changing = change();
  while (!(await isSeen())) {
    if (performance.now() - begun > PATIENCE_MS) throw new Error("the other instance does not hear of it");
    await pause(1);
  }
  const taken = performance.now() - begun;
  await changing;
  return taken;
};

const figure = (what: string, taken: readonly number[]): Figure => {
  const { text, max } = spread(taken.toSorted((one, other) => one - other));
  return { what, own: text, reference: "", ratio: "", target: `<= ${MAX_MS} ms`, isMet: max <= MAX_MS };
};

/** A publish and a turn of a kill switch at one of two instances on one PostgreSQL, seen in the lists of the other. */
export const measureTwoInstances = async (stack: AsyncDisposableStack, turns: number): Promise<readonly Figure[]> => {
  say("two instances on one PostgreSQL ...");
  const postgres = await startPostgresServer();
  stack.defer(() => postgres.stop());
  const ends = { after: (end: () => unknown) => stack.defer(async () => void (await end())) };
  const two = await startTwoInstances(ends as Parameters<typeof startTwoInstances>[0], { url: async () => postgres.url, why: () => "" });
  if (two === undefined) throw new Error("there is a PostgreSQL");
  const [one, other] = two.instances;
  const ada = await fetchToken(one.port, { user: "ada", acr: "strong" });
  const ben = await fetchToken(other.port, { user: "ben" });
  await send(crudOf(one, "/config/systems"), ada, "POST", systemOf(0));
  await send(`http://localhost:${one.port + 4}/api/v1/edges/GRANTS_ACCESS/group:people-ops/${TOOL}`, ada, "PUT", "{}");
  await seenAfter(
    async () => {},
    async () => (await listed(other, ben)) !== undefined,
  );
  const [published, killed, lifted]: [number[], number[], number[]] = [[], [], []];
  for (let turn = 1; turn <= turns; turn++) {
    published.push(
      await seenAfter(
        () => send(crudOf(one, SYSTEM), ada, "PUT", systemOf(turn)),
        async () => (await listed(other, ben))?.includes(`turn ${turn}.`) === true,
      ),
    );
    killed.push(
      await seenAfter(
        () => send(crudOf(one, SWITCH), ada, "PUT", JSON.stringify({ reason: `turn ${turn}` })),
        async () => (await listed(other, ben)) === undefined,
      ),
    );
    lifted.push(
      await seenAfter(
        () => send(crudOf(one, SWITCH), ada, "DELETE"),
        async () => (await listed(other, ben)) !== undefined,
      ),
    );
  }
  return [
    figure("published at one of two instances, listed so by the other", published),
    figure("switched off at one, gone from the other's list", killed),
    figure("switched on again", lifted),
  ];
};
