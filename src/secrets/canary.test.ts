import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { statement } from "#store/database.ts";
import { kvProvider, kvServer, sharedOpenBao } from "#testing/kv-provider.ts";
import { requireProgram } from "#testing/programs.ts";
import { testSecrets } from "#testing/secrets.ts";

const openBao = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });
const scopes = ["read", "write", "delete", "destroy", "rotate", "read_metadata"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
const MOVES = statement<{ row: string }>("testing.move_rows", "select move::text as row from secrets.move");

const values = [
  "canary-plain-4711",
  'canary "quoted" \\ value',
  "canary\nof two lines",
  "canary \u{1f986} caf\u00e9",
  "Y2FuYXJ5LXZhbHVl",
  "47114711471147",
];

/** How a value may have been written down: as it is, in JSON, percent, hex, base64 at each of three offsets, as its hash. */
const formsOf = (value: string): readonly string[] => {
  const bytes = Buffer.from(value);
  const encoded = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .slice(offset === 0 ? 0 : 4, -4),
  );
  const hash = createHash("sha256").update(bytes);
  return [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), bytes.toString("hex"), ...encoded, hash.digest("hex")];
};

test("a value is in the answers of two endpoints, and nowhere else: in no refusal, log, event, record, metric or journal, in no encoding", async (t) => {
  const bao = await openBao(t);
  if (bao === undefined) return;
  const store = kvProvider(kvServer({ URL: bao.url, TOKEN: bao.rootToken }));
  const away = kvProvider(kvServer({ URL: "http://127.0.0.1:9", TOKEN: "canary-token-4711" }), { scheme: "vaultb+kv2" });
  const at = await testSecrets(t, { more: [store, away] });
  const said: string[] = [];
  let shown = 0;
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await at.send(ada, method, `/api/secrets${path}`, body === undefined ? {} : { body });
    const text = await response.text();
    const isShown = response.ok && method === "GET" && /^\/?(?:value)?\?uri=/.test(path);
    if (isShown) shown++;
    else said.push(text, JSON.stringify([...response.headers]));
  };
  for (const [index, value] of values.entries())
    // One value is enough where nobody answers.
    for (const base of ["yaml://secret", "vaultA+kv2://kv-a", ...(index === 0 ? ["vaultB+kv2://kv-b"] : [])]) {
      const uri = `${base}/c${index}`;
      const q = `uri=${encodeURIComponent(uri)}`;
      await send("POST", "", { uri: `${uri}#k`, value });
      await send("POST", "", { uri: `${uri}#k`, value, cas: 0 });
      await send("POST", "", { uri, value });
      await send("POST", "/rotate", { uri, value: { k: value, l: [value, { deep: value }] } });
      await send("GET", `/value?${q}`);
      await send("GET", `?${q}`);
      for (const path of ["/keys", "/metadata/detail", "/versions"]) await send("GET", `${path}?${q}`);
      await send("GET", `/search?q=c&prefix=${encodeURIComponent(base)}`);
      await send("POST", "/copy", { fromUri: uri, toUri: `yaml://secret/copy${index}` });
      await send("POST", "/copy", { fromUri: uri, toUri: `${uri}-copy` });
      if (index === 0) await send("POST", "/move", { fromUri: `${uri}-copy`, toUri: "vaultB+kv2://kv-b/moved" });
      await send("POST", "/move", { fromUri: `${uri}-copy`, toUri: `vaultA+kv2://kv-a/moved${index}-${base.slice(0, 4)}` });
      await send("POST", "/bulk", {
        operations: [
          { op: "set", uri, value: { k: value } },
          { op: "rotate", uri, value },
          { op: "set", uri: value, value },
        ],
      });
      await send("DELETE", `?${q}`);
      await send("POST", "/undelete", { uri, versions: [1] });
      await send("DELETE", `?${q}&destroy=true`);
    }
  assert.equal(shown, values.length * 3, "each value was read where it may be");
  const kept = [
    ...said,
    ...at.lines,
    JSON.stringify(await at.entries()),
    JSON.stringify(await at.events()),
    JSON.stringify(await at.database.run(MOVES)),
    await (await at.service.fetch(new Request("http://127.0.0.1/metrics"))).text(),
  ].join("\n");
  for (const value of [...values, "canary-token-4711", bao.rootToken])
    for (const form of formsOf(value)) assert.ok(!kept.includes(form), `${value} as ${form}`);
});
