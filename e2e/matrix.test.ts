import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { RpcResponse } from "#contract/json-rpc.ts";
import { columns, matrixRows, nameOf, type Row } from "#pdp/lifecycle/matrix/matrix.ts";
import { matrixFile } from "#testing/decision-matrix.ts";
import { sharedInstance } from "./shared-instance.ts";
import { fetchToken, type TokenAsk } from "./tokens.ts";

/** Rows that a client can ask itself: where a service of Sallyport vouches for something, no client can say it. */
const isClients = (row: Row): boolean => row.could !== true && row.assigned !== true && row.props === undefined;

const cellOf = ({ decision, context }: EvaluationReply): string =>
  decision ? "Y" : context?.reason === "step_up_required" ? "S" : context?.reason === "approval_required" ? "R" : "-";

const principalOf = (column: (typeof columns)[number], acr?: "strong"): TokenAsk => ({
  user: column.subject.replace("person:", ""),
  ...("agent" in column ? { agent: column.agent } : {}),
  ...(acr === undefined ? {} : { acr }),
});

test("every person and agent, asking the gateway with a token of their own, is answered what matrix.txt says", async () => {
  const instance = await sharedInstance();
  const lines = (await readFile(matrixFile, "utf8")).split("\n").slice(3, -1);
  const wanted = new Map(lines.map((line) => line.replace(/ \|$/, "").split(" | ")).map(([name = "", ...cells]) => [name, cells]));
  const ask = async (principal: TokenAsk, rows: readonly Row[]): Promise<readonly EvaluationReply[]> => {
    const token = await fetchToken(instance.port, principal);
    const replies: EvaluationReply[] = [];
    for (let from = 0; from < rows.length; from += 100) {
      const evaluations = rows.slice(from, from + 100).map(({ type, action, id, claimed }) => ({
        action: { name: action },
        resource: { type, ...(id === "*" ? {} : { id }), ...(claimed === undefined ? {} : { properties: claimed }) },
      }));
      const response = await fetch(`${instance.origin}/access/v1/evaluations`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ evaluations }),
      });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      replies.push(...(JSON.parse(text) as { readonly evaluations: readonly EvaluationReply[] }).evaluations);
    }
    assert.equal(replies.length, rows.length);
    return replies;
  };
  // Decisions that rows ask about have to be made first.
  const made = async (principal: TokenAsk): Promise<string> => {
    const [reply] = await ask(principal, [{ type: "pages", action: "view_all", id: "*" }]);
    return reply?.context?.decision_id ?? "";
  };
  const known = {
    ben: await made({ user: "ben" }),
    cleo: await made({ user: "cleo" }),
    cleoReporter: await made({ user: "cleo", agent: "agent:reporter" }),
  };
  const rows = matrixRows(known).filter(isClients);
  const stepUp = rows.filter((row) => wanted.has(`${nameOf(row)} +mfa`));
  assert.ok(rows.length > 100 && stepUp.length > 3);
  const differ: string[] = [];
  for (const [at, column] of columns.entries()) {
    if ("isBeyondDemo" in column) continue;
    const compare = (name: string, reply: EvaluationReply | undefined): void => {
      const got = reply === undefined ? "nothing" : cellOf(reply);
      const cell = wanted.get(name)?.[at];
      if (got !== cell) differ.push(`${name} | ${column.name}: matrix.txt ${cell}, asked ${got} ${reply?.context?.reason ?? ""}`);
    };
    const plain = await ask(principalOf(column), rows);
    for (const [index, row] of rows.entries()) compare(nameOf(row), plain[index]);
    const strong = await ask(principalOf(column, "strong"), stepUp);
    for (const [index, row] of stepUp.entries()) compare(`${nameOf(row)} +mfa`, strong[index]);
  }
  assert.deepEqual(differ, []);

  // Ben may start both workflows, so their tools are in his list, with those of runs.
  const ben = await fetchToken(instance.port, { user: "ben" });
  const rpc = async (method: string, params: object): Promise<RpcResponse> => {
    const response = await fetch(`${instance.origin}/api/crud/mcp/jsonrpc`, {
      method: "POST",
      headers: { authorization: `Bearer ${ben}`, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return (await response.json()) as RpcResponse;
  };
  const listed = (await rpc("tools/list", {})).result as { readonly tools: readonly { readonly name: string }[] };
  const names = listed.tools.map(({ name }) => name);
  assert.ok(names.includes("people.demo.list_employees"), names.join());
  assert.deepEqual(
    names.filter((name) => name.startsWith("workflow")),
    ["workflow.status", "workflow.resume", "workflow.cancel", "workflow.simulate", "workflow.grant_access", "workflow.offboard"],
  );
  for (const name of ["workflow.grant_access", "workflow.offboard"])
    assert.equal((await rpc("tools/call", { name, arguments: {} })).error?.data?.code, "invalid_arguments", name);
});
