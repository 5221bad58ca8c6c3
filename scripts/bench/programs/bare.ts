// The floor: a node:http server that answers 200 and does nothing else.
import { createServer } from "node:http";

createServer((_request, response) => {
  response.writeHead(200, { "content-length": "0" }).end();
}).listen(Number(process.env["PORT"]), "127.0.0.1");
