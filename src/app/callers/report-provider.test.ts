import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { silentLog } from "#telemetry/log.ts";
import { tellOfProvider } from "./report-provider.ts";

const provider = async (t: TestContext, answer: (url: string) => readonly [status: number, body: unknown]): Promise<string> => {
  const server = createServer((request, response) => {
    const [status, body] = answer(`http://${request.headers.host}`);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const reported = async (issuer: string, signal = new AbortController().signal): Promise<readonly string[]> => {
  const lines: string[] = [];
  await tellOfProvider({
    provider: { issuer, ask: (url, init) => fetch(url, init) },
    log: silentLog,
    say: (line) => lines.push(line),
    signal,
  });
  return lines;
};

test("a provider that answers for itself is passed over in silence", async (t) => {
  assert.deepEqual(await reported(await provider(t, (issuer) => [200, { issuer }])), []);
});

test("a provider that is away, broken or another one is named with the reason", async (t) => {
  const broken = await provider(t, () => [500, {}]);
  assert.deepEqual(await reported(broken), [
    `The OpenID provider ${broken} cannot be used (${broken}/.well-known/openid-configuration answers 500): nobody can sign in until it can.`,
  ]);
  const other = await provider(t, () => [200, { issuer: "https://other.example" }]);
  assert.match((await reported(other))[0] ?? "", /is of the issuer "https:\/\/other\.example"\): nobody can sign in/);
  const away = createServer().listen(0, "127.0.0.1");
  await once(away, "listening");
  const { port } = away.address() as AddressInfo;
  away.close();
  await once(away, "close");
  assert.match((await reported(`http://127.0.0.1:${port}`))[0] ?? "", /cannot be used \(ECONNREFUSED\)/);
});

test("an instance that ends says nothing of it any more", async () => {
  assert.deepEqual(await reported("http://127.0.0.1:1", AbortSignal.abort()), []);
});
