import { z } from "zod";
import type { AuditCategory } from "#contract/events.ts";
import { eventTypes } from "#contract/event-types.ts";
import type { EventDraft } from "./event-draft.ts";

/** The members of an audit entry that are told; persons stand in it as references already. */
interface Leaf {
  readonly entry_id: string;
  readonly phase: "open" | "close" | "single";
  readonly act_id: string;
  readonly outcome: string;
  readonly code?: string;
  readonly actor: { readonly subject_ref: string; readonly agent_id?: string; readonly delegation_id?: string };
  readonly resource: { readonly type: string; readonly id?: string };
  readonly decision_id?: string;
  readonly correlation_id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Reported {
  readonly type: string;
  readonly key: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const toolType = ({ phase, outcome }: Leaf): string => {
  if (phase === "open") return "tool.started";
  if (outcome === "unknown") return "tool.unknown";
  return outcome === "denied" || outcome === "refused" ? "tool.refused" : "tool.called";
};

const mappings: Partial<Record<AuditCategory, (leaf: Leaf) => Reported | undefined>> = {
  tool_call: (leaf) => ({
    type: toolType(leaf),
    key: leaf.actor.delegation_id ?? leaf.actor.subject_ref,
    data: {
      ...leaf.data,
      tool: leaf.resource.id ?? "",
      call_id: leaf.act_id,
      outcome: leaf.outcome,
      code: leaf.code,
      subject_ref: leaf.actor.subject_ref,
      agent_id: leaf.actor.agent_id,
      delegation_id: leaf.actor.delegation_id,
      decision_id: leaf.decision_id,
      correlation_id: leaf.correlation_id,
    },
  }),
  // Of an end its own event tells, which the live stream shows too.
  sign_in: (leaf) => {
    const { event, session_ref: ref } = leaf.data;
    if (event === "failed") return { type: "signin.failed", key: "signin", data: leaf.data };
    if (event !== "in" && event !== "step_up") return undefined;
    const type = event === "in" ? "session.created" : "session.stepped_up";
    return { type, key: String(ref), data: { ...leaf.data, subject_ref: leaf.actor.subject_ref } };
  },
  // Of other configuration its own events tell, which the live stream shows too.
  config: ({ outcome, resource, data }) =>
    outcome === "ok" && resource.type === "gateway.routes"
      ? {
          type: "config.reloaded",
          key: resource.type,
          data: { ...data, kind: resource.type, version: data["revision"], op: data["event"] },
        }
      : undefined,
};

/** The members that consumers know: an entry is recorded whatever becomes of its event. */
const declared = (type: string, data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(eventTypes[type]?.data.shape ?? {}).flatMap(([name, shape]) =>
      data[name] !== undefined && z.safeParse(shape, data[name]).success ? [[name, data[name]]] : [],
    ),
  );

/** Events that an entry of the audit log is at the same time, made of its text, with its id. Cost: one parse of it. */
export const eventsOf = (tenant: string, category: AuditCategory, text: string): readonly EventDraft[] => {
  const tell = mappings[category];
  if (tell === undefined) return [];
  const leaf = JSON.parse(text) as Leaf;
  const reported = tell(leaf);
  if (reported === undefined) return [];
  return [{ ...reported, id: leaf.entry_id, tenant, data: declared(reported.type, reported.data), correlationId: leaf.correlation_id }];
};
