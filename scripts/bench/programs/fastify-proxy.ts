// The reference on the same runtime: @fastify/http-proxy with the gateway's checks as hooks, and one log line a request.
import { randomUUID } from "node:crypto";
import httpProxy from "@fastify/http-proxy";
import fastify from "fastify";
import { createChecks, type ChecksEnvironment } from "../gateway/same-checks.ts";

const check = await createChecks(process.env as unknown as ChecksEnvironment);
const app = fastify({ logger: true, disableRequestLogging: true, genReqId: () => randomUUID() });

app.addHook("preHandler", async (request, reply) => {
  const { status, record } = await check({ method: request.method, target: request.url, headers: request.headers });
  if (status !== 200 || record === undefined) return reply.code(status).send();
  Object.assign(request, { who: record });
});
app.addHook("onResponse", async (request, reply) => {
  request.log.info({ method: request.method, status: reply.statusCode, duration_ms: reply.elapsedTime }, "http_request");
});
await app.register(httpProxy, {
  upstream: process.env["UPSTREAM"] as string,
  prefix: "/api/shop",
  replyOptions: {
    rewriteRequestHeaders: (request, headers) => {
      const { cookie: _cookie, "x-csrf-token": _token, "x-csrftoken": _other, ...kept } = headers;
      const { who } = request as unknown as { who: { subject: string; tenant: string } };
      return { ...kept, "x-user-id": who.subject, "x-tenant-id": who.tenant, "x-correlation-id": request.id };
    },
  },
});
await app.listen({ port: Number(process.env["PORT"]), host: "127.0.0.1" });
