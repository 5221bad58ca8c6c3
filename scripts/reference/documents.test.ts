import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { test } from "node:test";
import { Validator, type Schema } from "@cfworker/json-schema";
import type { Issue } from "#contract/problem.ts";
import { readToolsDocument } from "#crud/documents/tools-document.ts";
import { uiDocument } from "#crud/documents/ui-document.ts";
import { readForm } from "#crud/forms/definition/read-form.ts";
import { readSystemText } from "#crud/systems/read-system-text.ts";
import { readWorkflow } from "#crud/workflows/definition/read-workflow.ts";
import { readYaml } from "#parsing/yaml-document.ts";
import { documentFiles } from "./documents.ts";

const root = join(import.meta.dirname, "../..");
const schemas = new Map(
  [...documentFiles()].flatMap(([name, text]) => (name.endsWith(".schema.json") ? [[name, JSON.parse(text) as Schema] as const] : [])),
);
const judges = new Map([...schemas].map(([name, schema]) => [name, new Validator(schema, "7")]));

const read = (text: string): unknown => {
  const { document, issues } = readYaml(text, "x.yaml");
  assert.deepEqual(issues, []);
  return document?.value;
};
const issuesOf = (found: object): readonly Issue[] => ("issues" in found ? (found.issues as readonly Issue[]) : []);
/** What the program itself says of a text. */
const refusals: Readonly<Record<string, (text: string) => readonly unknown[]>> = {
  "system.schema.json": (text) => issuesOf(readSystemText(text, "x.yaml")),
  "tools.schema.json": (text) => issuesOf(readToolsDocument(text, "x.yaml")),
  "form.schema.json": (text) => issuesOf(readForm(text, "x.yaml")),
  "workflow.schema.json": (text) => issuesOf(readWorkflow(text, "x.yaml")),
  "ui.schema.json": (text) => uiDocument.safeParse(read(text)).error?.issues ?? [],
};
const both = (schema: string, text: string): { readonly editor: boolean; readonly program: boolean } => ({
  editor: judges.get(schema)?.validate(read(text)).valid ?? false,
  program: refusals[schema]?.(text).length === 0,
});
/** By the place where the program looks for it. */
const schemaOf = (file: string): string =>
  ["forms", "systems", "workflows"].includes(basename(dirname(file)))
    ? `${basename(dirname(file)).slice(0, -1)}.schema.json`
    : `${basename(file, ".yaml")}.schema.json`;
const shipped = globSync(
  ["config/**/{forms,systems,workflows}/*.yaml", "{config,docs/examples}/**/{tools,ui}.yaml", "docs/examples/**/systems/*.yaml"],
  {
    cwd: root,
  },
);

test("every shipped document names its schema, and is valid by it and for the program", () => {
  assert.ok(shipped.length >= 7, shipped.join(", "));
  for (const file of shipped) {
    const text = readFileSync(join(root, file), "utf8");
    const [, named = ""] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? [];
    assert.equal(relative(root, join(root, dirname(file), named)), `docs/reference/${schemaOf(file)}`, file);
    assert.deepEqual(both(schemaOf(file), text), { editor: true, program: true }, file);
  }
});

const system = (more: string, operation = "request: { method: GET, path: /now }"): string => `
apiVersion: systems/v1
provider: clock
instance: wall
title: Wall clock
owner: group:time
kind: http
baseUrl: https://clock.example
${more}
operations: { now: { description: Tells what time it is., ${operation} } }`;
const loopback = system("", "request: { endpoint: now }").replace("kind: http\nbaseUrl: https://clock.example", "kind: loopback");
const mcp = system("transport: { type: stdio, command: clock }")
  .replace("kind: http\nbaseUrl: https://clock.example", "kind: mcp")
  .replace(/operations: .*/, "");
const tools = (row: string): string => `{ apiVersion: tools/v1, ${row} }`;
const ui = (row: string): string => `{ apiVersion: ui/v1, ${row} }`;

for (const [schema, rows] of Object.entries({
  "system.schema.json": [system(""), system("auth: { type: bearer, token: 'yaml://secret/a#b' }"), loopback, mcp],
  "tools.schema.json": [tools("views: [{ name: hr }]"), tools("overrides: { a.b.c: { cost_usd: 0.002, title: null } }")],
  "ui.schema.json": [ui("modules: { pdp: { groups: [a] } }")],
}))
  test(`what the program takes, ${schema} takes`, () => {
    for (const text of rows) assert.deepEqual(both(schema, text), { editor: true, program: true }, text);
  });

