import type { PipelineStep } from "#telemetry/pipeline-step.ts";
import { noTracing } from "#telemetry/tracing.ts";
import type { CallParts } from "#crud/tools/tool-call.ts";
import { toolCallSteps, type ToolCallStep } from "./tool-call-steps.ts";

export type TimedStep = <T>(step: ToolCallStep, work: () => Promise<T> | T) => Promise<T>;

/** Times and traces each step of a call. */
export const timedStep =
  ({ metrics, tracing = noTracing }: Pick<CallParts, "metrics" | "tracing">): TimedStep =>
  async (step, work) => {
    const started = performance.now();
    const { span: name }: PipelineStep = toolCallSteps[step];
    try {
      // The last step has two spans of its own: the money's and the record's.
      if (name === undefined) return await work();
      return await tracing.span(name, { kind: step === "invoke" ? "client" : "internal" }, async () => work());
    } finally {
      metrics.observe("mcp_step_duration_seconds", { step }, (performance.now() - started) / 1000);
    }
  };
