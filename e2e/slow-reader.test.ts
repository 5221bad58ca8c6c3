import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createDatabaseSessionStore } from "#gateway/sessions/database-session-store.ts";
import { createSessionKeys } from "#gateway/sessions/session-keys.ts";
import { sseHeaders } from "#http/sse.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { openPostgres, testServer } from "#testing/postgres-database.ts";
import { makeSession } from "#testing/session.ts";
import { until } from "#testing/until.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { requirePostgresGround } from "./postgres-ground.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";

const server = testServer();
const FRAME = "x".repeat(4096);
const MIB = 1_048_576;
/** Nobody signs in there. */
const ISSUER = "http://localhost:9";

/** A service that sends each of its readers a thousand frames a second, as long as they take them. */
const busyUpstream = async (t: TestContext) => {
  let left = 0;
  const send = (response: ServerResponse): void => {
    let id = 0;
    response.writeHead(200, sseHeaders);
    const timer = setInterval(() => {
      if (response.writableNeedDrain) return;
      for (let count = 0; count < 20; count++) response.write(`id: ${(id += 1)}\ndata: ${FRAME}\n\n`);
    }, 20);
    response.on("close", () => {
      clearInterval(timer);
      left += 1;
    });
  };
  const listener = createServer((_request, response) => send(response));
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => {
    listener.closeAllConnections();
    listener.close();
  });
  return { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`, left: () => left };
};

/** Opens the stream and takes a byte a second from it; resolves to the port that it came from. */
const readSlowly = async (t: TestContext, port: number, cookie: string): Promise<number> => {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  socket.pause();
  socket.write(`GET /busy HTTP/1.1\r\nHost: localhost:${port}\r\nCookie: ${cookie}\r\n\r\n`);
  const timer = setInterval(() => void socket.read(1), 1000);
  cleanUp(t, () => {
    clearInterval(timer);
    socket.destroy();
  });
  await once(socket, "connect");
  return socket.localPort ?? 0;
};

/**
 * Ports of clients whose connection Sallyport still holds: rows of the kernel's own table whose near end is Sallyport's
 * port and belongs to a process. (What a client of a byte a second sees of its end comes only behind what it has not read.)
 */
const heldPorts = async (port: number): Promise<ReadonlySet<number>> => {
  const held = new Set<number>();
  for (const file of ["/proc/net/tcp", "/proc/net/tcp6"])
    for (const row of (await readFile(file, "utf8")).split("\n").slice(1)) {
      const [, near = "", far = "", state, , , , , , inode] = row.trim().split(/\s+/);
      const portOf = (address: string): number => Number.parseInt(address.split(":")[1] ?? "", 16);
      if (portOf(near) === port && state !== "0A" && inode !== "0") held.add(portOf(far));
    }
  return held;
};

const residentBytes = async (instance: TestInstance): Promise<number> =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${instance.process.pid}/status`, "utf8"))?.[1]) * 1024;

test("readers that take a byte a second of a thousand frames a second are cut, and the process does not grow with them", async (t) => {
  const ground = await requirePostgresGround(t, server);
  if (ground === undefined) return;
  const { folder } = ground;
  const upstream = await busyUpstream(t);
  await writeFile(
    join(folder, "routes.yaml"),
    `version: 1
services:
  busy: { base_urls: ["${upstream.url}"], audience: "https://busy.example" }
routes:
  - { id: busy, path: /busy, target_service: busy, upstream_path: /busy, methods: [GET], auth: session, authz: none, streaming: true }
`,
  );
  const port = await findFreePorts();
  const instance = await startTestInstance({
    port,
    data: folder,
    serve: "gateway",
    arguments: ["--no-demo"],
    environment: {
      ...ground.environment,
      ROUTES_FILE: join(folder, "routes.yaml"),
      OIDC_ISSUER: ISSUER,
      OIDC_CLIENT_ID: "sallyport-client",
      OIDC_CLIENT_SECRET: "of-nobody",
    },
  });
  cleanUp(t, () => instance.kill());

  const database = await openPostgres(ground.databaseUrl);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const store = createDatabaseSessionStore(database);
  const keys = createSessionKeys([ground.sessionSecret]);
  const open = async (): Promise<number> => {
    const { sid, record } = makeSession({ keys, now: new Date(), subject: "person:ben", more: { issuer: ISSUER } });
    await store.create(record);
    return readSlowly(t, port, `sallyport_dev_sid_${port}=${sid}`);
  };
  const cut = (count: number) => until(upstream.left, (left) => left === count, 60_000);

  const ten = () => Promise.all(Array.from({ length: 10 }, open));
  // What the first ones need in code and buffers is no growth.
  const clients = await ten();
  // For up to two minutes; the kernel takes milliseconds to write its table.
  const heldOf = async (): Promise<readonly number[]> => {
    await sleep(500);
    const held = await heldPorts(port);
    return clients.filter((client) => held.has(client));
  };
  await until(heldOf, ({ length }) => length === 10);
  await cut(10);
  const before = await residentBytes(instance);
  clients.push(...(await ten()));
  await cut(20);
  const grown = (await residentBytes(instance)) - before;
  assert.ok(grown <= 32 * MIB, `it grew by ${(grown / MIB).toFixed(1)} MiB`);
  assert.equal((await fetch(`${instance.origin}/api/v1/health/live`)).status, 200);
  // The upstream is let go at the cap; what was written to the client by then may still be on its way, for a minute at most.
  await until(heldOf, ({ length }) => length === 0, 120_000);
});
