import {
  approveDefinition,
  approveSystemDefinitions,
  listDefinitions,
  readDefinition,
  rejectDefinition,
  type DefinitionRow,
} from "#contract/definitions.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { Change } from "#events/changes/change.ts";
import type { Router } from "#http/serve.ts";
import type { Database } from "#store/database.ts";
import type { MembershipParts } from "#crud/model/ask-membership.ts";
import { readSubject } from "#crud/configs/ui-config.ts";
import { definitionChanges } from "#crud/mcp/definition-changes.ts";
import {
  approveWaiting,
  decideDefinition,
  definitionEvents,
  listStored,
  listWaiting,
  readStored,
  type StoredDefinition,
} from "#crud/mcp/definitions.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { ConfigStore } from "./config-store.ts";
import type { HeldObject } from "./config-kind.ts";
import { refusalOfAct } from "#pdp-client/deployment-acts.ts";
import { isOwn } from "./config-kind.ts";
import type { createToolRegistrar } from "./register-tools.ts";
import { configEntry, writerOf, type Asked } from "#crud/versions/config-events.ts";
import { raiseSet } from "#crud/versions/version-store.ts";

export interface DefinitionEndpoints {
  readonly store: Pick<ConfigStore, "list" | "follow">;
  readonly pdpClient: Pick<PdpClient, "decide" | "refusal" | "require">;
  readonly groups: MembershipParts;
  readonly database: Database;
  readonly change: Change;
  readonly tenants: () => Promise<readonly string[]>;
  readonly toolsOf: (system: string, tenant: string) => readonly Tool[];
  readonly register: ReturnType<typeof createToolRegistrar>;
}

const hex = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString("hex"));

const rowOf = (stored: StoredDefinition, system: HeldObject): DefinitionRow => {
  const owner = system.prepared?.about.owner;
  const { tool, state, since, decided_by, reason } = stored;
  return {
    tool,
    system: stored.system,
    state,
    since,
    decided_by,
    reason,
    ...(owner === undefined ? {} : { owner }),
    approved_digest: hex(stored.approved_digest),
    served_digest: hex(stored.served_digest),
  };
};

