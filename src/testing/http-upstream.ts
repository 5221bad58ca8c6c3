import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";

/** A server behind the gateway, on a free port; it counts what it gets. */
export interface ServerUpstream {
  readonly url: string;
  readonly seen: { readonly method: string; readonly url: string; readonly headers: IncomingMessage["headers"]; readonly body: string }[];
  /** Answers a request whose body has been read. */
  answer: (request: IncomingMessage, response: ServerResponse) => void;
}

export const serverUpstream = async (t: TestContext, name = "U"): Promise<ServerUpstream> => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      made.seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
      made.answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const made: ServerUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    answer: (_request, response) => void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ name })),
  };
  return made;
};
