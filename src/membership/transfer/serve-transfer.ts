import type { z } from "zod";
import { Problem } from "#contract/problem.ts";
import { exportGraph as exportEndpoint, importGraph } from "#contract/transfer.ts";
import { readBytes } from "#http/read-bytes.ts";
import { actOn } from "#membership/graph-edit/write-as.ts";
import { writeOnce } from "#membership/graph-edit/write-once.ts";
import { isEdgeKind, isNodeKind } from "#membership/model/kinds.ts";
import { tenantScopeOf } from "#membership/graph/tenant-scope.ts";
import { requireKey, requireKeyedCall } from "#membership/context/idempotency.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { applyImport } from "./apply-import.ts";
import type { CsvFile } from "./csv-lines.ts";
import { exportGraph } from "./export-graph.ts";
import { readImport } from "./read-import.ts";

type Reply = z.output<typeof importGraph.reply>;

const media = { ndjson: "application/x-ndjson", csv: "text/csv" } as const;

/** Which CSV it is, if it is one. Throws `unprocessable` where only half of that is said. */
const csvOf = (query: { readonly format: "ndjson" | "csv"; readonly csv?: CsvFile | undefined }): CsvFile | undefined => {
  if ((query.format === "csv") === (query.csv !== undefined)) return query.csv;
  throw new Problem("unprocessable", { errors: [{ path: "query.csv", message: "goes with format=csv: nodes or edges" }] });
};

/** Lines of one import on the embedded database, which has one writer: everybody waits for some 0.5 ms a line. */
const MAX_EMBEDDED_LINES = 2000;

const requireShort = ({ database }: Pick<MembershipContext, "database">, lines: number): void => {
  if (database.kind !== "pglite" || lines <= MAX_EMBEDDED_LINES) return;
  const other = "send it in parts, stop the service and use `npm run graph -- import`, or use PostgreSQL";
  throw new Problem("body_too_large", { detail: `The embedded database takes ${MAX_EMBEDDED_LINES} lines at once: ${other}.` });
};

/** In parts, so that a slow line of a long file holds up nobody. */
async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.byteLength; from += 65_536) yield bytes.subarray(from, from + 65_536);
}

/** The graph from a file and into one. */
export const serveTransfer = (context: MembershipContext): void => {
  const count = (result: "written" | "tried" | "refused", lines: number): void =>
    context.metrics.count("membership_import_lines_total", { result }, lines);
  const countRefused = (error: unknown): never => {
    if (error instanceof Problem && error.code === "import_refused") count("refused", Number(error.options.members?.["issues"] ?? 0));
    throw error;
  };
  context.router.serve(importGraph, async ({ caller, query, request, correlationId }) => {
    const csv = csvOf(query);
    const type = (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
    if (type !== media[query.format]) {
      const other = query.format === "csv" ? "of format=ndjson" : "with format=csv and csv=nodes or csv=edges in the query";
      const detail = `Send ${media[query.format]}; ${query.format === "csv" ? media.ndjson : media.csv} is taken ${other}.`;
      throw new Problem("unsupported_media_type", { detail });
    }
    const scope = tenantScopeOf(caller);
    // Before a byte of it is read: what nobody may write nobody has read.
    await context.pdpClient.require(caller, { type: "graph", action: "edit" }, correlationId);
    requireKey(request);
    const isTried = query.dry_run === "true";
    const read = async () => readImport(pieces(await readBytes(request, context.config.importMaxBytes)), { scope, csv });
    const plan = await read().catch(countRefused);
    requireShort(context, plan.lines);
    const key = requireKeyedCall(request, caller, { digest: plan.digest, query });
    const act = actOn(["graph", "edit"], "graph")({ caller, correlationId }, "graph_import", undefined, query.reason);
    return writeOnce(
      context,
      { ...act, source: "import" },
      { key, isTried },
      (tx, writer) => applyImport(tx, writer, plan, { mode: query.on_conflict }),
      (done, version): Reply => {
        count(isTried ? "tried" : "written", plan.lines);
        return { lines: plan.lines, ...done, graph_version: Number(version), dry_run: isTried };
      },
    ).catch(countRefused);
  });

  context.router.serve(exportEndpoint, async ({ caller, query, correlationId }) => {
    const scope = tenantScopeOf(caller);
    const csv = csvOf(query);
    const kinds = query.kinds?.split(",").map((word) => word.trim()) ?? [];
    const unknown = kinds.filter((kind) => !isNodeKind(kind) && !isEdgeKind(kind));
    if (unknown.length > 0)
      throw new Problem("unprocessable", { errors: [{ path: "query.kinds", message: "must be kinds of nodes and edges" }] });
    await context.pdpClient.require(caller, { type: "graph", action: "export" }, correlationId);
    const { version, parts } = await exportGraph(context.database, scope, { csv, kinds });
    return new Response(ReadableStream.from(parts), {
      headers: {
        "content-type": media[query.format],
        "content-disposition": `attachment; filename="graph-${version}.${query.format === "csv" ? `${csv}.csv` : "ndjson"}"`,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "x-graph-version": String(version),
      },
    });
  });
};
