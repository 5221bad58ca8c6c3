import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { cleanUp } from "./clean-up.ts";

/** A request as a webhook receiver got it. */
export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A webhook receiver on loopback that answers as it is told, and keeps what it got. */
export const hookReceiver = async (
  t: Pick<TestContext, "after">,
  answer: (response: ServerResponse, received: Received, n: number) => void,
) => {
  const received: Received[] = [];
  const read = async (request: IncomingMessage): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  };
  const server = createServer((request, response) => {
    void read(request).then((body) => {
      const one = { path: request.url ?? "", headers: request.headers as Record<string, string>, body };
      received.push(one);
      answer(response, one, received.length);
    });
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  cleanUp(t, async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  const { port } = server.address() as AddressInfo;
  return { received, port, url: `http://127.0.0.1:${port}/hook` };
};

/** A message as the server took it. */
export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  readonly isSecure: boolean;
  readonly user: string | undefined;
}

/** A real SMTP server on loopback; `password` is what it lets in. */
export const mailServer = async (t: Pick<TestContext, "after">, options: SMTPServerOptions & { readonly password?: string } = {}) => {
  const taken: TakenMail[] = [];
  const { password, ...given } = options;
  const server = new SMTPServer({
    authOptional: password === undefined,
    disableReverseLookup: true,
    logger: false,
    onAuth: (auth, _session, done) =>
      auth.password === password ? done(null, { user: auth.username ?? "" }) : done(new Error("wrong password")),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        taken.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString(),
          isSecure: session.secure,
          user: session.user as string | undefined,
        });
        done();
      });
    },
    ...given,
  });
  // A client that trusts it not says so and goes.
  server.on("error", () => undefined);
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  cleanUp(t, () => new Promise<void>((done) => server.close(done)));
  return { taken, port: (server.server.address() as AddressInfo).port };
};
