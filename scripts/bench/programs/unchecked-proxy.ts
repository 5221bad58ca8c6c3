// The floor of a proxy on this runtime: node:http in front, undici behind, a small body in one piece each way. It checks
// nothing, knows nobody, writes no log line, and would be no gateway.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Pool, type Dispatcher } from "undici";

const pool = new Pool(process.env["UPSTREAM"] as string, { connections: 64, pipelining: 1 });

const passOn = (request: IncomingMessage, response: ServerResponse, body: Buffer): void => {
  const chunks: Buffer[] = [];
  let status = 502;
  pool.dispatch(
    {
      method: request.method as Dispatcher.HttpMethod,
      path: request.url ?? "/",
      headers: { accept: request.headers.accept ?? "*/*", "content-type": request.headers["content-type"] ?? "text/plain" },
      body,
    },
    {
      // By it undici knows the kind of handler.
      onRequestStart: () => {},
      onResponseStart: (_controller, given) => {
        status = given;
      },
      onResponseData: (_controller, chunk) => {
        chunks.push(chunk);
      },
      onResponseEnd: () => {
        const answer = Buffer.concat(chunks);
        response.writeHead(status, { "content-type": "application/json", "content-length": answer.length }).end(answer);
      },
      onResponseError: () => {
        response.writeHead(502, { "content-length": "0" }).end();
      },
    },
  );
};

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => passOn(request, response, Buffer.concat(chunks)));
});
server.keepAliveTimeout = 65_000;
server.listen(Number(process.env["PORT"]), "127.0.0.1");
