import { randomUUID } from "node:crypto";
import { until } from "#testing/until.ts";

/** A request to the tool server or to membership as an administrator; its answer, which must be a success. */
type Send = (
  at: "crud" | "membership",
  method: string,
  path: string,
  body?: unknown,
  more?: Readonly<Record<string, string>>,
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into what it expects
) => Promise<any>;

const runtime = "https://open-workflow-specification.org/spec/1.0.0/errors/runtime";

/** One that meets each state of a step: skipped, tried again, failed, waiting, undone. */
const document = `document:
  dsl: 1.0.0
  namespace: acme
  name: lived
  version: 1.0.0
  metadata: { owner: "person:ada" }
evaluate: { language: cel }
input:
  schema: { document: { type: object, properties: { ends: { type: boolean } }, required: [ends], additionalProperties: false } }
do:
  - left_out: { set: { x: 1 }, if: "\${ false }" }
  - attempt:
      try:
        - boom: { raise: { error: { type: "${runtime}", status: 500, title: Boom } } }
      catch:
        retry: { delay: { seconds: 1 }, limit: { attempt: { count: 2 } } }
        do: [{ go_on: { set: { y: 1 } } }]
  - record:
      call: memory.demo.create_entities
      with: { entities: [{ name: lived, entityType: story, observations: [] }] }
      metadata: { compensate: { call: memory.demo.delete_entities, with: { entityNames: [lived] } } }
  - is_over:
      switch:
        - over: { when: "\${ input.ends }", then: end }
        - not_yet: { then: ask }
  - ask: { call: human.task, with: { title: Go on, assign: ["person:cleo"] } }
`;

/** Lives runs of workflows to each of their states; `asCleo`: of who is asked. */
export const liveWorkflows = async (send: Send, asCleo: Send): Promise<void> => {
  await send("crud", "POST", "/workflows", document);
  const grant = { props: {}, reason: "to try it" };
  await send("membership", "PUT", "/api/v1/edges/GRANTS_ACCESS/person:ada/workflow.lived", grant);
  const start = async (ends: boolean): Promise<string> => {
    const { run_id: id } = await send("crud", "POST", "/workflows/lived/start", { data: { ends } });
    return String(id);
  };
  const read = (id: string) => send("crud", "GET", `/workflows/runs/${id}`);
  interface Run {
    readonly id: string;
    readonly status: string;
    readonly reason: string | null;
    readonly waiting: { readonly required_actions: readonly { readonly task_id: string }[] } | null;
  }
  const isAsking = ({ reason }: Run): boolean => reason === "human";
  const reach = (id: string, status: string) =>
    until(
      (): Promise<Run> => read(id),
      (run) => run.status === status,
    );
  const act = async (id: string, verb: string): Promise<void> => {
    await send("crud", "POST", `/workflows/runs/${id}/${verb}`, {}, { "if-match": "*" });
  };

  await reach(await start(true), "completed");
  // Rejected: what was done is undone.
  const first = await start(false);
  const rejected = await until((): Promise<Run> => read(first), isAsking);
  const task = `/tasks/${rejected.waiting?.required_actions[0]?.task_id ?? ""}`;
  const { state_version } = await asCleo("crud", "GET", task);
  await asCleo("crud", "POST", `${task}/complete`, { decision: "reject", state_version, idempotency_key: randomUUID() });
  await reach(rejected.id, "faulted");
  const stopped = await start(false);
  await until((): Promise<Run> => read(stopped), isAsking);
  await act(stopped, "suspend");
  await reach(stopped, "suspended");
  await act(stopped, "unsuspend");
  await until((): Promise<Run> => read(stopped), isAsking);
  await act(stopped, "cancel");
  await reach(stopped, "cancelled");
};
