import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";

/** An AuthZEN server that knows evaluations alone and permits them all; answers its identifier. */
export const permittingPoint = async (t: TestContext): Promise<string> => {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const answer = (body: unknown): void =>
        void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
      if (request.method === "GET")
        return answer({
          policy_decision_point: identifier,
          access_evaluation_endpoint: `${identifier}/one`,
          access_evaluations_endpoint: `${identifier}/many`,
        });
      const { evaluations } = JSON.parse(Buffer.concat(parts).toString()) as { evaluations?: unknown[] };
      answer(evaluations === undefined ? { decision: true } : { evaluations: evaluations.map(() => ({ decision: true })) });
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const identifier = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return identifier;
};
