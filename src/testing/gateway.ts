import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { OidcClient } from "#authn/provider/oidc-client.ts";
import type { Peer } from "#contract/ask.ts";
import type { ServiceName } from "#contract/endpoint.ts";
import type { Obligation } from "#contract/authzen.ts";
import { Problem } from "#contract/problem.ts";
import { readSettings } from "#contract/setting.ts";
import { gatewaySettings } from "#gateway/config.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { createGateway, type GatewayService } from "#gateway/service.ts";
import { schemaActions } from "#pdp/bundle/schema-actions.ts";
import { createDatabaseSessionStore } from "#gateway/sessions/database-session-store.ts";
import { createSessionKeys } from "#gateway/sessions/session-keys.ts";
import type { SessionRecord, SessionStore } from "#gateway/sessions/session-store.ts";
import type { Database } from "#store/database.ts";
import { createLog, silentLog, type Log } from "#telemetry/log.ts";
import { createMetrics, type Metrics } from "#telemetry/metrics.ts";
import { cleanUp } from "./clean-up.ts";
import { testDatabase } from "./database.ts";
import { testEvents, type TestEvents } from "./events.ts";
import { testAudiences, testIdentity, type TestIdentity } from "./identity.ts";
import { makeSession } from "./session.ts";
import { sharedInFile } from "./shared.ts";

/** All requests of a test come from one address: only tests of the limits themselves have real ones (`RATE_LIMITS: ""`). */
export const wideRates = "login=1000000/s,anonymous=1000000/s,ingest=1000000/s,session=1000000/s,bearer=1000000/s";

/** The same of what one address may hold at once. */
const wideShares = { MAX_CONNECTIONS_PER_ADDRESS: "100000", MAX_IN_FLIGHT_PER_ADDRESS: "100000" };

export const gatewayModules = ["events", "gateway"] as const;

/** One embedded database for all tests of a file; call it while they are being declared. Sessions of a test are its own. */
export const sharedDatabase = (): (() => Promise<Database>) => sharedInFile((t) => testDatabase(t, gatewayModules));

/** A request as a recording upstream saw it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
  readonly body: string;
}

/** An upstream that writes down what it is sent, and answers what it is told to. */
export interface Recorder {
  readonly peer: Peer;
  readonly seen: Seen[];
  answer: (request: Request) => Response | Promise<Response>;
}

export const recordingPeer = (): Recorder => {
  const recorder: Recorder = {
    seen: [],
    answer: () => new Response('{"ok":true}', { headers: { "content-type": "application/json" } }),
    peer: async (request) => {
      const url = new URL(request.url);
      const body = await request.text();
      recorder.seen.push({ method: request.method, path: url.pathname, query: url.search, headers: request.headers, body });
      return recorder.answer(request);
    },
  };
  return recorder;
};

/** Yes, no, the reason of a no, or what a yes obliges to. */
export type Said = boolean | string | { readonly obligations: readonly Obligation[] };

/** A decision point that permits what a function says; it answers as the real one does. */
export const decidingPeer = (
  permit: (type: string, action: string, subject: string, context: Readonly<Record<string, unknown>>) => Said,
): Recorder => {
  const recorder = recordingPeer();
  const decide = (item: {
    subject: { id: string };
    resource: { type: string };
    action: { name: string };
    context?: Record<string, unknown>;
  }) => {
    const said = permit(item.resource.type, item.action.name, item.subject.id, item.context ?? {});
    const decision_id = `d_${randomUUID()}`;
    if (typeof said === "object") return { decision: true, context: { decision_id, ...said } };
    const decision = said === true;
    return { decision, context: { decision_id, ...(decision ? {} : { reason: said === false ? "not_granted" : said }) } };
  };
  recorder.answer = () => {
    const last = recorder.seen.at(-1) as Seen;
    if (last.path === "/.well-known/authzen-configuration")
      return Response.json({ policy_decision_point: "x", access_evaluation_endpoint: "x", access_evaluations_endpoint: "x" });
    if (last.path === "/health/ready") return Response.json({ status: "ready" });
    const body = JSON.parse(last.body) as { evaluations?: Parameters<typeof decide>[0][] } & Parameters<typeof decide>[0];
    return Response.json(body.evaluations === undefined ? decide(body) : { evaluations: body.evaluations.map(decide) });
  };
  return recorder;
};

/** An identity provider that cannot be reached: for tests that never sign in through it. */
export const absentProvider = (more: Partial<OidcClient> = {}): OidcClient => {
  const away = () => Promise.reject(new Problem("identity_provider_unavailable"));
  return {
    issuer: "http://localhost:8081",
    begin: away,
    finish: away,
    refresh: away,
    exchange: away,
    clientCredentials: away,
    subjectOf: () => undefined,
    revoke: async () => true,
    endSessionUrl: async () => undefined,
    ready: away,
    ...more,
  };
};

