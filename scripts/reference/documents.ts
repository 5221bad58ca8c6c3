import { z } from "zod";
import { serversDocument } from "#crud/servers/servers-document.ts";
import { uiDocument } from "#crud/documents/ui-document.ts";
import { configKinds } from "#crud/configs/kinds/config-kinds.ts";
import type { JsonSchema } from "./json-schema.ts";
import { table, wrap } from "./markdown.ts";

interface Reference {
  /** `<name>.md` and `<name>.schema.json`. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** One schema, or one for each kind. */
  readonly kinds: Readonly<Record<string, z.ZodType>>;
  /** Shipped files that show it. */
  readonly shown: readonly string[];
}

const references: readonly Reference[] = [
  ...Object.values(configKinds).map(({ kind, manual, schema }) => ({ name: kind, ...manual, kinds: schema })),
  {
    name: "servers",
    title: "Servers that may be started",
    about:
      "`config/servers.yaml`: the programs that systems of `kind: mcp` may start, each by a name. The operator's file: no API changes it; a start reads it.",
    kinds: { "": serversDocument },
    shown: ["config/demo/servers.yaml"],
  },
  {
    name: "ui",
    title: "The web client",
    about: "`config/ui.yaml`: what the web client shows of itself, and to whom.",
    kinds: { "": uiDocument },
    shown: ["config/ui.yaml", "config/demo/ui.yaml"],
  },
];

const SAFE = Number.MAX_SAFE_INTEGER;

/** Draft 7 is what editors of YAML know. Left out: decimals as `multipleOf`, which editors judge by a remainder of floating point. */
const editorSchemaOf = (schema: z.ZodType): JsonSchema => {
  const { $schema: _dialect, ...made } = z.toJSONSchema(schema, {
    io: "input",
    target: "draft-7",
    reused: "inline",
    override: ({ jsonSchema: node }) => {
      delete node.multipleOf;
      if (node.maximum === SAFE) delete node.maximum;
      if (!("example" in node)) return;
      node.examples = [node["example"]];
      delete node["example"];
    },
  });
  return made;
};

