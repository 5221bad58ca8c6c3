// One of several instances of a small service: it takes a moment, so that some requests are always under way.
import { createServer } from "node:http";

createServer((request, response) => {
  request.resume().on("end", () => {
    setTimeout(() => response.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}'), 5);
  });
}).listen(Number(process.env["PORT"]), "127.0.0.1");
