import { metricTable, type MetricRow } from "#telemetry/metrics.ts";
import { table, wrap } from "./markdown.ts";

const carriers = { also: "`/metrics`, OTLP", only: "OTLP" } as const;

const page = (): string => {
  const rows = Object.entries<MetricRow>(metricTable);
  const byModule = Map.groupBy(rows, ([name]) => name.split("_", 1)[0] ?? "");
  return [
    "# Metrics",
    "",
    wrap(
      "`npm run docs` makes this page from the table of metrics. Every metric exists from the start; one with labels shows its first line with its first event. " +
        "Labels are closed lists or capped at 1,000 combinations unless the table says otherwise; further ones count as `other`. Histograms in seconds have " +
        "the buckets 0.0005 to 10. [Monitoring](../howto/monitoring.md) shows how to read them and what to alert on.",
    ),
    ...[...byModule].flatMap(([module, metrics]) => [
      "",
      `## ${module}`,
      "",
      ...table(
        ["metric", "kind", "labels", "meaning", "leaves by"],
        metrics.map(([name, { kind, labels, help, cap, otlp }]) => [
          `\`${name}\``,
          kind,
          `${labels.map((label) => `\`${label}\``).join(", ")}${cap === undefined ? "" : `; at most ${cap}`}`,
          help,
          otlp === undefined ? "`/metrics`" : carriers[otlp],
        ]),
      ),
    ]),
    "",
  ].join("\n");
};

/** Every metric, by the first word of its name. File name to text. */
export const metricFiles = (): ReadonlyMap<string, string> => new Map([["metrics.md", page()]]);
