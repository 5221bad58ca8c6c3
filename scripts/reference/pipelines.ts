import { requestSteps } from "#gateway/model/request-steps.ts";
import { toolCallSteps } from "#crud/mcp/call/tool-call-steps.ts";
import { querySteps } from "#membership/pip/query-steps.ts";
import { operationSteps } from "#secrets/pipeline/operation-steps.ts";
import type { PipelineStep } from "#telemetry/pipeline-step.ts";
import { table, wrap } from "./markdown.ts";

interface Pipeline {
  readonly title: string;
  /** Files whose code runs the steps, below `src/`. */
  readonly sources: readonly string[];
  readonly about: string;
  readonly steps: Readonly<Record<string, PipelineStep>>;
}

export const pipelines: readonly Pipeline[] = [
  {
    title: "Browser request",
    sources: ["gateway/ingress/raw-server.ts", "gateway/pipeline/pipeline.ts", "gateway/pipeline/serve-route.ts"],
    about:
      "A request to a row of the route table. The gateway's own paths leave after the load check, and the web client's files after the match. " +
      "A refusal becomes problem+json, or a page for a person who opened an address.",
    steps: requestSteps,
  },
  {
    title: "Tool call",
    sources: ["call-tool", "decide-call", "reserve-call", "open-call", "invoke-call", "close-call"].map(
      (file) => `crud/mcp/call/${file}.ts`,
    ),
    about:
      "One `tools/call`, in any dialect. Whatever stops before the invocation costs nothing and sends nothing. `mcp_step_duration_seconds` has the step's name as its label.",
    steps: toolCallSteps,
  },
  {
    title: "PIP query",
    sources: ["membership/pip/serve-pip.ts"],
    about: "A question of the decision point about the identity graph. The PIP never asks the decision point.",
    steps: querySteps,
  },
  {
    title: "Secret operation",
    sources: ["secrets/service.ts", "secrets/pipeline/pipeline.ts"],
    about: "Each operation of the secrets API. A denial is recorded with its event before it is answered.",
    steps: operationSteps,
  },
];

const diagram = (steps: Pipeline["steps"]): string[] => {
  const names = Object.keys(steps);
  const refusing = names.filter((name) => (steps[name]?.refuses ?? []).length > 0);
  return [
    "```mermaid",
    "flowchart TD",
    ...names.map((name, at) => `  s${at}["${at + 1}. ${name}"]`),
    "  refused([refusal])",
    ...names.slice(1).map((name, at) => `  s${steps[name]?.isAlternative === true ? at - 1 : at} --> s${at + 1}`),
    ...refusing.map((name) => `  s${names.indexOf(name)} -.-> refused`),
    "```",
  ];
};

const page = (): string =>
  [
    "# Pipelines",
    "",
    wrap(
      "`npm run docs` makes this page from the step lists that the code runs by. A pipeline is one function that reads downwards. Each step takes what the step before returns. " +
        "A step that may refuse throws a `Problem` with one of the codes of the table; [errors](../reference/errors.md) has them all. " +
        "Audit and money open before the act and may refuse it. Closing never undoes it. Steps with a span are visible in a trace.",
    ),
    ...pipelines.flatMap(({ title, sources, about, steps }) => [
      "",
      `## ${title}`,
      "",
      wrap(about),
      "",
      wrap(`Source: ${sources.map((file) => `[src/${file}](../../src/${file})`).join(", ")}.`),
      "",
      ...diagram(steps),
      "",
      ...table(
        ["step", "what it does", "span", "refuses with", "file"],
        Object.entries(steps).map(([name, { does, span, refuses = [], file }], at) => [
          `${at + 1}. ${name}`,
          does,
          span === undefined ? "" : `\`${span}\``,
          refuses.map((code) => `\`${code}\``).join(", "),
          `[${file.split("/").at(-1)}](../../src/${file})`,
        ]),
      ),
    ]),
    "",
  ].join("\n");

/** The pipelines with a diagram and a table each. File name to text. */
export const pipelineFiles = (): ReadonlyMap<string, string> => new Map([["pipelines.md", page()]]);
