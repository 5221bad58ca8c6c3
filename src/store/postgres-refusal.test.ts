import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { silentLog } from "#telemetry/log.ts";
import { createPostgres } from "./postgres.ts";
import { postgresRefusal } from "./postgres-refusal.ts";
import { ServerSilent, SqlError, storeUnavailable } from "./sql-error.ts";

const url = "postgres://sally:canary-word@db.example:6432/sallyport";

test("why PostgreSQL cannot be had is one sentence with host, port and cause, and never the password", () => {
  for (const [error, exitCode, says] of [
    [
      storeUnavailable(Object.assign(new Error("connect"), { code: "ECONNREFUSED" })),
      69,
      /at db\.example:6432 is not available: nothing listens there\. /,
    ],
    [storeUnavailable(new AggregateError([Object.assign(new Error(""), { code: "ECONNREFUSED" })])), 69, /nothing listens there/],
    [storeUnavailable(Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" })), 69, /no such host is known/],
    [storeUnavailable(new Error("timeout exceeded when trying to connect")), 69, /it did not answer in time/],
    [storeUnavailable(new ServerSilent("store.version", { cause: new Error("Query read timeout") })), 69, /it did not answer in time/],
    [storeUnavailable(new SqlError({ code: "53300", message: "too many clients already" })), 69, /too many clients already/],
    [new SqlError({ code: "28P01", message: "password authentication failed" }), 78, /does not let user sally into database sallyport/],
    [new SqlError({ code: "3D000", message: 'database "sallyport" does not exist' }), 78, /database "sallyport" does not exist/],
    [new Error("PostgreSQL 15 or newer is needed"), 78, /PostgreSQL 15 or newer is needed/],
  ] as const) {
    const refusal = postgresRefusal("DATABASE_URL", url, error);
    assert.equal(refusal?.exitCode, exitCode);
    assert.match(refusal.message, says);
    assert.match(refusal.message, /^DATABASE_URL: /);
    assert.doesNotMatch(refusal.message, /canary-word|\n/);
  }
  assert.equal(postgresRefusal("DATABASE_URL", url, new TypeError("a fault of ours")), undefined);
  assert.equal(postgresRefusal("DATABASE_URL", url, new Problem("conflict")), undefined);
});

test("a port where nothing listens is said as such by what the driver throws", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const at = `postgres://sally:canary-word@127.0.0.1:${port}/sallyport`;
  const error: unknown = await createPostgres({ url: at, poolSize: 1, log: silentLog }).catch((failure: unknown) => failure);
  assert.deepEqual(postgresRefusal("DATABASE_URL", at, error), {
    exitCode: 69,
    message: `DATABASE_URL: PostgreSQL at 127.0.0.1:${port} is not available: nothing listens there. Start it, or correct the address.`,
  });
});
