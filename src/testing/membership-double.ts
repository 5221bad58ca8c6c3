import type { Peer } from "#contract/ask.ts";
import { Problem, type ProblemCode } from "#contract/problem.ts";
import type { AffectedCapability } from "#contract/registry.ts";
import { problemResponse } from "#http/problem-body.ts";

/** What was asked of a double. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly headers: Headers;
}

export interface MembershipDouble {
  capabilities: readonly string[];
  chain: readonly { audience: string; scopes: readonly string[] }[];
  dataScope: { tenant_ids: readonly string[]; row_filter_sql: string; column_mask: Record<string, string> };
  /** A code: the reservation is refused with it. */
  reserve: "ok" | ProblemCode;
  /** What the delegation that pays demands of the arguments. */
  argumentSchemas: readonly Readonly<Record<string, unknown>>[];
  groups: readonly string[];
  /** Nodes that can own a system. */
  owners: readonly string[];
  /** What the held reservation of a call is, by call id. */
  readonly reservations: Map<string, { id: string; usd: number; steps: number; state: string }>;
  readonly settled: { id: string; usd: number; steps: number; outcome: string }[];
  readonly released: string[];
  /** What is asked next is done, and its answer lost; each once. */
  readonly lost: ("reserve" | "release")[];
  /** What a changed definition would switch off. */
  affected: readonly AffectedCapability[];
  isDown: boolean;
}

interface MembershipBody {
  readonly asks: readonly { readonly subject_id: string; readonly resource?: { readonly type: string; readonly external_id: string } }[];
  readonly call_id: string;
  readonly usd: number;
  readonly steps: number;
  readonly outcome: string;
  readonly dry_run?: boolean;
}

/** A request as it came to a double. */
export const readAsked = async (request: Request): Promise<Asked> => {
  const url = new URL(request.url);
  const text = await request.text();
  return {
    method: request.method,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    body: text === "" ? undefined : JSON.parse(text),
    headers: request.headers,
  };
};
export const json = (value: unknown, status = 200): Response =>
  new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json" } });
export const refuse = (code: ProblemCode): Response => problemResponse(new Problem(code), "test");

/** Membership as the tool server asks it: each answer is what the test says. */
export const membershipPeer =
  (double: MembershipDouble, asked: Asked[]): Peer =>
  async (request) => {
    const seen = await readAsked(request);
    asked.push(seen);
    if (double.isDown) return refuse("store_unavailable");
    const body = seen.body as MembershipBody;
    const unlessLost = (what: MembershipDouble["lost"][number], answer: Response): Response => {
      const at = double.lost.indexOf(what);
      if (at === -1) return answer;
      double.lost.splice(at, 1);
      return refuse("store_unavailable");
    };
    if (seen.path.endsWith("/capabilities")) return json({ capabilities: double.capabilities });
    if (seen.path.endsWith("/chain-eligibility")) return json(double.chain);
    if (seen.path.endsWith("/data-scope")) return json(double.dataScope);
    if (seen.path.endsWith("/health")) return json({ status: "ok", graph_version: 1, version: "1" });
    if (seen.path.endsWith("/facts")) {
      const subject = {
        id: body.asks[0]?.subject_id,
        kind: "Person",
        name: "Some One",
        tenant_ids: ["tenant:acme"],
        groups: double.groups,
        disabled: false,
        mfa_level: null,
      };
      const about = body.asks[0]?.resource;
      // Of all who could own something nobody else is there; of the tools none.
      const resource =
        about?.type === "identities" && double.owners.includes(about.external_id)
          ? { node_id: about.external_id, kind: "Group", name: "Owner", tenant_ids: [], owners: [], granted: false, attributes: {} }
          : null;
      return json({
        graph_version: 1,
        facts: [{ subject, agent: null, capability: false, chain: true, definition_ok: true, delegation: null, resource, edges: [] }],
      });
    }
    if (seen.path.endsWith("/candidates")) return json({ ids: double.owners });
    if (seen.path.endsWith("/mcp/services")) {
      const { name } = seen.body as { readonly name: string };
      const kept = {
        id: `mcp:acme.${name}`,
        name,
        service_type: "external",
        trust: "pinned",
        managed_by: "registry",
        tenant_id: "tenant:acme",
      };
      const times = { created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z" };
      return json({ ...kept, ...times, counts: { tools: 0, resources: 0, prompts: 0 }, state: "active" }, 201);
    }
    if (/\/mcp\/services\/[^/]+\/tools$/.test(seen.path)) return json({ tools: [] });
    if (seen.path.endsWith("/mcp/tools/affected")) return json({ affected: double.affected, truncated: false });
    if (seen.path.endsWith("/mcp/tools/retire")) return json({ retired: [] });
    if (seen.path.endsWith("/identity_nodes/search/with-metadata"))
      return json({ nodes: [], total: 0, limit: 50, skip: 0, has_more: false, relationships: { out: {}, in: {} } });
    if (seen.path.endsWith("/reservations") && seen.method === "POST") {
      if (double.reserve !== "ok") return refuse(double.reserve);
      const id = `r-${body.call_id}`;
      if (body.dry_run !== true) double.reservations.set(body.call_id, { id, usd: body.usd, steps: body.steps, state: "held" });
      return unlessLost(
        "reserve",
        json(
          {
            reservation_id: id,
            state: "held",
            delegation_id: "delegation:ben-hr",
            steps_left: 49,
            budget_left_usd: 4.9,
            ends_at: "2030-01-01T00:00:00.000Z",
            ...(double.argumentSchemas.length === 0 ? {} : { argument_schemas: double.argumentSchemas }),
          },
          201,
        ),
      );
    }
    if (seen.path.endsWith("/reservations")) {
      const held = double.reservations.get(seen.query["call_id"] ?? "");
      if (held === undefined) return json(null);
      const view = {
        reservation_id: held.id,
        call_id: seen.query["call_id"],
        tool_id: "x",
        state: held.state,
        outcome: null,
        steps: held.steps,
        usd: held.usd,
      };
      return json({
        ...view,
        charged_steps: null,
        charged_usd: null,
        created_at: "2026-01-01T00:00:00.000Z",
        closed_at: null,
        delegation_id: "delegation:ben-hr",
      });
    }
    const [, id = "", verb] = /reservations\/([^/]+)\/(settle|release)$/.exec(decodeURIComponent(seen.path)) ?? [];
    if (verb === "settle") {
      double.settled.push({ id, usd: body.usd, steps: body.steps, outcome: body.outcome });
      return json({ charged_usd: body.usd, charged_steps: body.steps, excess_usd: 0, steps_left: 49, budget_left_usd: 4.9 });
    }
    if (verb === "release") {
      const state = [...double.reservations.values()].find((held) => held.id === id)?.state;
      if (state === "lapsed") return problemResponse(new Problem("reservation_closed", { members: { state } }), "test");
      double.released.push(id);
      return unlessLost("release", json({ released: true }));
    }
    return refuse("not_found");
  };
