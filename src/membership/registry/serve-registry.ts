import type { Caller } from "#authn/caller.ts";
import { Problem } from "#contract/problem.ts";
import {
  affectedCapabilities,
  deleteMcpService,
  deleteMcpTool,
  getMcpService,
  getMcpServiceByName,
  getMcpTool,
  getMcpToolByName,
  listMcpServices,
  listMcpTools,
  putMcpPrompts,
  putMcpResources,
  putMcpTools,
  registerMcpService,
  retireMcpTools,
  listMcpPrompts,
  listMcpResources,
  type McpPrompt,
  type McpResource,
} from "#contract/registry.ts";
import { answer } from "#http/serve.ts";
import { gone, statusOf, versioned } from "#membership/graph-edit/graph-answers.ts";
import { actOn, writeAs } from "#membership/graph-edit/write-as.ts";
import { lockNodes, type NodeRow } from "#membership/graph/put-node.ts";
import { tenantScopeOf, type TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { tagOf } from "#membership/if-match.ts";
import type { MembershipRoom } from "#membership/room.ts";
import { definedPrompt, definedResource, definedTool } from "./definitions.ts";
import { serviceOfPublished } from "./published-server.ts";
import { readAffected } from "./read-affected.ts";
import { findService, findTools, listServices, listTools, listProvided, providedView } from "./read-registry.ts";
import { dropService, dropTool, putProvided, putService, retireTools } from "./write-registry.ts";

interface Call {
  readonly caller: Caller;
  readonly correlationId: string;
}

/** MCP services and what they provide: who may be asked for what, by whom it is owned, and which definition is in force. */
export const serveRegistry = (room: MembershipRoom): void => {
  const { router, decider, database } = room;

  const requireView = async ({ caller, correlationId }: Call, id: string): Promise<TenantScope> => {
    const scope = tenantScopeOf(caller);
    await decider.require(caller, { type: "registry", action: "view", id }, correlationId);
    return scope;
  };
  const act = actOn(["registry", "edit"], "registry");
  const requireService = async (scope: TenantScope, by: Parameters<typeof findService>[2]) => {
    const found = await findService(database, scope, by);
    if (found === undefined) throw new Problem("not_found");
    return found;
  };
  const shown = <T>(found: { readonly value: T; readonly rev: bigint }) => answer(found.value, { headers: { etag: tagOf(found) } });

  router.serve(registerMcpService, async (call) => {
    const { caller } = call;
    const body = "service_type" in call.body ? call.body : serviceOfPublished(call.body);
    const { value, version } = await writeAs(room, act(call, "registry_put_service", body.name, body.reason), async (tx, scope) => {
      const put = await putService(tx, scope, body, caller.sub);
      return { value: { ...put, ...(await findService(tx.sql, scope, { id: put.id })) } };
    });
    if (value.service === undefined || value.rev === undefined) throw new Error("a service is there once it is written");
    return answer(value.service, {
      status: statusOf(value.outcome),
      headers: { ...versioned(version), etag: tagOf({ rev: value.rev }) },
    });
  });
  router.serve(listMcpServices, async (call) => {
    const { limit, skip, ...filter } = call.query;
    const scope = await requireView(call, "services");
    const { items: services, total } = await listServices(database, scope, filter, { limit, skip });
    return { services: [...services], total, limit, skip, has_more: skip + services.length < total };
  });
  router.serve(getMcpServiceByName, async (call) => {
    const scope = await requireView(call, call.params.name);
    const { service: value, rev } = await requireService(scope, { name: call.params.name });
    return shown({ value, rev });
  });
  router.serve(getMcpService, async (call) => {
    const scope = await requireView(call, call.params.service_id);
    const { service: value, rev } = await requireService(scope, { id: call.params.service_id });
    return shown({ value, rev });
  });
  router.serve(deleteMcpService, async (call) => {
    const { params, query } = call;
    const { version } = await writeAs(room, act(call, "registry_drop_service", params.service_id, query.reason), async (tx, scope) => {
      await dropService(tx, scope, params.service_id, query.force === "true");
      return { value: undefined };
    });
    return gone(version);
  });

  router.serve(putMcpTools, async (call) => {
    const { body, params } = call;
    const list = "tools" in body ? body : undefined;
    const { value, version } = await writeAs(room, act(call, "registry_put_tools", params.service_id, body.reason), async (tx, scope) => {
      const put = await putProvided(tx, scope, params.service_id, list?.tools ?? [body as never], definedTool, list && "tools");
      const tools = (await findTools(tx.sql, scope, { ids: put.ids })).map(({ tool }) => tool);
      return { value: { outcomes: put.outcomes, tools } };
    });
    const [one] = value.tools;
    const reply = list === undefined && one !== undefined ? one : { tools: value.tools };
    return answer(reply, { status: statusOf(...value.outcomes), headers: versioned(version) });
  });
  router.serve(listMcpTools, async (call) => {
    const { limit, skip } = call.query;
    const scope = await requireView(call, call.params.service_id);
    await requireService(scope, { id: call.params.service_id });
    const { items: tools, total } = await listTools(database, scope, call.params.service_id, { limit, skip });
    return { tools: [...tools], total, limit, skip, has_more: skip + tools.length < total };
  });
  router.serve(getMcpToolByName, async (call) => {
    const found = await findTools(database, await requireView(call, call.params.tool_name), { name: call.params.tool_name });
    const [one] = found;
    if (one === undefined) throw new Problem("not_found");
    if (found.length > 1) throw new Problem("ambiguous_name", { members: { ids: found.map(({ tool }) => tool.id) } });
    return shown({ value: one.tool, rev: one.rev });
  });
  router.serve(getMcpTool, async (call) => {
    const [found] = await findTools(database, await requireView(call, call.params.tool_id), { ids: [call.params.tool_id] });
    if (found === undefined) throw new Problem("not_found");
    return shown({ value: found.tool, rev: found.rev });
  });
  router.serve(deleteMcpTool, async (call) => {
    const { params, query } = call;
    const { version } = await writeAs(room, act(call, "registry_drop_tool", params.tool_id, query.reason), async (tx, scope) => {
      await dropTool(tx, scope, params.tool_id, query.purge === "true");
      return { value: undefined };
    });
    return gone(version);
  });

  router.serve(retireMcpTools, async (call) => {
    const { body } = call;
    const { value, version } = await writeAs(room, act(call, "registry_retire_tools", undefined, body.reason), async (tx, scope) => ({
      value: { retired: [...(await retireTools(tx, scope, [...new Set(body.tool_ids)]))] },
    }));
    return answer(value, { headers: versioned(version) });
  });

  router.serve(affectedCapabilities, async ({ caller, correlationId, body }) => {
    const scope = tenantScopeOf(caller);
    await decider.require(caller, { type: "registry", action: "edit", id: "tools" }, correlationId);
    return readAffected(database, scope, body.tools);
  });

  /** Resources and prompts, as they are kept now. */
  const provided = async <View extends McpResource | McpPrompt>(tx: GraphTransaction, ids: readonly string[], service: NodeRow) => {
    const rows = await lockNodes(tx.sql, ids);
    return ids.flatMap((id) => {
      const row = rows.get(id);
      return row === undefined ? [] : [providedView<View>(service.id, row)];
    });
  };
  const pageOf = async <View extends McpResource | McpPrompt>(
    call: Call & { readonly params: { service_id: string }; readonly query: { limit: number; skip: number } },
    kind: "PROVIDES_RESOURCE" | "OFFERS_PROMPT",
  ) => {
    const { limit, skip } = call.query;
    const scope = await requireView(call, call.params.service_id);
    await requireService(scope, { id: call.params.service_id });
    const { items, total } = await listProvided<View>(database, scope, call.params.service_id, kind, { limit, skip });
    return { items: [...items], total, limit, skip, has_more: skip + items.length < total };
  };
  router.serve(listMcpResources, async (call) => {
    const { items, ...page } = await pageOf<McpResource>(call, "PROVIDES_RESOURCE");
    return { resources: items, ...page };
  });
  router.serve(listMcpPrompts, async (call) => {
    const { items, ...page } = await pageOf<McpPrompt>(call, "OFFERS_PROMPT");
    return { prompts: items, ...page };
  });
  router.serve(putMcpResources, async (call) => {
    const { body, params } = call;
    const list = "resources" in body ? body : undefined;
    const { value, version } = await writeAs(
      room,
      act(call, "registry_put_resources", params.service_id, body.reason),
      async (tx, scope) => {
        const put = await putProvided(
          tx,
          scope,
          params.service_id,
          list?.resources ?? [body as never],
          definedResource,
          list && "resources",
        );
        return { value: { outcomes: put.outcomes, resources: await provided<McpResource>(tx, put.ids, put.service) } };
      },
    );
    const [one] = value.resources;
    const reply = list === undefined && one !== undefined ? one : { resources: value.resources };
    return answer(reply, { status: statusOf(...value.outcomes), headers: versioned(version) });
  });
  router.serve(putMcpPrompts, async (call) => {
    const { body, params } = call;
    const list = "prompts" in body ? body : undefined;
    const { value, version } = await writeAs(room, act(call, "registry_put_prompts", params.service_id, body.reason), async (tx, scope) => {
      const put = await putProvided(tx, scope, params.service_id, list?.prompts ?? [body as never], definedPrompt, list && "prompts");
      return { value: { outcomes: put.outcomes, prompts: await provided<McpPrompt>(tx, put.ids, put.service) } };
    });
    const [one] = value.prompts;
    const reply = list === undefined && one !== undefined ? one : { prompts: value.prompts };
    return answer(reply, { status: statusOf(...value.outcomes), headers: versioned(version) });
  });
};
