// The verifier behind nginx's auth_request: the gateway's checks on a bare node:http server, and nothing else.
import { createServer } from "node:http";
import { createChecks, type ChecksEnvironment } from "../gateway/same-checks.ts";

const check = await createChecks(process.env as unknown as ChecksEnvironment);
const one = (value: string | string[] | undefined): string => (typeof value === "string" ? value : "");

const server = createServer((request, response) => {
  check({
    method: one(request.headers["x-original-method"]),
    target: one(request.headers["x-original-uri"]),
    headers: request.headers,
  }).then(
    ({ status, record }) => {
      if (record !== undefined) response.setHeader("X-User-ID", record.subject).setHeader("X-Tenant-ID", record.tenant);
      response.writeHead(status, { "content-length": "0" }).end();
    },
    () => response.writeHead(400, { "content-length": "0" }).end(),
  );
});
server.keepAliveTimeout = 65_000;
server.listen(Number(process.env["PORT"]), "127.0.0.1");
