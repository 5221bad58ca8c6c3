import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import { test } from "node:test";
import { StartIssues } from "#contract/start-issues.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { rawExchange, recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();
const live = "GET /api/v1/health/live HTTP/1.1\r\nHost: localhost:8080\r\n\r\n";

test("one port answers on 127.0.0.1 and ::1", async (t) => {
  const made = await testGateway(t, { database: await database() });
  const { port, hosts } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1", "::1"] });
  for (const host of hosts) assert.equal((await rawExchange(port, live, 1, host)).answers[0]?.status, 200, host);
  assert.ok(hosts.includes("127.0.0.1"));
});

test("cookies without Secure are refused in production, and with a listener off the machine", async (t) => {
  await assert.rejects(testGateway(t, { database: await database(), parts: { environment: "production" } }), StartIssues);
  const made = await testGateway(t, { database: await database() });
  await assert.rejects(made.gateway.listen({ port: 0, hosts: ["0.0.0.0"] }), StartIssues);
});

test("a faulty route table opens nothing, and says every fault with its place", async (t) => {
  await assert.rejects(
    testGateway(t, {
      database: await database(),
      routes: "version: 1\nroutes:\n  - { id: a, path: /x, methods: [GET], auth: sesion, authz: none }\n",
    }),
    (error: StartIssues) => error.exitCode === 78 && /routes\.yaml:3:46 .*must be session, bearer or none/.test(error.message),
  );
});

test("stopping lets the answer under way finish, and takes nothing new", async (t) => {
  const upstream = recordingPeer();
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  upstream.answer = async () => {
    await gate;
    return Response.json({ done: true });
  };
  const made = await testGateway(t, { database: await database(), peers: { crud: upstream.peer } });
  const ben = await made.signIn("person:ben");
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const answer = rawExchange(port, `GET /api/configs/ui HTTP/1.1\r\nHost: localhost:8080\r\nCookie: ${ben.cookie.cookie}\r\n\r\n`);
  while (upstream.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const stopped = made.gateway[Symbol.asyncDispose]();
  await new Promise((resolve) => setTimeout(resolve, 30));
  await assert.rejects(new Promise((resolve, reject) => connect({ port, host: "127.0.0.1" }).on("connect", resolve).on("error", reject)), {
    code: "ECONNREFUSED",
  });
  release();
  assert.equal((await answer).answers[0]?.body, '{"done":true}');
  await stopped;
});

test("stopping does not wait for idle connections, nor for one whose answer was its last", async (t) => {
  const made = await testGateway(t, { database: await database(), settings: { SHUTDOWN_DEADLINE_MS: "20000" } });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const idle = connect({ port, host: "127.0.0.1" }).on("error", () => {});
  await new Promise<void>((resolve) => idle.on("connect", () => resolve()));
  assert.equal((await rawExchange(port, live)).answers[0]?.headers.get("connection"), "keep-alive");
  const started = performance.now();
  await made.gateway[Symbol.asyncDispose]();
  assert.ok(performance.now() - started < 5000);
});

test("over TLS only HTTP/1.1 is spoken, cookies are host cookies, and browsers are told to stay with it", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tls-"));
  cleanUp(t, () => rmSync(folder, { recursive: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const tool = "openssl";
  try {
    execFileSync(
      tool,
      [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        key,
        "-out",
        cert,
        "-days",
        "1",
        "-subj",
        "/CN=localhost",
      ],
      { stdio: "ignore" },
    );
  } catch {
    t.skip("no openssl here");
    return;
  }
  const made = await testGateway(t, {
    database: await database(),
    parts: { publicOrigins: ["https://localhost:8443"], tls: { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") } },
  });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const shake = (more: ConnectionOptions) =>
    new Promise<string | null>((resolve, reject) => {
      const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false, ...more }, () => {
        resolve(`${String(socket.getProtocol())} ${String(socket.alpnProtocol)}`);
        socket.destroy();
      }).on("error", reject);
    });
  await assert.rejects(shake({ ALPNProtocols: ["h2"] }), { code: "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL" }, "attack 27: h2 alone");
  assert.equal(await shake({ ALPNProtocols: ["h2", "http/1.1"] }), "TLSv1.3 http/1.1");
  assert.equal(await shake({ maxVersion: "TLSv1.2", ALPNProtocols: ["http/1.1"] }), "TLSv1.2 http/1.1");
  const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
  await assert.rejects(shake(old), { code: "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION" });
  const answer = await new Promise<{ status: number | undefined; headers: Record<string, unknown> }>((resolve, reject) => {
    httpsRequest(
      {
        port,
        host: "127.0.0.1",
        path: "/auth/session",
        headers: { host: "localhost:8443", cookie: `__Host-Http-sid=${"A".repeat(43)}` },
        rejectUnauthorized: false,
      },
      (response) => {
        response.resume();
        resolve({ status: response.statusCode, headers: response.headers });
      },
    )
      .on("error", reject)
      .end();
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers["strict-transport-security"], "max-age=31536000");
  assert.match(String(answer.headers["set-cookie"]), /^__Host-Http-sid=; Path=\/; HttpOnly; Secure; SameSite=Strict; Max-Age=0$/);
});
