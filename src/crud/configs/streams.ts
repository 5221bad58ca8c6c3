import { z } from "zod";
import { configObjectKinds } from "#contract/configs.ts";
import { endpoint } from "#contract/endpoint.ts";
import { auditCategories } from "#contract/events.ts";
import { Problem } from "#contract/problem.ts";
import { endsInMs, type Caller } from "#authn/model/caller.ts";
import type { Authenticate } from "#authn/callers/authenticate.ts";
import { createStreamShare } from "#authn/callers/stream-share.ts";
import { activityResponse } from "#events/streams/activity.ts";
import type { References } from "#events/audit/references.ts";
import { createConfigWatch, rightKinds } from "#events/streams/config-watch.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import { streamResponse } from "#events/streams/stream.ts";
import { watchConfigs } from "./watch-configs.ts";
import type { ConfigStore } from "./config-store.ts";
import { correlationIdOf } from "#http/correlation-id.ts";
import type { Router } from "#http/serve.ts";
import type { EvaluationQuery, PdpClient } from "#pdp-client/pdp-client.ts";
import type { Log } from "#telemetry/log.ts";
import type { Database } from "#store/database.ts";
import type { MembershipParts } from "#crud/model/ask-membership.ts";
import { openRunSight } from "#crud/workflows/tasks/run-sight.ts";
import { createTaskGraph } from "#crud/workflows/tasks/task-graph.ts";
import { readSubject } from "./ui-config.ts";

export interface StreamsParts extends MembershipParts {
  readonly authenticate: Authenticate;
  readonly pdpClient: PdpClient;
  readonly bus: LiveBus;
  readonly database: Database;
  readonly store: ConfigStore;
  readonly references: References;
  readonly stopping: AbortSignal;
  readonly log: Log;
  readonly now: () => Date;
}

const reported = { reply: z.unknown(), auth: "bearer", agents: "never", summary: "Live events." } as const;
const shape = endpoint("crud", "GET", "/events", reported);
/** Configuration itself, not only that it changed. */
const configShape = endpoint("crud", "GET", "/configs/stream", { ...reported, scope: ["config.read"] });

const configKinds: ReadonlySet<string> = new Set(["config", "tools", "delegation", "budget", "graph", "policy", "plugin", "session"]);
const objectKinds: ReadonlySet<string> = new Set(configObjectKinds);
const categories: ReadonlySet<string> = new Set(auditCategories);
const MAX_VALUES = 20;
const MAX_CHARACTERS = 256;

/** Every parameter that is none is refused: a misspelt filter would show all, or nothing. */
const guardNames = (url: URL, names: readonly string[]): void => {
  const issues = [...new Set(url.searchParams.keys())]
    .filter((name) => name !== "last_event_id" && !names.includes(name))
    .map((name) => ({ path: `query.${name}`, message: "is not known here", code: "unknown" }));
  if (issues.length > 0) throw new Problem("unknown_parameter", { errors: issues });
};

/** Values of the named parameters, which mean the same, each at most 20 times; of a closed list where there is one. */
const readFilter = (url: URL, names: readonly string[], known?: ReadonlySet<string>): ReadonlySet<string> | undefined => {
  const values = names.flatMap((name) => url.searchParams.getAll(name));
  const isWrong = values.some((value) => (known === undefined ? value === "" || value.length > MAX_CHARACTERS : !known.has(value)));
  if (isWrong || values.length > MAX_VALUES) {
    const what = known === undefined ? `values of 1-${MAX_CHARACTERS} characters` : `of ${[...known].join(", ")}`;
    throw new Problem("unprocessable", {
      errors: [{ path: `query.${names[0] ?? ""}`, message: `must be at most ${MAX_VALUES} ${what}` }],
    });
  }
  return values.length === 0 ? undefined : new Set(values);
};

