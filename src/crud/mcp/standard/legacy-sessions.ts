import { randomUUID } from "node:crypto";
import { WebStandardStreamableHTTPServerTransport, type AuthInfo, type Server } from "@modelcontextprotocol/server";
import { Problem } from "#contract/problem.ts";
import { principalOf } from "#crud/mcp/list-tools.ts";
import type { Visit } from "#crud/mcp/tool-desk.ts";
import type { ListChanges } from "./list-changes.ts";

export interface LegacySessionsParts {
  readonly serverFor: (view: Visit["view"]) => Server;
  readonly changes: ListChanges;
  readonly now: () => Date;
}

/** Sessions of clients of the 2025 protocol versions, in this process. A restart ends them: clients begin anew. */
export interface LegacySessions {
  /** Begins a session with its `initialize`. */
  begin(request: Request, visit: Visit, authInfo: AuthInfo, parsedBody: unknown): Promise<Response>;
  /** A request of a session. Throws `not_found` for one that is not there or not this principal's. */
  serve(request: Request, visit: Visit, authInfo: AuthInfo, parsedBody?: unknown): Promise<Response>;
  readonly count: number;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: Server;
  readonly principal: string;
  readonly view: string;
  readonly unsubscribe: () => void;
  lastUsed: number;
  /** Streams that are open: a session with one is not idle. */
  streams: number;
}

const MOST = 10_000;
const IDLE_MS = 600_000;
const SWEEP_MS = 60_000;

export const createLegacySessions = (parts: LegacySessionsParts): LegacySessions => {
  const sessions = new Map<string, Session>();

  const end = async (id: string): Promise<void> => {
    const session = sessions.get(id);
    if (session === undefined) return;
    sessions.delete(id);
    session.unsubscribe();
    await session.server.close();
  };

  const sweep = setInterval(() => {
    const idleSince = parts.now().getTime() - IDLE_MS;
    for (const [id, session] of sessions) if (session.streams === 0 && session.lastUsed < idleSince) void end(id);
  }, SWEEP_MS);
  sweep.unref();

  /** The longest unused goes when there is no room; its client begins anew. */
  const makeRoom = async (): Promise<void> => {
    if (sessions.size < MOST) return;
    const oldest = [...sessions].reduce((held, next) => (next[1].lastUsed < held[1].lastUsed ? next : held));
    await end(oldest[0]);
  };

  const find = (request: Request, visit: Visit): Session => {
    const id = request.headers.get("mcp-session-id") ?? "";
    const session = sessions.get(id);
    if (session === undefined || session.principal !== principalOf(visit.caller) || session.view !== visit.view.name) {
      throw new Problem("not_found", { detail: "There is no such session; begin a new one." });
    }
    session.lastUsed = parts.now().getTime();
    return session;
  };

  return {
    get count() {
      return sessions.size;
    },
    begin: async (request, visit, authInfo, parsedBody) => {
      await makeRoom();
      const server = parts.serverFor(visit.view);
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: true,
        onsessioninitialized: (id) => {
          const unsubscribe = parts.changes.subscribe(visit, () => {
            server.sendToolListChanged().catch(() => undefined);
          });
          sessions.set(id, {
            transport,
            server,
            principal: principalOf(visit.caller),
            view: visit.view.name,
            unsubscribe,
            lastUsed: parts.now().getTime(),
            streams: 0,
          });
        },
        onsessionclosed: (id) => end(id),
      });
      await server.connect(transport);
      const response = await transport.handleRequest(request, { authInfo, parsedBody });
      if (transport.sessionId === undefined || !sessions.has(transport.sessionId)) await server.close();
      return response;
    },
    serve: async (request, visit, authInfo, parsedBody) => {
      const session = find(request, visit);
      const response = await session.transport.handleRequest(request, { authInfo, ...(parsedBody === undefined ? {} : { parsedBody }) });
      if (request.method === "GET" && response.status === 200) {
        session.streams++;
        request.signal.addEventListener("abort", () => void session.streams--, { once: true });
      }
      return response;
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(sweep);
      await Promise.all([...sessions.keys()].map(end));
    },
  };
};