export interface TestGatewayOptions {
  /** Text of the route table; the one that ships unless given. */
  readonly routes?: string;
  readonly pdpConfig?: string;
  readonly peers?: Partial<Record<ServiceName, Peer>>;
  readonly settings?: Readonly<Record<string, string>>;
  readonly parts?: Partial<GatewayParts>;
  readonly now?: () => Date;
  readonly database?: Database;
  /** Keys shared with another service of the test. */
  readonly identity?: TestIdentity;
  /** Lines of the log, where they are wanted. */
  readonly lines?: string[];
}

/** The gateway on an embedded database with real sessions, events and keys; peers are what the test gives. */
export interface TestGateway {
  readonly gateway: GatewayService;
  readonly database: Database;
  readonly store: SessionStore;
  readonly identity: TestIdentity;
  readonly events: TestEvents;
  readonly metrics: Metrics;
  readonly origin: string;
  /** A session as sign-in leaves it: what the browser would send with each request. */
  signIn(
    subject: string,
    more?: Partial<SessionRecord> & { readonly refreshToken?: string; readonly accessToken?: string },
  ): Promise<SignedInBrowser>;
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Value of a counter with these labels, 0 when it has none. */
  counted(name: string, labels: Readonly<Record<string, string>>): Promise<number>;
}

export interface SignedInBrowser {
  readonly sid: string;
  readonly record: SessionRecord;
  /** Of a safe request. */
  readonly cookie: { readonly cookie: string };
  /** Of an unsafe one by our own page. */
  readonly headers: Readonly<Record<string, string>>;
}

export const testGateway = async (t: TestContext, options: TestGatewayOptions = {}): Promise<TestGateway> => {
  const database = options.database ?? (await testDatabase(t, gatewayModules));
  const now = options.now ?? (() => new Date());
  const metrics = createMetrics();
  const lines = options.lines;
  const log: Log =
    lines === undefined
      ? silentLog
      : createLog({ level: "debug", service: "gateway", version: "test", environment: "test", write: (line) => void lines.push(line) });
  const identity = options.identity ?? testIdentity({ now, metrics });
  const events = await testEvents(t, database, { now });
  const folder = await mkdtemp(join(tmpdir(), "gateway-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const root = new URL("../../", import.meta.url).pathname;
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const { values: config, issues } = readSettings(gatewaySettings, {
    SHUTDOWN_DEADLINE_MS: "1000",
    RATE_LIMITS: wideRates,
    ...wideShares,
    ...options.settings,
  });
  if (issues.length > 0) throw new Error(JSON.stringify(issues));
  const pdp = options.peers?.pdp ?? decidingPeer(() => true).peer;
  const publicOrigins = options.parts?.publicOrigins ?? ["http://localhost:8080", "http://127.0.0.1:8080", "http://[::1]:8080"];
  const [origin = ""] = publicOrigins;
  const gateway = await createGateway({
    config,
    publicOrigins,
    routesFile: options.routes === undefined ? join(root, "config/routes.yaml") : await write("routes.yaml", options.routes),
    pdpConfigFile: options.pdpConfig === undefined ? join(root, "config/pdp.yaml") : await write("pdp.yaml", options.pdpConfig),
    webFolder: join(folder, "no-web-client"),
    database,
    change: events.change,
    recorder: events.recorder,
    bus: events.bus,
    schemaActions,
    verifierFor: (audiences) => identity.verifierFor(audiences),
    hasEnded: async () => false,
    identity: identity.identityOf("gateway"),
    jwks: () => identity.serviceKeys.jwks(),
    oidc: absentProvider(),
    checkLogoutToken: () => Promise.reject(new Problem("identity_provider_unavailable")),
    tokenExchange: async () => Response.json({ error: "invalid_client" }, { status: 401 }),
    firstPartyClients: ["sallyport-web"],
    secrets: identity.secrets,
    audiences: testAudiences,
    internalAudiences: Object.values(testAudiences),
    serviceUrls: testAudiences,
    log,
    metrics,
    now,
    environment: "test",
    version: "test",
    ...options.parts,
    peers: options.parts?.peers ?? { ...options.peers, pdp },
  });
  cleanUp(t, () => gateway[Symbol.asyncDispose]());
  const keys = createSessionKeys(options.parts?.secrets ?? identity.secrets);
  const store = createDatabaseSessionStore(database);

  const signIn: TestGateway["signIn"] = async (subject, more = {}) => {
    const { refreshToken, accessToken = "access-token-of-test", ...given } = more;
    const at = now();
    const { sid, record } = makeSession({
      keys,
      now: at,
      subject,
      tokens: { accessToken, ...(refreshToken === undefined ? {} : { refreshToken }) },
      more: {
        idleExpiresAt: new Date(at.getTime() + config.sessionIdleSeconds * 1000),
        absoluteExpiresAt: new Date(at.getTime() + config.sessionAbsoluteSeconds * 1000),
        ...given,
      },
    });
    await store.create(record);
    const csrf = keys.csrfToken(record);
    const cookie = `sallyport_dev_sid_${new URL(origin).port}=${sid}`;
    return {
      sid,
      record,
      cookie: { cookie },
      headers: {
        cookie,
        "content-type": "application/json",
        "x-csrf-token": csrf,
        "x-csrftoken": csrf,
        "x-requested-with": "XMLHttpRequest",
        origin,
        "sec-fetch-site": "same-origin",
      },
    };
  };

  return {
    gateway,
    database,
    store,
    identity,
    events,
    metrics,
    origin,
    signIn,
    fetch: (path, init) => gateway.fetch(new Request(`${origin}${path}`, init)),
    counted: async (name, labels) => {
      const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
      const line = (await metrics.text())
        .split("\n")
        .find((text) => text.startsWith(`${name}{`) && wanted.every((part) => text.includes(part)));
      return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(" ") + 1));
    },
  };
};

