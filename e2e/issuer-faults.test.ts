import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { faultProxy, type FaultProxy, type NetworkFailure } from "#testing/fault-proxy.ts";
import { testServer } from "#testing/postgres-database.ts";
import { until } from "#testing/until.ts";
import { whyNoPostgres } from "./postgres-ground.ts";
import { ask, startReplicas, type Browser, type Replicas } from "./replicas.ts";

const PATH = "/api/v1/sessions";
const server = testServer();

const issues: readonly (readonly [what: string, fault: NetworkFailure])[] = [
  ["is silent", { kind: "hang" }],
  ["breaks its connections", { kind: "reset" }],
  ["closes without a word", { kind: "half_close" }],
  ["talks nonsense", { kind: "garbage", text: "HELLO\r\n\r\n" }],
  [
    "answers with a page of somebody else",
    { kind: "garbage", text: "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>" },
  ],
  ["is overloaded", { kind: "garbage", text: "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n" }],
];

describe("a provider that fails while tokens are refreshed under load, before two gateway processes", () => {
  const closing: (() => unknown)[] = [];
  let replicas: Replicas;
  let proxy: FaultProxy;
  let missing: string | undefined;
  before(async () => {
    const t = { after: (close: () => unknown) => void closing.push(close) };
    const front = async (port: number): Promise<number> => {
      proxy = await faultProxy(t as never, `http://127.0.0.1:${port}`);
      return Number(new URL(proxy.url).port);
    };
    const started = await startReplicas(t as never, server, {}, front);
    if (started === undefined) missing = whyNoPostgres(server);
    else replicas = started;
  });
  after(async () => {
    for (const close of closing) await close();
  });

  for (const [what, fault] of issues)
    test(`it ${what}: clean refusals, nobody is signed out, and others do not notice`, async (t) => {
      if (missing !== undefined) return t.skip(missing);
      const { gateways, provider } = replicas;
      proxy.fault = { kind: "pass" };
      const living = await replicas.signIn();
      provider.life = 2;
      const expired = await Promise.all([replicas.signIn(), replicas.signIn(gateways[1])]);
      provider.life = 600;
      await sleep(2500);

      proxy.fault = fault;
      const refused = new Map<string, number>();
      const served = new Map<string, number>();
      let isRunning = true;
      t.after(() => (isRunning = false));
      const worker = async (browser: Browser, said: Map<string, number>, index: number): Promise<void> => {
        while (isRunning) {
          const { status, body, headers } = await browser.get(PATH, gateways[index % 2] ?? gateways[0]);
          const word = `${status} ${body.code ?? ""} ${status === 503 ? `after ${headers.get("retry-after")}` : ""}`.trim();
          said.set(word, (said.get(word) ?? 0) + 1);
          // A client that is told to come back later does not come back at once.
          await sleep(50);
        }
      };
      const workers = Promise.all([
        ...Array.from({ length: 12 }, (_, index) => worker(expired[index % 2] as Browser, refused, index >> 1)),
        ...Array.from({ length: 8 }, (_, index) => worker(living, served, index)),
      ]);
      const total = (said: Map<string, number>): number => [...said.values()].reduce((sum, count) => sum + count, 0);
      await until(() => total(refused) >= 12 && total(served) >= 100, Boolean, 40_000);
      for (const gateway of gateways) assert.equal((await ask(gateway, "/api/v1/health/ready")).status, 200);
      isRunning = false;
      await workers;
      assert.deepEqual([...served.keys()], ["200"], JSON.stringify([...served]));
      assert.deepEqual([...refused.keys()], ["503 identity_provider_unavailable after 5"], JSON.stringify([...refused]));

      proxy.fault = { kind: "pass" };
      for (const browser of expired)
        for (const gateway of gateways)
          await until(
            async () => (await browser.get(PATH, gateway)).status,
            (status) => {
              assert.notEqual(status, 401);
              return status === 200;
            },
          );
    });
});
