import type { Sql, Statement } from "#store/database.ts";
import type { Yield } from "#http/yielding.ts";
import { Graph } from "./graph.ts";
import { DELEGATIONS, EDGES, NODES, SIZES } from "./rows-read.ts";

/** Rows of one statement: few enough that reading them is a slice of the loop's time, many enough that the round trips are not what takes the time. */
const PAGE = 4_000;

/**
 * The graph from the database's rows, page by page and each page of its own moment: what was written meanwhile is in the change log, which
 * must be applied from a version on that was the head before this began. So no snapshot is held open, and the embedded database stays free
 * for others. Between two rows others may have their turn. Cost: each row is read once.
 */
export const buildGraph = async (sql: Sql, pause: Yield, signal: AbortSignal): Promise<Graph> => {
  const [sizes] = await sql.run(SIZES);
  const graph = new Graph(sizes);
  graph.operator = sizes?.operator ?? null;
  const load = async <Row extends { readonly id: string }>(pages: Statement<Row>, put: (row: Row) => void): Promise<void> => {
    // The next page is on its way while this one is put.
    let coming = sql.run(pages, ["", PAGE]);
    for (;;) {
      const rows = await coming;
      signal.throwIfAborted();
      const last = rows.at(-1);
      const isLast = last === undefined || rows.length < PAGE;
      if (!isLast) {
        coming = sql.run(pages, [last.id, PAGE]);
        coming.catch(() => undefined);
      }
      for (const [at, row] of rows.entries()) {
        put(row);
        if (at % 64 === 63) await pause();
      }
      if (isLast) return;
    }
  };
  await load(NODES, (row) => graph.putNode(row));
  // By ascending ids each is met once.
  await load(EDGES, (row) => graph.putEdge(row, true));
  await load(DELEGATIONS, (row) => graph.putDelegation(row));
  return graph;
};
