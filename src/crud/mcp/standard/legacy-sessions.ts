import { randomUUID } from "node:crypto";
import { WebStandardStreamableHTTPServerTransport, type AuthInfo, type Server } from "@modelcontextprotocol/server";
import { Problem } from "#contract/problem.ts";
import { startInterval } from "#http/interval.ts";
import type { Log } from "#telemetry/log.ts";
import { principalOf } from "#crud/tools/tool-call.ts";
import type { Visit } from "#crud/mcp/tool-service.ts";
import type { ListChanges } from "./list-changes.ts";
import type { HeldPlace, SessionShare } from "./session-share.ts";

export interface LegacySessionsParts {
  readonly serverFor: (view: Visit["view"]) => Server;
  readonly changes: ListChanges;
  readonly share: SessionShare;
  readonly log: Log;
  readonly now: () => Date;
}

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: Server;
  readonly view: string;
  readonly place: HeldPlace;
  /** Ends with the session what its open stream listens to. */
  readonly ended: AbortController;
}

const MAX = 10_000;
const IDLE_MS = 600_000;
const SWEEP_MS = 60_000;

/** Sessions of clients of the 2025 protocol versions, in this process. A restart ends them: clients begin anew. */
export const createLegacySessions = (parts: LegacySessionsParts) => {
  const sessions = new Map<string, Session>();

  const end = async (id: string): Promise<void> => {
    const session = sessions.get(id);
    if (session === undefined) return;
    sessions.delete(id);
    session.place.release();
    session.ended.abort();
    await session.server.close();
  };

  const sweeping = startInterval({
    everyMs: SWEEP_MS,
    work: async () => {
      const idleSince = parts.now().getTime() - IDLE_MS;
      const idle = [...sessions].filter(([, { place }]) => place.streams === 0 && place.lastUsed < idleSince);
      await Promise.all(idle.map(([id]) => end(id)));
    },
    failed: (cause) => parts.log.warn("mcp_sessions_not_ended", { cause }),
  });

  /** The longest unused goes when there is no room; its client begins anew. */
  const evictOldest = async (): Promise<void> => {
    if (sessions.size < MAX) return;
    const oldest = [...sessions].reduce((held, next) => (next[1].place.lastUsed < held[1].place.lastUsed ? next : held));
    await end(oldest[0]);
  };

  const find = (request: Request, visit: Visit): Session => {
    const id = request.headers.get("mcp-session-id") ?? "";
    const session = sessions.get(id);
    if (session === undefined || session.place.principal !== principalOf(visit.caller) || session.view !== visit.view.name) {
      throw new Problem("not_found", { detail: "There is no such session; begin a new one." });
    }
    session.place.lastUsed = parts.now().getTime();
    return session;
  };

  /** Only where a stream is open is there somebody to tell that the list changed. */
  const listen = ({ server, place, ended, transport }: Session, visit: Visit, signal: AbortSignal, until: readonly AbortSignal[]): void => {
    const unsubscribe = parts.changes.subscribe(visit, () => void server.sendToolListChanged().catch(() => undefined));
    place.streams++;
    const over = AbortSignal.any([signal, ended.signal, ...until]);
    over.addEventListener(
      "abort",
      () => {
        // One that its client left may have a successor.
        if (!signal.aborted) transport.closeStandaloneSSEStream();
        place.streams--;
        unsubscribe();
      },
      { once: true },
    );
  };

  return {
    /** Begins a session with its `initialize`. Throws `too_many_sessions` when the principal's are all in use. */
    begin: async (request: Request, visit: Visit, authInfo: AuthInfo, parsedBody: unknown): Promise<Response> => {
      let isGivenUp = false;
      const giveUp = (): void => {
        isGivenUp = true;
        if (transport.sessionId !== undefined) void end(transport.sessionId);
      };
      const place = parts.share.claim(principalOf(visit.caller), giveUp);
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: true,
        onsessioninitialized: (id) => {
          sessions.set(id, { transport, server, view: visit.view.name, place, ended: new AbortController() });
        },
        onsessionclosed: (id) => end(id),
      });
      const server = parts.serverFor(visit.view);
      const isBegun = (): boolean => transport.sessionId !== undefined && sessions.has(transport.sessionId);
      try {
        await evictOldest();
        await server.connect(transport);
        const response = await transport.handleRequest(request, { authInfo, parsedBody });
        // Others that began meanwhile may have taken its place.
        if (isGivenUp) giveUp();
        else if (!isBegun()) await server.close();
        return response;
      } finally {
        if (!isBegun()) place.release();
      }
    },
    /** A request of a session. Throws `not_found` for one that is not there or not this principal's. */
    serve: async (
      request: Request,
      visit: Visit,
      authInfo: AuthInfo,
      parsedBody?: unknown,
      until: readonly AbortSignal[] = [],
    ): Promise<Response> => {
      const session = find(request, visit);
      const response = await session.transport.handleRequest(request, { authInfo, parsedBody });
      if (request.method === "GET" && response.status === 200) listen(session, visit, request.signal, until);
      return response;
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await sweeping[Symbol.asyncDispose]();
      await Promise.all([...sessions.keys()].map(end));
    },
  };
};
