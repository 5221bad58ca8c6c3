import { randomBytes } from "node:crypto";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgresServer } from "#testing/postgres-server.ts";
import { freePort, waitForPort } from "../kit/ports.ts";
import { startNode, type Program } from "../kit/programs.ts";
import { say } from "../kit/progress.ts";
import { startNginx, upstreamConfig } from "./nginx.ts";
import { makeSessions, type BrowserSession } from "./sessions.ts";
import { measuredPath, routeTable } from "./route-table.ts";
import { findFreePorts } from "#testing/free-port.ts";

const SESSIONS = 1000;

/** Everything that the gateway's figures stand on; torn down as a whole. */
export interface GatewayWorld {
  readonly folder: string;
  /** The gateway as `npm start -- --serve gateway` runs it, on PostgreSQL. */
  readonly gateway: Program;
  readonly port: number;
  readonly origin: string;
  readonly cookie: string;
  readonly sessions: readonly BrowserSession[];
  readonly upstream: number;
  readonly source: Program;
  readonly sourcePort: number;
  /** One of the two instances of `pair`: it may be killed. */
  readonly mortal: Program;
  /** For reference programs that do the same checks. */
  readonly environment: Readonly<Record<string, string>>;
  startReference(
    name: "verifier" | "fastify-proxy" | "unchecked-proxy" | "bare",
    more?: Readonly<Record<string, string>>,
  ): Promise<{ readonly program: Program; readonly port: number }>;
  [Symbol.asyncDispose](): Promise<void>;
}

const root = join(import.meta.dirname, "../../..");

export const openGatewayWorld = async (): Promise<GatewayWorld> => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "sallyport-bench-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  say("starting PostgreSQL, upstreams and the gateway ...");
  const postgres = await startPostgresServer();
  stack.defer(() => postgres.stop());

  const start = async (file: string, port: number, environment: Readonly<Record<string, string>>, core: "measured" | "others") => {
    const log = await open(join(folder, `${port}.log`), "w");
    stack.defer(() => log.close());
    const program = await startNode(file, [], { core, environment: { ...environment, PORT: String(port) }, output: log.fd });
    stack.defer(() => program.stop());
    await waitForPort(port);
    return program;
  };

  const upstream = await freePort();
  const plain = await startNginx({ name: "upstream", folder, core: "others", port: upstream, http: upstreamConfig(upstream) });
  stack.defer(() => plain.stop());
  const sourcePort = await freePort();
  const source = await start(join(root, "scripts/bench/programs/source.ts"), sourcePort, {}, "others");

  const pair = [await freePort(), await freePort()] as const;
  const [mortal] = await Promise.all(pair.map((own) => start(join(root, "scripts/bench/programs/instance.ts"), own, {}, "others")));
  if (mortal === undefined) throw new Error("no instance");

  const port = await findFreePorts();
  const origin = `http://localhost:${port}`;
  const secret = randomBytes(32);
  const table = routeTable({ plain: upstream, source: sourcePort, pair }, `localhost:${port}`);
  const routesFile = join(folder, "routes.yaml");
  await writeFile(routesFile, table);
  await writeFile(join(folder, "kek"), randomBytes(32).toString("base64"), { mode: 0o600 });
  const log = await open(join(folder, "gateway.log"), "w");
  stack.defer(() => log.close());
  const gateway = await startNode(
    join(root, "src/main.ts"),
    ["--serve", "gateway", "--port", String(port), "--data", join(folder, "data")],
    {
      core: "measured",
      ready: "Sallyport is ready",
      output: log.fd,
      environment: {
        ENVIRONMENT: "test",
        LOG_LEVEL: "info",
        DATABASE_URL: postgres.url,
        SESSION_SECRETS: secret.toString("base64"),
        AUDIT_KEK_FILE: join(folder, "kek"),
        ROUTES_FILE: routesFile,
        TRUSTED_PROXIES: "127.0.0.1/32",
      },
    },
  );
  stack.defer(() => gateway.stop());
  const sessions = await makeSessions(postgres.url, [secret], SESSIONS);

  const cookie = `sallyport_dev_sid_${port}`;
  const environment = {
    DATABASE_URL: postgres.url,
    SESSION_SECRETS: secret.toString("base64"),
    COOKIE: cookie,
    ORIGIN: origin,
    ROUTES: table,
  };
  const kept = stack.move();
  return {
    folder,
    gateway,
    port,
    origin,
    cookie,
    sessions,
    upstream,
    source,
    sourcePort,
    mortal,
    environment,
    startReference: async (name, more = {}) => {
      const own = await freePort();
      const file = join(root, `scripts/bench/programs/${name}.ts`);
      const output = await open(join(folder, `${name}.log`), "w");
      kept.defer(() => output.close());
      const program = await startNode(file, [], {
        core: "measured",
        environment: { ...environment, ...more, PORT: String(own) },
        output: output.fd,
      });
      kept.defer(() => program.stop());
      await waitForPort(own);
      return { program, port: own };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

/** What our own page sends with an unsafe request of this session. */
export const pageHeaders = (world: GatewayWorld, session: BrowserSession): Readonly<Record<string, string>> => ({
  Host: new URL(world.origin).host,
  "User-Agent": "wrk",
  Accept: "application/json",
  Cookie: `theme=dark; ${world.cookie}=${session.sid}`,
  "X-CSRF-Token": session.csrf,
  "X-CSRFToken": session.csrf,
  "X-Requested-With": "XMLHttpRequest",
  Origin: world.origin,
  "Sec-Fetch-Site": "same-origin",
  "Sec-Fetch-Mode": "cors",
});

const BODY_BYTES = 259;
const order = { order: "4711", note: "" };
/** 259 bytes of JSON. */
export const jsonBody = JSON.stringify({ ...order, note: "n".repeat(BODY_BYTES - JSON.stringify(order).length) });

/** One POST of the measured row a session. */
export const measuredRequests = (world: GatewayWorld) =>
  world.sessions.map((session) => ({
    method: "POST",
    path: measuredPath,
    headers: { ...pageHeaders(world, session), "Content-Type": "application/json" },
    body: jsonBody,
  }));
