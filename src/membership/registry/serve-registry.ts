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
import { requireView, type Asking } from "#membership/context/access.ts";
import { skippedPage, statusOf, versioned } from "#membership/context/graph-answers.ts";
import { actOn, takeAway, writeAs } from "#membership/graph-edit/write-as.ts";
import { lockNodes, type NodeRow } from "#membership/graph/put-node.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { tagOf } from "#membership/model/if-match.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { definedPrompt, definedResource, definedTool, serviceOfPublished } from "./definitions.ts";
import { findService, findTools, listProvided, listServices, providedView, readAffected, toolView, type ToolRow } from "./read-registry.ts";
import { dropService, dropTool, putProvided, putService, retireTools } from "./write-registry.ts";

/** MCP services and what they provide: who may be asked for what, by whom it is owned, and which definition is in force. */
export const serveRegistry = (context: MembershipContext): void => {
  const { router, database } = context;
  const requireLook = (call: Asking, id: string): Promise<TenantScope> =>
    requireView(context, call, { type: "registry", action: "view", id });
  const act = actOn(["registry", "edit"], "registry");
  const requireService = async (scope: TenantScope, by: Parameters<typeof findService>[2]) => {
    const found = await findService(database, scope, by);
    if (found === undefined) throw new Problem("not_found");
    return found;
  };
  const shown = <T>(found: { readonly value: T; readonly rev: bigint }) => answer(found.value, { headers: { etag: tagOf(found) } });

  router.serve(registerMcpService, async (call) => {
    const body = "service_type" in call.body ? call.body : serviceOfPublished(call.body);
    const { value, version } = await writeAs(context, act(call, "registry_put_service", body.name, body.reason), async (tx, scope) => {
      const { id, outcome } = await putService(tx, scope, body, call.caller.sub);
      return { value: { outcome, kept: await findService(tx.sql, scope, { id }) } };
    });
    const { kept, outcome } = value;
    if (kept === undefined) throw new Error("a service is there once it is written");
    return answer(kept.value, { status: statusOf(outcome), headers: { ...versioned(version), etag: tagOf(kept) } });
  });
  router.serve(listMcpServices, async (call) => {
    const { limit, skip, ...filter } = call.query;
    const scope = await requireLook(call, "services");
    const { items: services, total } = await listServices(database, scope, filter, { limit, skip });
    return { services: [...services], ...skippedPage(call.query, services.length, total) };
  });
  router.serve(getMcpServiceByName, async (call) => {
    const { name } = call.params;
    return shown(await requireService(await requireLook(call, name), { name }));
  });
  router.serve(getMcpService, async (call) => {
    const { service_id: id } = call.params;
    return shown(await requireService(await requireLook(call, id), { id }));
  });
  router.serve(deleteMcpService, async (call) => {
    const { params, query } = call;
    return takeAway(context, act(call, "registry_drop_service", params.service_id, query.reason), (tx, scope) =>
      dropService(tx, scope, params.service_id, query.force === "true"),
    );
  });

  router.serve(getMcpToolByName, async (call) => {
    const found = await findTools(database, await requireLook(call, call.params.tool_name), { name: call.params.tool_name });
    const [one] = found;
    if (one === undefined) throw new Problem("not_found");
    if (found.length > 1) throw new Problem("ambiguous_name", { members: { ids: found.map(({ value }) => value.id) } });
    return shown(one);
  });
  router.serve(getMcpTool, async (call) => {
    const [found] = await findTools(database, await requireLook(call, call.params.tool_id), { ids: [call.params.tool_id] });
    if (found === undefined) throw new Problem("not_found");
    return shown(found);
  });
  router.serve(deleteMcpTool, async (call) => {
    const { params, query } = call;
    return takeAway(context, act(call, "registry_drop_tool", params.tool_id, query.reason), (tx, scope) =>
      dropTool(tx, scope, params.tool_id, query.purge === "true"),
    );
  });

  router.serve(retireMcpTools, async (call) => {
    const { body } = call;
    const { value, version } = await writeAs(context, act(call, "registry_retire_tools", undefined, body.reason), async (tx, scope) => ({
      value: { retired: [...(await retireTools(tx, scope, [...new Set(body.tool_ids)]))] },
    }));
    return answer(value, { headers: versioned(version) });
  });

  router.serve(affectedCapabilities, async (call) => {
    const scope = await requireView(context, call, { type: "registry", action: "edit", id: "tools" });
    return readAffected(database, scope, call.body.tools);
  });

  const pageOf = async <View>(
    call: Asking & { readonly params: { service_id: string }; readonly query: { limit: number; skip: number } },
    kind: "PROVIDES" | "PROVIDES_RESOURCE" | "OFFERS_PROMPT",
    view: (row: ToolRow, serviceId: string) => View,
  ) => {
    const { service_id: serviceId } = call.params;
    const scope = await requireLook(call, serviceId);
    await requireService(scope, { id: serviceId });
    const { items, total } = await listProvided(database, scope, { serviceId, kind, view }, call.query);
    return { items: [...items], page: skippedPage(call.query, items.length, total) };
  };
  router.serve(listMcpTools, async (call) => {
    const { items: tools, page } = await pageOf(call, "PROVIDES", toolView);
    return { tools, ...page };
  });
  router.serve(listMcpResources, async (call) => {
    const { items: resources, page } = await pageOf(call, "PROVIDES_RESOURCE", providedView<McpResource>);
    return { resources, ...page };
  });
  router.serve(listMcpPrompts, async (call) => {
    const { items: prompts, page } = await pageOf(call, "OFFERS_PROMPT", providedView<McpPrompt>);
    return { prompts, ...page };
  });

  /** Registers what a service provides: a list, or the one that the body is; `one` is answered alone as it was sent. */
  const put = async <Draft, Kept>(
    call: Asking & { readonly params: { service_id: string }; readonly body: { readonly reason?: string | undefined } },
    name: "tools" | "resources" | "prompts",
    list: readonly Draft[] | undefined,
    define: Parameters<typeof putProvided<Draft>>[4],
    read: (tx: GraphTransaction, written: Awaited<ReturnType<typeof putProvided>>, scope: TenantScope) => Promise<Kept[]>,
  ) => {
    const { service_id: id } = call.params;
    const { value, version } = await writeAs(context, act(call, `registry_put_${name}`, id, call.body.reason), async (tx, scope) => {
      const written = await putProvided(tx, scope, id, list ?? [call.body as Draft], define, list && name);
      return { value: { outcomes: written.outcomes, all: await read(tx, written, scope) } };
    });
    const { all, outcomes } = value;
    return { all, one: list === undefined ? all[0] : undefined, as: { status: statusOf(...outcomes), headers: versioned(version) } };
  };
  /** Resources and prompts, as they are kept now. */
  const provided = async <View extends McpResource | McpPrompt>(
    { sql }: GraphTransaction,
    { ids, service }: { readonly ids: readonly string[]; readonly service: NodeRow },
  ): Promise<View[]> => {
    const rows = await lockNodes(sql, ids);
    return ids.flatMap((id) => rows.get(id) ?? []).map((row) => providedView<View>(row, service.id));
  };
  router.serve(putMcpTools, async (call) => {
    const list = "tools" in call.body ? call.body.tools : undefined;
    const { one, all, as } = await put(call, "tools", list, definedTool, async (tx, { ids }, scope) =>
      (await findTools(tx.sql, scope, { ids })).map(({ value }) => value),
    );
    return answer(one ?? { tools: all }, as);
  });
  router.serve(putMcpResources, async (call) => {
    const list = "resources" in call.body ? call.body.resources : undefined;
    const { one, all, as } = await put(call, "resources", list, definedResource, provided<McpResource>);
    return answer(one ?? { resources: all }, as);
  });
  router.serve(putMcpPrompts, async (call) => {
    const list = "prompts" in call.body ? call.body.prompts : undefined;
    const { one, all, as } = await put(call, "prompts", list, definedPrompt, provided<McpPrompt>);
    return answer(one ?? { prompts: all }, as);
  });
};
