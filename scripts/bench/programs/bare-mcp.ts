// A server of the MCP SDK and nothing else: the tools of a JSON file, in pages of 200, to whoever asks.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { createMcpHandler, Server, type Tool } from "@modelcontextprotocol/server";

const [file = "", port = ""] = process.argv.slice(2);
const tools = JSON.parse(readFileSync(file, "utf8")) as Tool[];
const PAGE = 200;

const handler = createMcpHandler(
  () => {
    const server = new Server({ name: "bare", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", async (request) => {
      const at = Number(request.params?.cursor ?? 0);
      const next = at + PAGE;
      return { tools: tools.slice(at, next), ...(next < tools.length ? { nextCursor: String(next) } : {}) };
    });
    return server;
  },
  { legacy: "stateless" },
);

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const asked = new Request(`http://127.0.0.1:${port}/mcp`, {
      method: request.method ?? "POST",
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    void handler.fetch(asked).then((answer) => {
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      if (answer.body === null) response.end();
      else Readable.fromWeb(answer.body).pipe(response);
    });
  });
}).listen(Number(port), "127.0.0.1", () => console.log("bare is ready"));
