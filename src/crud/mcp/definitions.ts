import { statement } from "#store/database.ts";
import type { Change } from "#events/change.ts";
import type { EventDraft } from "#events/event-draft.ts";
import type { Tool } from "./tool.ts";

type State = "proposed" | "approved" | "drifted" | "rejected";

interface Row {
  readonly tool: string;
  readonly state: State;
  readonly approved_digest: Uint8Array | null;
  readonly served_digest: Uint8Array | null;
}

const OF_SYSTEM = statement<Row>(
  "crud.definitions_of_system",
  "select tool, state, approved_digest, served_digest from crud.tool_definition where system = $1 for update",
);
const FIRST = statement(
  "crud.definition_first",
  `insert into crud.tool_definition (tool, system, state, approved_digest, served_digest, approved, served, since, decided_by, reason)
   values ($1, $2, $3, $4, $5, $6::jsonb, $7::jsonb, now(), $8, $9) on conflict (tool) do nothing`,
);
const SERVED = statement(
  "crud.definition_served",
  "update crud.tool_definition set state = $2, served_digest = $3, served = $4::jsonb, since = now() where tool = $1",
);

export interface Definitions {
  /**
   * Notes what an external system serves now. Answers the names that may not be served: those whose definition is not the
   * approved one, and with `quarantineNew` those that were never approved. One transaction with the events that tell of it.
   */
  note(system: string, tools: readonly Tool[], quarantineNew: boolean): Promise<ReadonlySet<string>>;
}

const bytes = (hex: string): Uint8Array => Buffer.from(hex, "hex");
const isSame = (held: Uint8Array | null, hex: string): boolean => held !== null && Buffer.from(held).toString("hex") === hex;

/** The kept pins of external definitions. `tenants`: who hears of a tool that all share. */
export const createDefinitions = (parts: { readonly change: Change; readonly tenants: () => Promise<readonly string[]> }): Definitions => ({
  note: async (system, tools, quarantineNew) => {
    const all = await parts.tenants();
    return parts.change(async (sql) => {
      const held = new Map((await sql.run(OF_SYSTEM, [system])).map((row) => [row.tool, row]));
      const refused = new Set<string>();
      const told: { tool: Tool; state: State }[] = [];
      for (const tool of tools) {
        const row = held.get(tool.name);
        const text = JSON.stringify(tool.definition);
        if (row === undefined) {
          const state: State = quarantineNew ? "proposed" : "approved";
          const approved = quarantineNew ? [null, null] : [bytes(tool.digest), text];
          await sql.run(FIRST, [
            tool.name,
            system,
            state,
            approved[0] ?? null,
            bytes(tool.digest),
            approved[1] ?? null,
            text,
            null,
            quarantineNew ? null : "first seen",
          ]);
          told.push({ tool, state });
          if (quarantineNew) refused.add(tool.name);
          continue;
        }
        const isApproved = row.state !== "rejected" && isSame(row.approved_digest, tool.digest);
        const state: State = isApproved ? "approved" : row.approved_digest === null || row.state === "rejected" ? row.state : "drifted";
        if (!isApproved) refused.add(tool.name);
        if (isSame(row.served_digest, tool.digest) && row.state === state) continue;
        await sql.run(SERVED, [tool.name, state, bytes(tool.digest), text]);
        told.push({ tool, state });
      }
      return { result: refused, events: told.flatMap(({ tool, state }) => eventsOf(system, tool, state, tool.tenants ?? all)) };
    });
  },
});

const eventsOf = (system: string, tool: Tool, state: State, tenants: readonly string[]): readonly EventDraft[] =>
  tenants.map((tenant) => ({
    type: state === "approved" ? "tool.approved" : "tool.drifted",
    tenant,
    stream: "config",
    kind: "tools",
    key: tool.name,
    data: { service: `mcp:${system}`, added: [], removed: [], changed: [tool.name], state: state === "approved" ? "approved" : "drifted" },
  }));