/** Streams are decided like everything else, and again while they are open. */
export const serveStreams = (router: Router<Caller>, parts: StreamsParts): void => {
  const readsConfig = { type: "system", action: "view", id: "*" };
  const isPermitted = async (caller: Caller, question: EvaluationQuery, correlationId: string): Promise<boolean> =>
    parts.pdpClient.refusal(caller, await parts.pdpClient.decide(caller, question, correlationId)) === undefined;
  /**
   * A stream opens to whoever may have it and shows one's own; with the right, the tenant's. Where that wants a fresh sign-in the
   * stream is one's own: a browser cannot sign in anew inside a stream, and `streams` itself answers 401 where it wants one.
   */
  const seesAll = (caller: Caller, correlationId: string, context: Readonly<Record<string, true>>): Promise<boolean> =>
    isPermitted(caller, { type: "activity", action: "view_all", context }, correlationId);

  const rightChanges = createConfigWatch({ bus: parts.bus, kinds: rightKinds, log: parts.log });
  const enter = async (request: Request, action: "config" | "workflow" | "activity", what: typeof shape) => {
    const correlationId = correlationIdOf(request.headers.get("x-correlation-id"));
    const caller = await parts.authenticate(request, what);
    const context = { background: true } as const;
    const recheck = async (): Promise<boolean> => {
      // The gateway's token is for opening the stream; the session behind it is the gateway's to watch, and it cuts the stream.
      if ((endsInMs(caller, parts.now()) ?? Infinity) <= 0) return false;
      if (!(await isPermitted(caller, { type: "streams", action, context }, correlationId))) return false;
      if (what === configShape && !(await isPermitted(caller, { ...readsConfig, context }, correlationId))) return false;
      // Whoever may not see everybody's any more comes back to a stream of their own.
      return !all || (await seesAll(caller, correlationId, context));
    };
    await parts.pdpClient.require(caller, { type: "streams", action }, correlationId);
    if (what === configShape) await parts.pdpClient.require(caller, readsConfig, correlationId);
    // Of the workflow stream each event is looked at instead.
    const all = action !== "workflow" && (await seesAll(caller, correlationId, { showing: true }));
    const url = new URL(request.url);
    const reader = {
      bus: parts.bus,
      tenant: caller.tenant,
      subject: caller.sub,
      seesAll: all,
      recheck,
      rightChanges,
      endsInMs: endsInMs(caller, parts.now()),
      lastEventId: request.headers.get("last-event-id") ?? url.searchParams.get("last_event_id") ?? undefined,
      signal: AbortSignal.any([request.signal, parts.stopping]),
    };
    return { caller, url, correlationId, reader };
  };

  const share = createStreamShare();
  type Entered = Awaited<ReturnType<typeof enter>>;
  /** `reader` is what every stream needs to know of whoever reads it. */
  const serve = (
    action: "config" | "workflow" | "activity",
    open: (entered: Entered & { readonly reader: { readonly ended: () => void } }) => Promise<Response>,
    [path, what]: readonly [string, typeof shape] = [`/events/${action}`, shape],
  ): void =>
    router.raw("GET", path, async (request) => {
      const entered = await enter(request, action, what);
      const ended = share.claim(entered.caller);
      try {
        return await open({ ...entered, reader: { ...entered.reader, ended } });
      } catch (error) {
        ended();
        throw error;
      }
    });

  serve("config", async ({ url, reader }) => {
    guardNames(url, ["event", "kind"]);
    const kinds = readFilter(url, ["event", "kind"], configKinds);
    return streamResponse({ ...reader, stream: "config", kinds, reload: ["/api/membership/delegations", "/api/crud/mcp/tools/list"] });
  });

  serve(
    "config",
    async ({ caller, url, reader }) => {
      guardNames(url, ["kind"]);
      const kinds = readFilter(url, ["kind"], objectKinds) ?? objectKinds;
      return streamResponse({
        ...reader,
        stream: "config",
        only: ({ kind, data }) => kind === "config" && kinds.has(String(data["kind"])),
        watch: watchConfigs(parts.store, caller.tenant, kinds),
      });
    },
    ["/configs/stream", configShape],
  );

  const graph = createTaskGraph(parts);
  serve("workflow", async ({ caller, url, correlationId, reader }) => {
    guardNames(url, ["run_id", "workflow"]);
    const [runs, workflows] = [readFilter(url, ["run_id"]), readFilter(url, ["workflow"])];
    const fits = (wanted: ReadonlySet<string> | undefined, value: unknown): boolean =>
      wanted === undefined || (typeof value === "string" && wanted.has(value));
    const sight = await openRunSight({ pdpClient: parts.pdpClient, graph }, { caller, correlationId });
    return streamResponse({
      ...reader,
      stream: "workflow",
      seesAll: true,
      only: (event) => fits(runs, event.data["run_id"]) && fits(workflows, event.data["workflow"]) && sight.sees(event),
      recheck: async () => {
        if (!(await reader.recheck())) return false;
        await sight.refresh();
        return true;
      },
      reload: ["/api/crud/workflows/runs", "/api/crud/tasks"],
    });
  });

  serve("activity", async ({ caller, url, correlationId, reader }) => {
    guardNames(url, ["category"]);
    return activityResponse({
      ...reader,
      database: parts.database,
      references: parts.references,
      categories: readFilter(url, ["category"], categories),
      nameOf: async (id) => (await readSubject(id, caller.tenant, parts, correlationId))?.name,
    });
  });
};
