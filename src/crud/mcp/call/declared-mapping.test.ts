import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test, type TestContext } from "node:test";
import { agent, crudInstance } from "#testing/crud-instance.ts";

const shipped = fileURLToPath(new URL("../../../../config/", import.meta.url));

/** The shipped configuration with a declared mapping in place of the short form of one tool. */
const configWith = async (t: TestContext, mapping: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-mapping-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await cp(shipped, folder, { recursive: true });
  const file = join(folder, "demo/systems/people.demo.yaml");
  const text = await readFile(file, "utf8");
  const [head = "", tail = ""] = text.split("  get_employee:");
  await writeFile(
    file,
    `${head}  get_employee:${tail.replace("authz: { resource: employee, action: list }", `x-authzen-mapping: ${mapping}`)}`,
  );
  return folder;
};
const call = { method: "tools/call", params: { name: "people.demo.get_employee", arguments: { id: "e1" } } };

test("a declared mapping is decided beside the call, with the call's values as claims", async (t) => {
  const configFolder = await configWith(
    t,
    "{ evaluations: [{ action: { name: list }, resource: { type: employee }, context: { id: $params.arguments.id } }, { action: { name: read_salary }, resource: { type: employee } }] }",
  );
  const instance = await crudInstance(t, { configFolder });
  const done = await instance.rpc({ jsonrpc: "2.0", id: 1, ...call }, { as: agent });
  assert.equal(done.body.error, undefined, JSON.stringify(done.body));
  const decided = instance.asked.decisions.flat().map(({ ask }) => `${ask.type}/${ask.action} ${JSON.stringify(ask.claimed ?? null)}`);
  assert.ok(decided.includes('employee/list {"id":"e1"}'), decided.join("\n"));
  instance.verdicts.set("employee:read_salary", "not_granted");
  const denied = await instance.rpc({ jsonrpc: "2.0", id: 2, ...call }, { as: agent });
  assert.deepEqual([denied.body.error?.code, denied.body.error?.data.code], [-32001, "not_granted"]);
});

test("a mapping that gives nothing to decide on refuses the call in both dialects, before anything is held or sent", async (t) => {
  const configFolder = await configWith(
    t,
    "{ evaluation: { subject: { type: identity, id: $params.arguments.id }, action: { name: list }, resource: { type: employee } } }",
  );
  const instance = await crudInstance(t, { configFolder });
  const contract = await instance.rpc({ jsonrpc: "2.0", id: 1, ...call }, { as: agent });
  assert.deepEqual([contract.body.error?.code, contract.body.error?.data.code], [-32602, "mapping_error"]);
  const response = await instance.request("/mcp", {
    body: { jsonrpc: "2.0", id: 1, ...call },
    headers: { accept: "application/json, text/event-stream" },
    as: agent,
  });
  const text = await response.text();
  const standard = JSON.parse(text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? "")) as { error?: { code: number } };
  assert.equal(standard.error?.code, -32602);
  assert.deepEqual(
    instance.entries.map((entry) => [entry.outcome, entry.code]),
    [
      ["refused", "mapping_error"],
      ["refused", "mapping_error"],
    ],
  );
  assert.equal(instance.membership.reservations.size, 0);
});
