import type { Peer } from "#contract/ask.ts";
import type { ServiceName } from "#contract/endpoint.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import type { PublicOrigins } from "#gateway/model/public-origins.ts";
import type { Upstreams } from "#gateway/proxy/open-upstreams.ts";
import type { RouteTable } from "#gateway/routes/route-table.ts";
import { tableChanges, type TableChanges } from "#gateway/routes/table-changes.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { issueLine } from "#contract/start-issues.ts";
import { openTable, type OpenedTable } from "./open-table.ts";

/** One request's hold of a table: whatever is reloaded meanwhile, it is served by this one. */
export interface HeldRoutes {
  readonly table: RouteTable;
  readonly upstreams: Upstreams;
  /** Once the answer's head is there; its body keeps its connection by itself. */
  release(): void;
}

/** A changed table, read, without issue and with its connections open; nobody is served by it yet. */
export interface PreparedRoutes extends TableChanges {
  readonly revision: string;
  readonly previous: string;
  commit(): void;
  discard(): Promise<void>;
}

export interface RoutesInForce {
  /** The table of this moment. */
  readonly table: RouteTable;
  hold(): HeldRoutes;
  /** A service of the table for the gateway's own questions. */
  peerOf(name: Exclude<ServiceName, "gateway">): Peer;
  /** Reads the files again. Throws `StartIssues`, with nothing changed. One at a time: its caller sees to that. */
  prepare(): Promise<PreparedRoutes>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The table that serves, and its exchange for another while requests are under way. Throws `StartIssues`. */
export const openRoutes = async (parts: GatewayParts, origins: PublicOrigins): Promise<RoutesInForce> => {
  const warn = (warnings: readonly Issue[]): void => {
    for (const warning of warnings) parts.log.warn("route_table_warning", { issue: issueLine(warning) });
  };
  let current = await openTable(parts, origins);
  warn(current.warnings);
  const holds = new Map<Upstreams, number>();
  const retiring = new Map<Upstreams, Promise<void>>();

  const retire = (upstreams: Upstreams): void => {
    if (retiring.has(upstreams) || upstreams === current.upstreams || (holds.get(upstreams) ?? 0) > 0) return;
    const work = upstreams
      .retire()
      .then(() => upstreams[Symbol.asyncDispose]())
      .catch((cause: unknown) => parts.log.warn("upstreams_not_closed", { cause }));
    retiring.set(
      upstreams,
      work.finally(() => retiring.delete(upstreams)),
    );
  };

  const hold = (): HeldRoutes => {
    const { table, upstreams } = current;
    holds.set(upstreams, (holds.get(upstreams) ?? 0) + 1);
    let isHeld = true;
    return {
      table,
      upstreams,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        const left = (holds.get(upstreams) ?? 1) - 1;
        if (left > 0) {
          holds.set(upstreams, left);
          return;
        }
        holds.delete(upstreams);
        retire(upstreams);
      },
    };
  };

  const swap = (opened: OpenedTable): void => {
    const before = current;
    current = opened;
    warn(opened.warnings);
    retire(before.upstreams);
  };

  return {
    get table() {
      return current.table;
    },
    hold,
    peerOf: (name) => async (request) => {
      const held = hold();
      try {
        const peer = held.upstreams.peer(name);
        if (peer === undefined) throw new Problem("upstream_unavailable");
        return await peer(request);
      } finally {
        held.release();
      }
    },
    prepare: async () => {
      const before = current;
      const opened = await openTable(parts, origins, before);
      return {
        revision: opened.table.revision,
        previous: before.table.revision,
        ...tableChanges(before.table, opened.table),
        commit: () => swap(opened),
        discard: async () => {
          if (opened.upstreams !== before.upstreams) await opened.upstreams[Symbol.asyncDispose]();
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([current.upstreams, ...holds.keys(), ...retiring.keys()].map((upstreams) => upstreams[Symbol.asyncDispose]()));
      await Promise.all(retiring.values());
    },
  };
};