/** Members of a schema as the tables need them. */
interface Node {
  readonly type?: string;
  readonly "x-type"?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly "x-limits"?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Node | boolean;
  readonly propertyNames?: Node;
  readonly items?: Node;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

const code = (value: unknown): string => `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
const branchesOf = (node: Node): readonly Node[] => node.anyOf ?? node.oneOf ?? [];
const isMap = (node: Node): node is Node & { readonly additionalProperties: Node } => typeof node.additionalProperties === "object";
const isOneOf = (texts: readonly string[]): string => [...new Set(texts)].join(" or ");

const typeOf = (node: Node): string => {
  if (node.const !== undefined) return code(node.const);
  if (node.enum !== undefined) return node.enum.map(code).join(", ");
  const branches = branchesOf(node);
  if (branches.length > 0) return isOneOf(branches.map(typeOf));
  if (node["x-type"] !== undefined) return node["x-type"];
  if (node.type === "string") return "text";
  if (node.type === "boolean") return "true, false";
  if (node.type === "array") return `list of ${typeOf(node.items ?? {})}`;
  if (node.type === "object")
    return isMap(node) && node.properties === undefined ? `map to ${typeOf(node.additionalProperties)}` : "members";
  return node.type ?? "anything";
};

const range = (least: number | undefined, max: number | undefined, of = ""): readonly string[] => {
  if (least === undefined && max === undefined) return [];
  if (least === undefined) return [`${of}at most ${max}`];
  return [max === undefined ? `${of}at least ${least}` : `${of}${least} to ${max}`];
};

const limitsOf = (node: Node): string =>
  [
    ...(node["x-limits"] === undefined ? [] : [node["x-limits"]]),
    ...(node.exclusiveMinimum === undefined
      ? range(node.minimum, node.maximum)
      : [`above ${node.exclusiveMinimum}, at most ${node.maximum}`]),
    ...range(node.minLength, node.maxLength, "characters: "),
    ...range(node.minItems, node.maxItems, "items: "),
    ...(node.pattern === undefined || node["x-type"] !== undefined ? [] : [code(node.pattern)]),
    ...(node.propertyNames?.pattern === undefined ? [] : [`names ${code(node.propertyNames.pattern)}`]),
    ...branchesOf(node).map(limitsOf),
    ...(node.items === undefined || node.items.type === "object"
      ? []
      : [limitsOf(node.items)].filter(Boolean).map((text) => `each ${text}`)),
  ]
    .filter(Boolean)
    .join("; ");

interface Field {
  readonly path: string;
  readonly node: Node;
  readonly isRequired: boolean;
  /** The branch that it belongs to, e.g. "`type: bearer`"; empty: all. */
  readonly only: string;
}

/** The member whose constant tells the branches of a union apart. */
const discriminatorOf = (branches: readonly Node[]): string | undefined =>
  branches.length < 2
    ? undefined
    : Object.keys(branches[0]?.properties ?? {}).find((name) => branches.every((branch) => branch.properties?.[name]?.const !== undefined));

const inside = (path: string, node: Node, only: string): readonly Field[] => {
  const branches = branchesOf(node);
  const discriminator = discriminatorOf(branches);
  const own = Object.entries(node.properties ?? {}).flatMap(([name, member]) =>
    fieldsOf(path === "" ? name : `${path}.${name}`, member, node.required?.includes(name) === true, only),
  );
  const values = discriminator === undefined ? [] : branches.map((branch) => branch.properties?.[discriminator] ?? {});
  return [
    ...own,
    ...(isMap(node) && node.properties === undefined ? inside(`${path}.<name>`, node.additionalProperties, only) : []),
    ...(node.items === undefined ? [] : inside(`${path}[]`, node.items, only)),
    ...(discriminator === undefined
      ? []
      : [
          {
            path: `${path}.${discriminator}`,
            node: { ...values[0], const: undefined, enum: values.map((one) => one.const) },
            isRequired: true,
            only,
          },
        ]),
    ...branches.flatMap((branch) => {
      if (discriminator === undefined) return inside(path, branch, only);
      const { [discriminator]: word = {}, ...properties } = branch.properties ?? {};
      return inside(path, { ...branch, properties }, code(`${discriminator}: ${String(word.const)}`));
    }),
  ];
};

const fieldsOf = (path: string, node: Node, isRequired: boolean, only: string): readonly Field[] => [
  { path, node, isRequired, only },
  ...inside(path, node, only),
];

const cellsOf = ({ path, node, isRequired, only }: Field): readonly string[] => {
  const fallback = isRequired ? "required" : node.default === undefined ? "" : code(node.default);
  const meaning = `${only === "" ? "" : `With ${only}: `}${node.description ?? ""}`;
  return [code(path), typeOf(node), fallback, limitsOf(node), meaning, node.examples === undefined ? "" : code(node.examples[0])];
};

const manual = ({ name, title, about, kinds, shown }: Reference): string =>
  [
    `# ${title}`,
    "",
    wrap(
      "`npm run docs` makes this page from the schema by which the program reads these files. An unknown member or a wrong value is refused with its line.",
    ),
    "",
    wrap(about),
    "",
    wrap(
      `Editors complete and check a file that begins with \`# yaml-language-server: $schema=<path>/${name}.schema.json\`. The program alone knows some rules between members. ` +
        "Durations are ISO 8601 (`PT10S`). `${ ... }` is an expression in CEL, blanks inside the braces. `[]` in a path stands for each item, `<name>` for each name. A shipped file that is an example of the whole: " +
        `${shown.map((file) => `[${file}](../../${file})`).join(", ")}.`,
    ),
    ...Object.entries(kinds).flatMap(([kind, schema]) => [
      "",
      ...(kind === "" ? [] : [`## kind: ${kind}`, ""]),
      ...table(["field", "type", "default", "limits", "meaning", "example"], inside("", editorSchemaOf(schema) as Node, "").map(cellsOf)),
    ]),
    "",
  ].join("\n");

const schemaText = ({ title, kinds }: Reference): string => {
  const schemas = Object.values(kinds).map(editorSchemaOf);
  const [only] = schemas;
  return `${JSON.stringify({ $schema: "http://json-schema.org/draft-07/schema#", title, ...(schemas.length === 1 ? only : { oneOf: schemas }) }, undefined, 2)}\n`;
};

/** For each kind of configuration file the manual of its fields and the schema for editors. File name to text. */
export const documentFiles = (): ReadonlyMap<string, string> =>
  new Map(
    references.flatMap((one) => [
      [`${one.name}.md`, manual(one)],
      [`${one.name}.schema.json`, schemaText(one)],
    ]),
  );