/** An answer as it lay on the wire. */
export interface RawAnswer {
  readonly status: number;
  /** All values of a repeated header, joined by `, `. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface RawExchange {
  /** In order, `100 Continue` among them. */
  readonly answers: readonly RawAnswer[];
  /** True: the server ended the connection by itself. */
  readonly closed: boolean;
  readonly text: string;
}

const parseAnswers = (text: string): RawAnswer[] => {
  const answers: RawAnswer[] = [];
  for (let rest = text; rest.startsWith("HTTP/1.1 ");) {
    const end = rest.indexOf("\r\n\r\n");
    if (end === -1) break;
    const [first = "", ...lines] = rest.slice(0, end).split("\r\n");
    const headers = new Map<string, string>();
    for (const line of lines) {
      const name = line.slice(0, line.indexOf(":")).toLowerCase();
      const value = line.slice(line.indexOf(":") + 1).trim();
      const before = headers.get(name);
      headers.set(name, before === undefined ? value : `${before}, ${value}`);
    }
    const status = Number(first.split(" ")[1]);
    rest = rest.slice(end + 4);
    let body = "";
    if (headers.get("transfer-encoding") === "chunked") {
      for (;;) {
        const line = rest.indexOf("\r\n");
        const size = Number.parseInt(rest.slice(0, line), 16);
        if (line === -1 || !(size > 0)) break;
        body += rest.slice(line + 2, line + 2 + size);
        rest = rest.slice(line + 4 + size);
      }
      rest = rest.replace(/^0\r\n\r\n/, "");
    } else {
      const length = Number(headers.get("content-length") ?? 0);
      body = rest.slice(0, length);
      rest = rest.slice(length);
    }
    answers.push({ status, headers, body });
  }
  return answers;
};

/**
 * Sends bytes as they are (latin1) and reads until the server closes, or until `answers` answers are complete, none
 * says that it is the last one, and nothing came for 60 ms. For what no HTTP client would send.
 */
export const rawExchange = (port: number, bytes: string | readonly string[], answers = 1, host = "127.0.0.1"): Promise<RawExchange> =>
  new Promise((resolve, reject) => {
    let text = "";
    let isOver = false;
    let quiet: NodeJS.Timeout | undefined;
    const socket = connect({ port, host });
    const finish = (closed: boolean): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(quiet);
      clearTimeout(limit);
      socket.destroy();
      resolve({ answers: parseAnswers(text), closed, text });
    };
    const limit = setTimeout(() => finish(false), 5000);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      clearTimeout(quiet);
      const got = parseAnswers(text).filter((answer) => answer.status !== 100);
      // A server that says it closes is waited for, however slow the machine.
      if (got.length >= answers && got.at(-1)?.headers.get("connection") !== "close") quiet = setTimeout(() => finish(false), 60);
    });
    socket.on("close", () => finish(true));
    socket.on("error", (error: NodeJS.ErrnoException) =>
      error.code === "ECONNRESET" || error.code === "EPIPE" ? finish(true) : reject(error),
    );
    const parts = typeof bytes === "string" ? [bytes] : bytes;
    const [head = "", ...more] = parts;
    socket.write(Buffer.from(head, "latin1"));
    more.forEach((part, index) => setTimeout(() => socket.writable && socket.write(Buffer.from(part, "latin1")), 30 * (index + 1)));
  });
