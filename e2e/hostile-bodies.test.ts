import assert from "node:assert/strict";
import { connect } from "node:net";
import { before, test } from "node:test";
import { sharedInstance } from "./shared-instance.ts";
import type { TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

let instance: TestInstance;
const tokens: Record<"ben" | "pep", string> = { ben: "", pep: "" };
before(async () => {
  instance = await sharedInstance();
  [tokens.ben, tokens.pep] = await Promise.all([
    fetchToken(instance.port, { user: "ben" }),
    fetchToken(instance.port, { client: "service:pep", data: instance.data }),
  ]);
});

/** Where each listener reads a body of a caller who is known. */
const listeners: readonly (readonly [listener: string, port: number, path: string, who: keyof typeof tokens])[] = [
  ["gateway", 0, "/access/v1/evaluation", "ben"],
  ["pdp", 2, "/access/v1/evaluation", "pep"],
  ["pdp's batches", 2, "/access/v1/evaluations", "pep"],
  ["crud", 3, "/mcp/jsonrpc", "ben"],
  ["crud's standard endpoint", 3, "/mcp", "ben"],
  ["membership", 4, "/api/v1/delegations", "ben"],
  ["secrets", 5, "/api/secrets", "ben"],
];
const wide = (count: number): string => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`member${at}`, 1])));
const bodies: readonly (readonly [what: string, text: string, statuses: readonly number[]])[] = [
  ["more members than are taken", wide(26_000), [413]],
  ["more items than are taken", `[${"1,".repeat(26_000)}1]`, [413]],
  ["75,000 members", wide(75_000), [413]],
  ["thousands of unknown members", wide(9_000), [200, 400, 403, 422]],
  [
    "one name of 200 kB over many faults",
    JSON.stringify({ ["n".repeat(200_000)]: Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`m${at}`, {}])) }),
    [200, 400, 403, 422],
  ],
  ["a depth without end", "[".repeat(100_000), [400]],
];
for (const [listener, offset, path, who] of listeners)
  for (const [what, text, statuses] of bodies)
    test(`${listener} answers ${what} shortly`, async () => {
      const response = await fetch(`http://localhost:${instance.port + offset}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${tokens[who]}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: text,
      });
      const answer = await response.text();
      const isOver = text.length > 262_144 && offset === 0;
      assert.ok((isOver ? [413] : statuses).includes(response.status), `${response.status} ${answer.slice(0, 500)}`);
      assert.ok(answer.length < 40_000, `${answer.length} bytes`);
      const body = JSON.parse(answer) as {
        readonly errors?: readonly unknown[];
        readonly error?: { readonly data?: { readonly errors?: readonly unknown[] } };
      };
      assert.ok((body.errors ?? body.error?.data?.errors ?? []).length <= 50);
    });

/** What comes back for a body that trickles in, until the connection is gone. */
const trickle = (port: number, head: string): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString("latin1"))).on("error", () => {});
    socket.write(head);
    const drip = setInterval(() => socket.write("a"), 500);
    socket.on("close", () => {
      clearInterval(drip);
      resolve(text);
    });
  });

test("no listener waits for a body that trickles in, whoever sends it and whoever reads it", { timeout: 60_000 }, async () => {
  const length = "Content-Length: 9000\r\n\r\n";
  const known = [
    ...listeners.map(([, offset, path, who]) => ({
      offset,
      path,
      more: `Authorization: Bearer ${tokens[who]}\r\nContent-Type: application/json\r\n`,
      status: /^HTTP\/1\.1 408 /,
    })),
    { offset: 1, path: "/token", more: "Content-Type: application/x-www-form-urlencoded\r\n", status: /^HTTP\/1\.1 408 / },
    { offset: 0, path: "/oauth/token", more: "Content-Type: application/x-www-form-urlencoded\r\n", status: /^HTTP\/1\.1 408 / },
  ];
  const strangers = listeners.map(([, offset, path]) => ({
    offset,
    path,
    more: "Content-Type: application/json\r\n",
    status: /^HTTP\/1\.1 401 /,
  }));
  await Promise.all(
    [...known, ...strangers].map(async ({ offset, path, more, status }) => {
      const head = `POST ${path} HTTP/1.1\r\nHost: localhost:${instance.port + offset}\r\nAccept: application/json, text/event-stream\r\n${more}${length}`;
      assert.match(await trickle(instance.port + offset, head), status, path);
    }),
  );
});
