import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer as createHttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cleanUp } from "#testing/clean-up.ts";
import { formBrowser, type FormBrowser } from "#testing/form-browser.ts";
import type { TestServer } from "#testing/postgres-database.ts";
import { openWire, type Wire } from "#testing/wire.ts";
import { layPostgresGround } from "./postgres-ground.ts";
import { startForeignProvider, type ForeignProvider } from "./foreign-provider.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";

/** An upstream outside Sallyport, with one endless stream; it answers all else at once. */
const openUpstream = async (t: Pick<TestContext, "after">): Promise<string> => {
  const open = new Set<ServerResponse>();
  const server = createHttpServer((request, response) => {
    if (request.url !== "/stream") {
      response.writeHead(200, { "content-type": "application/json" }).end('{"outside":true}');
      return;
    }
    open.add(response);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("id: 1\ndata: {}\n\n");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const routesText = (upstream: string): string => `version: 1
services:
  outside: { base_urls: ["${upstream}"], audience: "https://outside.example" }
audiences: []
routes:
  - { id: sessions.list, path: /api/v1/sessions, target_service: internal, methods: [GET], auth: session, authz: none }
  - { id: sessions.end_of, path: /api/v1/sessions, target_service: internal, methods: [DELETE], auth: session, authz: none }
  - { id: sessions.end, path: "/api/v1/sessions/{id}", target_service: internal, methods: [DELETE], auth: session, authz: none }
  - { id: outside.stream, path: /api/stream, target_service: outside, upstream_path: /stream, methods: [GET], auth: session, authz: none, streaming: true }
  - { id: outside.bearer, path: /api/bearer, target_service: outside, upstream_path: /plain, methods: [GET], auth: bearer, authz: none }
  - { id: outside.open, path: /api/open, target_service: outside, upstream_path: /plain, methods: [GET], auth: none, authz: none }
  - id: outside.decided
    path: /api/decided
    target_service: outside
    upstream_path: /plain
    methods: [GET]
    auth: session
    authz: pdp
    authz_map: { GET: { resource: pages, action: view_all } }
`;

export interface Replicas {
  /** Two processes of the gateway alone, on one session store. */
  readonly gateways: readonly [TestInstance, TestInstance];
  readonly provider: ForeignProvider;
  readonly database: Wire;
  /** A browser that has signed in at the provider, through the first gateway or another. */
  signIn(gateway?: TestInstance): Promise<Browser>;
}

export interface Browser {
  readonly forms: FormBrowser;
  get(path: string, gateway: TestInstance): Promise<Answer>;
  /** An unsafe request of our own page. */
  send(method: string, path: string, gateway: TestInstance): Promise<Answer>;
  /** Opens the endless stream; resolves with all that came once it has ended. */
  stream(gateway: TestInstance): Promise<OpenedStream>;
}

export interface OpenedStream {
  readonly ended: Promise<string>;
  /** When it ended, by `performance.now()`. */
  readonly endedAt: Promise<number>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>> & { readonly code?: string };
}

const answerOf = async (response: Response): Promise<Answer> => {
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? {} : (JSON.parse(text) as Answer["body"]) };
};

/** A request that needs no session. */
export const ask = async (gateway: TestInstance, path: string, init: RequestInit = {}): Promise<Answer> =>
  answerOf(await fetch(`${gateway.origin}${path}`, init));

/**
 * Two real gateway processes over one PostgreSQL and, with `REDIS_URL` among the settings, one Redis; people sign in at a
 * provider that is not Sallyport's own. `undefined`: there is no PostgreSQL here.
 */
export const startReplicas = async (
  t: Pick<TestContext, "after">,
  server: TestServer,
  settings: Readonly<Record<string, string>>,
  /** What stands before the provider; it answers its own port. */
  front?: (providerPort: number) => Promise<number>,
): Promise<Replicas | undefined> => {
  const ground = await layPostgresGround(t, server);
  if (ground === undefined) return undefined;
  const direct = new URL(ground.databaseUrl);
  const database = await openWire(t, { host: direct.hostname, port: Number(direct.port) });
  const through = new URL(direct);
  through.host = `127.0.0.1:${database.port}`;

  const routes = join(ground.folder, "routes.yaml");
  await writeFile(routes, routesText(await openUpstream(t)));

  const ports = [await findFreePorts(), await findFreePorts()] as const;
  const origins = ports.map((port) => `http://localhost:${port}`);
  const provider = await startForeignProvider(origins, front === undefined ? {} : { front });
  cleanUp(t, () => provider.stop().catch(() => undefined));
  const environment = {
    ...ground.environment,
    DATABASE_URL: through.href,
    PUBLIC_ORIGINS: origins.join(","),
    ROUTES_FILE: routes,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: provider.clientId,
    OIDC_CLIENT_SECRET: provider.clientSecret,
    OIDC_SUBJECT_PREFIX: "person:",
    OIDC_DEFAULT_TENANT: "tenant:acme",
    OIDC_ACR_MAP: '{"strong":{"acr":["gold"]},"phishing_resistant":{}}',
    REFRESH_AHEAD_S: "1",
    // One address signs in more often here than any person does, and asks more.
    RATE_LIMITS: "login=600/min,anonymous=10000/s,session=10000/s,bearer=10000/s",
    ...settings,
  };
  const start = async (port: number): Promise<TestInstance> => {
    const instance = await startTestInstance({ port, data: ground.folder, serve: "gateway", environment, arguments: ["--no-demo"] });
    cleanUp(t, () => instance.kill());
    return instance;
  };
  const gateways = [await start(ports[0]), await start(ports[1])] as const;
  provider.logoutTarget = `${gateways[0].origin}/auth/backchannel-logout`;

  const signIn: Replicas["signIn"] = async (gateway = gateways[0]) => {
    const forms = formBrowser();
    await forms.open(`${gateway.origin}/auth/login?return_to=/auth-done`, (at) => at.pathname === "/auth-done");
    const cookieName = `sallyport_dev_sid_${ports[0]}`;
    const cookie = `${cookieName}=${forms.cookies.get(cookieName) ?? ""}`;
    let csrf = "";
    const get: Browser["get"] = async (path, at) => answerOf(await fetch(`${at.origin}${path}`, { headers: { cookie } }));
    return {
      forms,
      get,
      send: async (method, path, at) => {
        if (csrf === "") csrf = String((await get("/auth/csrf", at)).body["csrf_token"]);
        const headers = { cookie, "x-csrf-token": csrf, "x-csrftoken": csrf, "x-requested-with": "XMLHttpRequest", origin: at.origin };
        return answerOf(await fetch(`${at.origin}${path}`, { method, headers }));
      },
      stream: async (at) => {
        const response = await fetch(`${at.origin}/api/stream`, { headers: { cookie, accept: "text/event-stream" } });
        if (response.status !== 200) throw new Error(`the stream was refused: ${response.status} ${await response.text()}`);
        // Longer than any test may take to end it: a stream that stays must fail it, not hang it.
        const late = sleep(20_000, "it was not ended", { ref: false });
        const ended = Promise.race([response.text(), late]);
        return { ended, endedAt: ended.then(() => performance.now()) };
      },
    };
  };
  return { gateways, provider, database, signIn };
};