for (const [schema, rows] of Object.entries({
  "system.schema.json": {
    "an unknown member": system("colour: red"),
    "an unknown member of an operation": system("", "request: { method: GET, path: /now }, colour: red"),
    "a kind that is none": system("").replace("kind: http", "kind: carrier"),
    "a member of another kind": system("transport: { type: stdio, command: clock }"),
    "no title": system("").replace("title: Wall clock\n", ""),
    "a provider of Sallyport's own": system("").replace("provider: clock", "provider: workflow"),
    "a provider with an underscore": system("").replace("provider: clock", "provider: my_clock"),
    "a method that is none": system("", "request: { method: FETCH, path: /now }"),
    "a path with a query": system("", "request: { method: GET, path: '/now?a=b' }"),
    "too short a description": system("").replace("Tells what time it is.", "Time"),
    "a duration that is none": system("defaults: { timeout: 10s }"),
    "more tries than are allowed": system("defaults: { retry: { max: 6 } }"),
    "a limit without its time": system("defaults: { rateLimit: { rate: 5, burst: 5 } }"),
    "a credential as it is": system("auth: { type: bearer, token: sk-123456 }"),
    "a member of another credential": system("auth: { type: bearer, token: 'yaml://secret/a#b', name: X-Key }"),
    "a mask that is none": system("", "request: { method: GET, path: /now }, mask: [{ path: /a, action: blur }]"),
    "no operation": system("").replace(/operations: .*/, "operations: {}"),
    "an endpoint for a method": loopback.replace("endpoint: now", "method: GET, path: /now"),
    "a process without command": mcp.replace("command: clock", "args: []"),
    sampling: `${mcp}\ninteraction: { sampling: true }`,
  },
  "tools.schema.json": {
    "an unknown member": tools("colour: red"),
    "a name of Sallyport's own": tools("views: [{ name: jsonrpc }]"),
    "a form of names that is none": tools("views: [{ name: hr, nameForm: short }]"),
    "a filter that is none": tools("views: [{ name: hr, filters: { colour: [red] } }]"),
    "a negative price": tools("overrides: { a.b.c: { cost_usd: -1 } }"),
    "another version": tools("views: []").replace("tools/v1", "tools/v2"),
  },
  "ui.schema.json": {
    "a module that is none": ui("modules: { kitchen: { groups: [a] } }"),
    "a module for nobody": ui("modules: { pdp: { groups: [] } }"),
  },
}))
  for (const [what, text] of Object.entries(rows))
    test(`${schema} and the program refuse ${what}`, () => {
      assert.deepEqual(both(schema, text), { editor: false, program: false });
    });

interface Node {
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly [keyword: string]: unknown;
}
const below = ({ properties: _own, examples: _shown, default: _default, ...node }: Node): readonly Node[] =>
  Object.values(node)
    .flatMap((part) => (Array.isArray(part) ? part : [part]))
    .filter((part): part is Node => typeof part === "object" && part !== null);
const fieldsOf = (path: string, node: Node): readonly (readonly [string, Node])[] => [
  ...Object.entries(node.properties ?? {}).flatMap(([name, field]) => [
    [`${path}/${name}`, field] as const,
    ...fieldsOf(`${path}/${name}`, field),
  ]),
  ...below(node).flatMap((part) => fieldsOf(path, part)),
];

for (const [name, schema] of schemas)
  test(`every field of ${name} has a meaning, and an example and a default that it takes`, () => {
    const fields = fieldsOf("", schema as Node);
    assert.ok(fields.length > 5);
    for (const [path, field] of fields) {
      assert.ok((field.description ?? "").length > 5, `${path} has no meaning`);
      assert.equal(field.examples?.length, 1, `${path} has no example`);
      const shown = [field.examples?.[0], ...("default" in field ? [field["default"]] : [])];
      for (const value of shown)
        assert.deepEqual(new Validator(field as Schema, "7").validate(value).errors, [], `${path}: ${JSON.stringify(value)}`);
    }
  });
