import assert from "node:assert/strict";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { listenOn, listenService } from "./listen.ts";
import { withOwnPages, type OwnPages } from "./ops-endpoints.ts";

const listed = "127.0.0.7";
const pagesOf = (missing: readonly string[] = []): OwnPages => ({
  ready: async () => missing,
  metrics: createMetrics(),
  isListed: (address) => address === listed,
  requireReader: async (request) => {
    if (request.headers.get("authorization") !== "Bearer reader") throw new Problem("access_denied");
  },
  more: () => ({ policy_version: "v1" }),
});

const own = async () => new Response("its own", { status: 418 });
/** A service of the one seam, and a listener that knows nothing of it. */
const ways = {
  service: (t: TestContext, pages: OwnPages) => start(t, listenService(withOwnPages(own, pages), { port: 0, hosts: ["127.0.0.1"] })),
  listener: (t: TestContext, pages: OwnPages) =>
    start(
      t,
      listenOn((_incoming, outgoing) => void outgoing.writeHead(418).end("its own"), { port: 0, hosts: ["127.0.0.1"], pages }),
    ),
};
const start = async (t: TestContext, listening: ReturnType<typeof listenOn>): Promise<number> => {
  const opened = await listening;
  cleanUp(t, () => opened.close(0));
  return opened.port;
};

const get = (
  port: number,
  path: string,
  more: { readonly headers?: Readonly<Record<string, string>>; readonly from?: string; readonly method?: string } = {},
): Promise<{ readonly status: number | undefined; readonly text: string; readonly headers: IncomingMessage["headers"] }> =>
  new Promise((resolve, reject) => {
    const asked = {
      port,
      path,
      host: "127.0.0.1",
      localAddress: more.from ?? "127.0.0.1",
      headers: more.headers ?? {},
      method: more.method ?? "GET",
    };
    const sent = httpRequest({ ...asked, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      response.on("end", () => resolve({ status: response.statusCode, text, headers: response.headers }));
    });
    sent.on("error", reject).end();
  });

for (const [which, open] of Object.entries(ways)) {
  test(`a ${which} says that it lives and whether it is ready, to anybody and in the same words`, async (t) => {
    const port = await open(t, pagesOf());
    const live = await get(port, "/health/live", { headers: { host: "elsewhere" } });
    assert.deepEqual(
      [live.status, live.headers["cache-control"], (JSON.parse(live.text) as { status: string }).status],
      [200, "no-store", "alive"],
    );
    const ready = await get(port, "/health/ready");
    assert.deepEqual([ready.status, JSON.parse(ready.text)], [200, { status: "ready", policy_version: "v1" }]);
    const without = await get(await open(t, pagesOf(["database"])), "/health/ready");
    assert.deepEqual(
      [without.status, without.headers["retry-after"], JSON.parse(without.text)],
      [503, "5", { status: "not_ready", reasons: ["database"] }],
    );
    assert.equal((await get(port, "/health/live", { method: "POST" })).status, 405);
    for (const path of ["/", "/health", "/metrics/", "/health/ready/x", "/constructor"])
      assert.equal((await get(port, path)).text, "its own", path);
  });

  test(`a ${which} shows its metrics to this machine, to listed networks and to readers' tokens, and to nobody else`, async (t) => {
    const port = await open(t, pagesOf());
    const name = `localhost:${port}`;
    const rows: readonly (readonly [what: string, more: Parameters<typeof get>[2], status: number])[] = [
      ["this machine by its name", { headers: { host: name } }, 200],
      ["this machine by its address", { headers: { host: `127.0.0.1:${port}` } }, 200],
      ["by the name of another", { headers: { host: "gate.example" } }, 403],
      ["a listed network by any name", { headers: { host: "gate.example" }, from: listed }, 200],
      ["for somebody else", { headers: { host: name, "x-forwarded-for": "192.0.2.1" } }, 403],
      ["for somebody else, in other words", { headers: { host: name, via: "1.1 proxy" } }, 403],
      ["a listed network for somebody else", { headers: { host: name, forwarded: "for=192.0.2.1" }, from: listed }, 403],
      ["with a reader's token", { headers: { host: "gate.example", authorization: "Bearer reader" } }, 200],
      ["with another token", { headers: { host: "gate.example", authorization: "Bearer other" } }, 403],
    ];
    for (const [what, more, status] of rows) {
      const answer = await get(port, "/metrics", more);
      assert.equal(answer.status, status, what);
      assert.match(answer.text, status === 200 ? /^# HELP /m : /"code":"access_denied"/, what);
    }
  });
}

test("what this process asks of itself is from no machine: metrics want a token there", async () => {
  const fetch = withOwnPages(own, pagesOf());
  assert.equal((await fetch(new Request("http://localhost/metrics"))).status, 403);
  assert.equal((await fetch(new Request("http://localhost/metrics", { headers: { authorization: "Bearer reader" } }))).status, 200);
  assert.equal((await fetch(new Request("http://localhost/health/live"))).status, 200);
});
