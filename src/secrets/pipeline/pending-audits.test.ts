import assert from "node:assert/strict";
import { test } from "node:test";
import type { Recorder } from "#events/audit/entry.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer } from "#testing/kv-provider.ts";
import { testSecrets } from "#testing/secrets.ts";

const scopes = ["read", "write", "delete", "destroy", "rotate", "read_metadata", "set_owner"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
const uri = "vaulta+kv2://kv-a/pending";
const at = encodeURIComponent(uri);

const acts: readonly (readonly [method: string, path: string, body?: object])[] = [
  ["POST", "", { uri, value: { k: 1 } }],
  ["POST", "", { uri: "yaml://secret/pending", value: { k: 1 } }],
  ["GET", "?uri=yaml://secret/pending"],
  ["GET", `/value?uri=${at}`],
  ["POST", "/rotate", { uri, value: { k: 2 } }],
  ["POST", "/metadata/owner", { uri, owner: "group:payments" }],
  ["GET", `/metadata?prefix=${at}`],
  ["GET", `/keys?uri=${at}`],
  ["GET", `/metadata/detail?uri=${at}`],
  ["GET", `/versions?uri=${at}`],
  ["GET", `/versions?uri=${at}&fingerprints=true`],
  ["GET", `/search?q=pending&prefix=${at}`],
  ["POST", "/copy", { fromUri: uri, toUri: `${uri}-copy`, dry_run: true }],
  ["POST", "/copy", { fromUri: uri, toUri: `${uri}-copy` }],
  ["POST", "/move", { fromUri: `${uri}-copy`, toUri: `${uri}-moved` }],
  ["POST", "/bulk", { operations: [{ op: "set", uri: `${uri}#l`, value: 1 }] }],
  ["DELETE", `?uri=${at}`],
  ["POST", "/undelete", { uri, versions: [1] }],
  ["POST", "/destroy-versions", { uri, versions: [1] }],
];

test("whatever is answered before its audit entry could be closed is marked as pending, and nothing else is", async (t) => {
  const store = await startKvDouble(t, "openbao");
  let isLate = false;
  let count = 0;
  const wrapRecorder = (recorder: Recorder): Recorder => ({
    ...recorder,
    open: async (...how) => {
      const act = await recorder.open(...how);
      return { ...act, close: async (...end) => ((await act.close(...end)) === "closed" && isLate ? "pending" : "closed") };
    },
  });
  const instance = await testSecrets(t, { wrapRecorder, more: [kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }))] });
  for (const late of [true, false]) {
    isLate = late;
    for (const [method, path, body] of acts) {
      const headers = { "idempotency-key": `act-${++count}` };
      const send = async () => {
        const response = await instance.send(ada, method, `/api/secrets${path}`, body === undefined ? {} : { body, headers });
        const reply = (await response.json()) as { audit?: string };
        assert.ok(response.ok, `${method} ${path} ${JSON.stringify(reply)}`);
        return reply.audit;
      };
      assert.equal(await send(), late ? "pending" : undefined, `${method} ${path}`);
      // What is answered again is of an act that is long over.
      if (body !== undefined) assert.equal(await send(), undefined, `${method} ${path} again`);
    }
    for (const name of ["", "-moved"])
      await instance.send(ada, "DELETE", `/api/secrets?uri=${encodeURIComponent(uri + name)}&destroy=true`);
  }
});
