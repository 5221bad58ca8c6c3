import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { AskMapping } from "#crud/model/mapped-call.ts";
import { compileAuthz } from "./authz-mapping.ts";
import { compileAuthzenMapping } from "./authzen-mapping.ts";

const caller: Caller = {
  sub: "person:ben",
  tenant: "tenant:acme",
  scopes: new Set(["mcp.tools.invoke"]),
  actors: [],
  amr: ["pwd"],
  issuer: "http://localhost:8081",
  isInternalService: false,
  token: "secret",
  expiresAt: 2_000,
};
const noIssue = (path: readonly (string | number)[], message: string): never => assert.fail(`${path.join("/")} ${message}`);

/** The same mapping in both forms: an id and one property, each an expression over the arguments `a`. */
const forms: Readonly<Record<string, (id: string | undefined, property: string) => AskMapping>> = {
  "authz:": (id, property) =>
    compileAuthz(
      {
        resource: "employee",
        action: "update_salary",
        ...(id === undefined ? {} : { id: `\${ ${id.replaceAll("a.", "input.")} }` }),
        properties: { salary: `\${ ${property.replaceAll("a.", "input.")} }` },
      },
      ["m"],
      noIssue,
    ),
  "x-authzen-mapping:": (id, property) =>
    compileAuthzenMapping(
      {
        evaluation: {
          action: { name: "update_salary" },
          resource: {
            type: "employee",
            ...(id === undefined ? {} : { id: `$${id.replaceAll("a.", "params.arguments.")}` }),
            properties: { salary: `$${property.replaceAll("a.", "params.arguments.")}` },
          },
        },
      } as Parameters<typeof compileAuthzenMapping>[0],
      ["m"],
      noIssue,
    ),
};

const refused: readonly {
  readonly what: string;
  readonly id?: string;
  readonly property?: string;
  readonly given: Readonly<Record<string, unknown>>;
}[] = [
  { what: "an expression that fails", property: "1 / 0", given: {} },
  { what: "an id whose expression fails", id: "string(1 / 0)", given: {} },
  { what: "an id that is not there", id: "a.none", given: {} },
  { what: "an id that is no text", id: "a.id", given: { id: 7 } },
  { what: "an empty id", id: "a.id", given: { id: "" } },
  { what: "an id with a control character", id: "a.id", given: { id: "a\u0000b" } },
  { what: "an id of half a surrogate pair", id: "a.id", given: { id: "\ud800" } },
  { what: "an id of 1025 characters", id: "a.id", given: { id: "x".repeat(1025) } },
  { what: "a property that no JSON can carry", property: "a.x", given: { x: "\udfff" } },
  { what: "a number beyond a double", property: "a.x * 10.0", given: { x: 1.5e308 } },
  { what: "more than 16 KiB", property: "a.x", given: { x: "x".repeat(20_000) } },
];

for (const [form, compile] of Object.entries(forms)) {
  for (const { what, id, property = "1", given } of refused)
    test(`${form} ${what} is mapping_error, which every dialect answers with -32602`, () => {
      const mapping = compile(id, property);
      assert.throws(
        () => mapping.asks({ toolName: "people.demo.update_salary", arguments: given, caller, now: new Date(0) }),
        (error) => error instanceof Problem && error.code === "mapping_error" && error.rpcCode === -32602,
      );
    });

  for (const [what, property, x] of [
    ["reads more than 100,000 elements", "1", Array.from({ length: 100_001 }, () => 1)],
    ["works without end", "size(a.x.map(i, a.x.map(j, i == j)))", Array.from({ length: 5000 }, (_none, at) => at)],
  ] as const)
    test(`${form} an expression that ${what} is expression_limit`, () => {
      const mapping = compile(undefined, property);
      assert.throws(() => mapping.asks({ toolName: "t", arguments: { x }, caller, now: new Date(0) }), { code: "expression_limit" });
    });

  test(`${form} asks what it is meant to`, () => {
    const asks = compile("a.id", "a.x + 1").asks({ toolName: "t", arguments: { id: "e1", x: 6 }, caller, now: new Date(0) });
    assert.deepEqual(asks, [{ type: "employee", action: "update_salary", id: "e1", claimed: { salary: 7 } }]);
  });
}
