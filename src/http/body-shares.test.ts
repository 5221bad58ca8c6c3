import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { endpoint } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { silentLog } from "#telemetry/log.ts";
import { until } from "#testing/until.ts";
import { LARGE_BODY_BYTES } from "./body-shares.ts";
import { createRouter } from "./serve.ts";

const shape = endpoint("crud", "POST", "/things", {
  body: z.strictObject({ text: z.string() }),
  reply: z.object({ length: z.number() }),
  auth: "bearer",
  agents: "never",
  summary: "A thing.",
});

/** A service whose handler answers when it is let; the caller is whoever the request says, `service:x` is Sallyport's own. */
const served = () => {
  const waiting: (() => void)[] = [];
  let underWay = 0;
  const router = createRouter<string>({
    shareOf: (caller) => (caller.startsWith("service:") ? undefined : caller),
    name: "test",
    log: silentLog,
    validateReplies: true,
    authenticate: async (request) => {
      const caller = request.headers.get("authorization");
      if (caller === null) throw new Problem("unauthenticated");
      return caller;
    },
  });
  router.serve(shape, async ({ body }) => {
    underWay += 1;
    await new Promise<void>((go) => waiting.push(go));
    underWay -= 1;
    return { length: body.text.length };
  });
  const send = async (caller: string, bytes: number, form: "announced" | "pieces" = "announced"): Promise<number> => {
    const text = JSON.stringify({ text: "a".repeat(bytes) });
    const headers = { authorization: caller, "content-type": "application/json" };
    const { status } = await router.fetch(
      form === "announced"
        ? new Request("http://sallyport/things", {
            method: "POST",
            headers: { ...headers, "content-length": String(text.length) },
            body: text,
          })
        : new Request("http://sallyport/things", {
            method: "POST",
            headers,
            body: new Blob([text]).stream(),
            duplex: "half",
          } as RequestInit),
    );
    return status;
  };
  const letAll = async (all: readonly Promise<number>[]): Promise<readonly number[]> => {
    const timer = setInterval(() => waiting.splice(0).forEach((go) => go()), 1);
    return Promise.all(all).finally(() => clearInterval(timer));
  };
  return { send, letAll, underWay: () => underWay };
};
const countOf = (statuses: readonly number[], status: number): number => statuses.filter((one) => one === status).length;

for (const form of ["announced", "pieces"] as const)
  test(`forty large bodies of one caller: two are served at once, sixteen wait, the rest is refused; ${form}`, async () => {
    const { send, letAll, underWay } = served();
    const large = Array.from({ length: 40 }, () => send("ben", LARGE_BODY_BYTES, form));
    const settled: number[] = [];
    for (const one of large) void one.then((status) => settled.push(status));
    await until(() => settled.length === 22 && underWay() === 2);
    assert.deepEqual(new Set(settled), new Set([429]));
    const others = [send("cleo", LARGE_BODY_BYTES, form), send("ben", 10, form), send("service:crud", LARGE_BODY_BYTES, form)];
    await until(() => underWay() === 5);
    assert.deepEqual(await letAll(others), [200, 200, 200], "another caller, a small body and Sallyport itself are served meanwhile");
    const statuses = await letAll(large);
    assert.deepEqual([countOf(statuses, 200), countOf(statuses, 429)], [18, 22]);
    assert.deepEqual(await letAll([send("ben", LARGE_BODY_BYTES, form)]), [200], "the places are free again");
  });

test("a refused body gives its place back", async () => {
  const { send, letAll } = served();
  for (let round = 0; round < 5; round++)
    assert.deepEqual(
      await letAll([send("ben", 1_100_000), send("ben", 1_100_000, "pieces"), send("ben", LARGE_BODY_BYTES)]),
      [413, 413, 200],
    );
});