/** Definitions that wait for somebody, and that somebody's word: who owns the system, or an administrator. */
export const serveDefinitions = (router: Router<Caller>, parts: DefinitionEndpoints): void => {
  const { store, pdpClient, database, change } = parts;

  const askOf = (id: string, assigned: boolean) => ({ type: "tool", action: "approve_definition", id, properties: { assigned } });
  /** Which systems are the caller's own, or a group's of theirs. */
  const ownership = async ({ caller, correlationId }: Asked): Promise<(system: HeldObject | undefined) => boolean> => {
    const subject = await readSubject(caller.sub, caller.tenant, parts.groups, correlationId);
    const selves = new Set([caller.sub, ...(subject?.groups ?? [])]);
    return (system) => selves.has(system?.prepared?.about.owner ?? "");
  };
  /** The definition and the system that it is of, if this tenant sees that; whether it is there is said only to who may answer it. */
  const enter = async (call: Asked & { readonly params: { readonly tool: string } }) => {
    const { caller, correlationId, params } = call;
    const stored = await readStored(database, params.tool);
    const system = store.list("system", caller.tenant).find(({ name }) => name === stored?.system);
    const isOwner = await ownership(call);
    const { decisionId } = await pdpClient.require(caller, askOf(params.tool, isOwner(system)), correlationId);
    if (stored === undefined || system === undefined) throw new Problem("not_found");
    return { stored, system, by: writerOf(caller, correlationId, decisionId) };
  };

  router.serve(listDefinitions, async (call) => {
    const { caller, correlationId } = call;
    const seen = store.list("system", caller.tenant);
    const ofAll = await pdpClient.decide(caller, { ...askOf("*", false), context: { showing: true } }, correlationId);
    const seesAll = pdpClient.refusal(caller, ofAll) === undefined;
    const shown = seesAll ? seen : seen.filter(await ownership(call));
    const context = call.query.showing === undefined ? {} : { showing: true as const };
    if (!seesAll) await pdpClient.require(caller, { ...askOf("*", shown.length > 0), context }, correlationId);
    const systems = new Map(shown.map((system) => [system.name, system]));
    const found = await listStored(database, [...systems.keys()], call.query.state);
    return {
      definitions: found.flatMap((stored) => {
        const system = systems.get(stored.system);
        return system === undefined ? [] : [rowOf(stored, system)];
      }),
      waiting: [...(await listWaiting(database, [...systems.keys()]))],
    };
  });

  router.serve(readDefinition, async (call) => {
    const { stored, system } = await enter(call);
    const { approved, served } = stored;
    const diff = approved === null || served === null ? [] : [...definitionChanges(approved, served)];
    return { ...rowOf(stored, system), approved, served, diff };
  });

  /** Who sees the system. Throws `cross_tenant` where those are others too and the caller may not answer for them, `step_up_required`. */
  const requireReach = async (asked: Asked, { head }: HeldObject): Promise<readonly string[]> => {
    const tenants = head?.tenants ?? null;
    const refusal = isOwn(tenants, asked.caller.tenant) ? undefined : await refusalOfAct(pdpClient, asked, "edit_systems");
    if (refusal?.code === "access_denied")
      throw new Problem("cross_tenant", {
        detail: "Its system serves other tenants too: who runs the deployment (role:platform) answers.",
      });
    if (refusal !== undefined) throw refusal;
    return tenants ?? (await parts.tenants());
  };
  /** Makes what was approved known to the graph, by name and digest: what is served with another definition by now nobody has approved. */
  const registerApproved = async ({ caller, correlationId }: Asked, system: HeldObject, approved: ReadonlyMap<string, string | null>) => {
    const served = parts.toolsOf(system.name, caller.tenant).filter(({ name }) => approved.has(name));
    const tools = served.filter(({ name, digest }) => approved.get(name) === digest);
    const others = served.filter((tool) => !tools.includes(tool)).map(({ name }) => name);
    const about = system.prepared?.about ?? {};
    const reported = await parts.register({ caller, correlationId, system: system.name, about, tools, removed: [], isApproved: true });
    return [...reported, ...others.map((name) => `${name} is served with another definition than the approved one: look again.`)];
  };

  const decide = async (
    call: Asked & { readonly params: { readonly tool: string } },
    to: "approved" | "rejected",
    reason: string,
    digest: string | undefined,
  ) => {
    const { stored, system, by } = await enter(call);
    const tenants = await requireReach(call, system);
    await change(async (sql) => {
      const decided = await decideDefinition(sql, { tool: stored.tool, to, digest, by: by.subject, reason });
      if (!decided)
        throw new Problem("conflict", {
          detail: to === "approved" ? "The server serves another definition by now: look again." : "It is rejected already.",
        });
      await raiseSet(sql);
      const entry = configEntry(by, to, { kind: "tool", name: stored.tool }, { digest: digest ?? hex(stored.served_digest) });
      return { result: undefined, entries: [entry], events: definitionEvents(stored.system, [stored.tool], { state: to, tenants }) };
    });
    await store.follow();
    return {
      tool: stored.tool,
      state: to,
      warnings: to === "rejected" ? [] : await registerApproved(call, system, new Map([[stored.tool, digest ?? null]])),
    };
  };
  router.serve(approveDefinition, (call) => decide(call, "approved", call.body.reason, call.body.digest));
  router.serve(rejectDefinition, (call) => decide(call, "rejected", call.body.reason, undefined));

  router.serve(approveSystemDefinitions, async (call) => {
    const { caller, correlationId, params, body } = call;
    const system = store.list("system", caller.tenant).find(({ name }) => name === params.name);
    const isOwner = await ownership(call);
    const { decisionId } = await pdpClient.require(caller, askOf(params.name, isOwner(system)), correlationId);
    if (system === undefined) throw new Problem("not_found");
    const by = writerOf(caller, correlationId, decisionId);
    const tenants = await requireReach(call, system);
    const approved = await change(async (sql) => {
      const waiting = await approveWaiting(sql, { system: system.name, ...body, by: by.subject });
      if (waiting === undefined) throw new Problem("conflict", { detail: "Other definitions wait by now: look again." });
      await raiseSet(sql);
      const names = waiting.map(({ tool }) => tool).toSorted();
      return {
        result: new Map(waiting.map(({ tool, served_digest: digest }) => [tool, hex(digest)])),
        entries: waiting.map(({ tool, served_digest: digest }) =>
          configEntry(by, "approved", { kind: "tool", name: tool }, { digest: hex(digest), set: body.digest }),
        ),
        events: definitionEvents(system.name, names, { state: "approved", tenants }),
      };
    });
    await store.follow();
    return { system: system.name, approved: [...approved.keys()].toSorted(), warnings: await registerApproved(call, system, approved) };
  });
};
