// An upstream of event streams and bulk. Frames carry the moment they were written, in microseconds of the machine's
// monotonic clock, which all processes share.
import { createServer, type ServerResponse } from "node:http";

const FRAMES_PER_SECOND = 10;
const padding = "x".repeat(900);
const streams = new Set<ServerResponse>();

setInterval(() => {
  for (const stream of streams) stream.write(`id: 1\ndata: {"at":${process.hrtime.bigint() / 1000n},"padding":"${padding}"}\n\n`);
}, 1000 / FRAMES_PER_SECOND);

const chunk = Buffer.alloc(65_536, "b");
const sendBulk = (response: ServerResponse, bytes: number): void => {
  response.writeHead(200, { "content-type": "application/octet-stream", "content-length": String(bytes) });
  let left = bytes;
  const more = (): void => {
    while (left > 0) {
      const size = Math.min(left, chunk.length);
      left -= size;
      if (!response.write(chunk.subarray(0, size))) break;
    }
    if (left > 0) response.once("drain", more);
    else response.end();
  };
  more();
};

createServer((request, response) => {
  if (request.url?.startsWith("/events")) {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    streams.add(response);
    response.on("close", () => streams.delete(response));
    return;
  }
  if (request.method === "POST") {
    let size = 0;
    request.on("data", (part: Buffer) => (size += part.length));
    request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(`{"bytes":${size}}`));
    return;
  }
  sendBulk(response, Number(/\/down\/(\d+)/.exec(request.url ?? "")?.[1] ?? 0));
}).listen(Number(process.env["PORT"]), "127.0.0.1");
