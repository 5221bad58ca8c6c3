import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { MappedCall } from "#crud/model/mapped-call.ts";
import { compileAuthzenMapping } from "./authzen-mapping.ts";
import type { AuthzenMapping } from "./operation-members.ts";

const caller: Caller = {
  sub: "person:ben",
  tenant: "tenant:acme",
  scopes: new Set(["mcp.tools.invoke"]),
  agent: "agent:hr-assistant",
  actors: ["agent:hr-assistant"],
  clientId: "agent:hr-assistant",
  acr: "strong",
  amr: ["pwd", "otp"],
  authTime: 1_000,
  issuer: "http://localhost:8081",
  isInternalService: false,
  token: "secret",
  expiresAt: 2_000,
};
const callWith = (given: Record<string, unknown>): MappedCall => ({
  toolName: "people.demo.update_salary",
  arguments: given,
  caller,
  now: new Date(0),
});
const compile = (mapping: unknown) => {
  const issues: string[] = [];
  const compiled = compileAuthzenMapping(mapping as AuthzenMapping, ["m"], (path, message) => issues.push(`${path.join("/")} ${message}`));
  return { compiled, issues };
};
const item = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  action: { name: "update_salary" },
  resource: { type: "employee" },
  ...more,
});

describe("a declared mapping", () => {
  test("asks what its expressions make of params and token; dollar signs can be meant", () => {
    const { compiled, issues } = compile({
      evaluation: {
        subject: { type: "identity", id: "$token.sub" },
        action: { name: "update_salary", properties: { note: "$$5" } },
        resource: { type: "employee", id: "$params.arguments.id", properties: { salary: "$params.arguments.salary" } },
        context: { tool: "$params.name", agent: "$token.act.sub", parts: ["$params.arguments.salary + 1", "plain"] },
      },
    });
    assert.deepEqual(issues, []);
    assert.deepEqual(compiled.pairs, ["employee/update_salary"]);
    assert.deepEqual(compiled.asks(callWith({ id: "e1", salary: 7 })), [
      {
        type: "employee",
        action: "update_salary",
        id: "e1",
        claimed: { tool: "people.demo.update_salary", agent: "agent:hr-assistant", parts: [8, "plain"], note: "$5", salary: 7 },
      },
    ]);
  });

  test("of several items asks each, in order", () => {
    const { compiled } = compile({ evaluations: [item(), { action: { name: "list" }, resource: { type: "employee" } }] });
    assert.deepEqual(
      compiled.asks(callWith({})).map((ask) => ask.action),
      ["update_salary", "list"],
    );
  });

  const faulty: readonly { readonly name: string; readonly mapping: unknown; readonly issue: RegExp }[] = [
    {
      name: "an expression that is none",
      mapping: { evaluation: item({ context: { a: "$params." } }) },
      issue: /^m\/evaluation\/context\/a /,
    },
    { name: "an unknown variable", mapping: { evaluation: item({ context: { a: "$env.SECRET" } }) }, issue: /^m\/evaluation\/context\/a / },
    {
      name: "an expression that is too long",
      mapping: { evaluation: item({ context: { a: `$"${"x".repeat(2048)}"` } }) },
      issue: /2048/,
    },
    {
      name: "too many parts",
      mapping: { evaluation: item({ context: { a: `$${Array.from({ length: 600 }, () => "1").join("+")}` } }) },
      issue: /context\/a /,
    },
    {
      name: "a pair that nobody decides",
      mapping: { evaluations: [item({ resource: { type: "employees" } })] },
      issue: /^m\/evaluations\/0 employees\/update_salary/,
    },
    { name: "a type that is an expression", mapping: { evaluation: item({ resource: { type: "$params.name" } }) }, issue: /are words/ },
  ];
  for (const { name, mapping, issue } of faulty)
    test(`with ${name} is an issue of the file, with its place`, () => {
      const { issues } = compile(mapping);
      assert.equal(issues.length, 1);
      assert.match(issues[0] ?? "", issue);
    });

  const refused: readonly { readonly name: string; readonly mapping: unknown; readonly given?: Record<string, unknown> }[] = [
    { name: "reads what is not there", mapping: { evaluation: item({ context: { a: "$params.arguments.none" } }) } },
    { name: "fails", mapping: { evaluation: item({ context: { a: "$1 / 0" } }) } },
    { name: "names another subject", mapping: { evaluation: item({ subject: { type: "identity", id: "person:ada" } }) } },
    {
      name: "takes its subject from the arguments",
      mapping: { subject: { type: "identity", id: "$params.arguments.who" }, evaluations: [item()] },
      given: { who: "person:ada" },
    },
    {
      name: "gives an id that is no text",
      mapping: { evaluation: item({ resource: { type: "employee", id: "$params.arguments.id" } }) },
      given: { id: 7 },
    },
    {
      name: "gives an empty id",
      mapping: { evaluation: item({ resource: { type: "employee", id: "$params.arguments.id" } }) },
      given: { id: "" },
    },
    {
      name: "gives more than 16 KiB",
      mapping: { evaluation: item({ context: { all: "$params.arguments" } }) },
      given: { text: "x".repeat(20_000) },
    },
  ];
  for (const { name, mapping, given } of refused)
    test(`that ${name} is refused as mapping_error`, () => {
      const { compiled, issues } = compile(mapping);
      assert.deepEqual(issues, []);
      assert.throws(
        () => compiled.asks(callWith(given ?? {})),
        (error) => error instanceof Problem && error.code === "mapping_error",
      );
    });

  test("sees the claims of the token and never the token", () => {
    const { compiled } = compile({ evaluation: item({ context: { token: "$token" } }) });
    const [ask] = compiled.asks(callWith({}));
    assert.ok(!JSON.stringify(ask).includes("secret"));
    assert.deepEqual(Object.keys((ask?.claimed?.["token"] ?? {}) as object).sort(), [
      "acr",
      "act",
      "amr",
      "auth_time",
      "client_id",
      "scope",
      "sub",
      "tenant",
    ]);
  });
});
