import { internalAsk, vouchesNothing, type Ask, type Properties } from "#pdp/model/ask.ts";
import type { DecisionPoint, Verdict } from "#pdp/engine/decision-point.ts";
import { builtInTools, pairs } from "#pdp-client/pairs.ts";

/**
 * Who asks, by column: the five persons of the demo world, three of them through an agent, and one whom the demo world does not have: an
 * administrator of a tenant that is not the operator's.
 */
export const columns = [
  { name: "ada", subject: "person:ada" },
  { name: "ben", subject: "person:ben" },
  { name: "cleo", subject: "person:cleo" },
  { name: "dan", subject: "person:dan" },
  { name: "eve", subject: "person:eve", tenant: "tenant:globex" },
  { name: "ben+hr", subject: "person:ben", agent: "agent:hr-assistant" },
  { name: "ben+rep", subject: "person:ben", agent: "agent:reporter" },
  { name: "cleo+rep", subject: "person:cleo", agent: "agent:reporter" },
  { name: "admin", subject: "person:globex-admin", tenant: "tenant:globex", isBeyondDemo: true },
] as const;

type Column = (typeof columns)[number];

/** What is asked, by row. */
export interface Row {
  readonly type: string;
  readonly action: string;
  /** Of the resource; `*` where the whole collection is asked about. */
  readonly id: string;
  /** How the row is written, where the id alone does not say it. */
  readonly label?: string;
  readonly props?: Properties;
  readonly claimed?: Properties;
  readonly assigned?: boolean;
  readonly could?: boolean;
}

/** Decisions that the matrix asks about: they have to be on record first. */
export interface KnownDecisions {
  readonly ben: string;
  readonly cleo: string;
  readonly cleoReporter: string;
}

const tools = [
  ...Object.values(builtInTools),
  "people.demo.list_employees",
  "people.demo.get_employee",
  "people.demo.update_salary",
  "sallyport.local.search_identities",
  "sallyport.local.shortest_path",
  "memory.demo.read_graph",
  "workflow.grant_access",
  "workflow.offboard",
];

const instances = (known: KnownDecisions): Readonly<Record<string, readonly Omit<Row, "type" | "action">[]>> => ({
  "pages:view": [{ id: "people" }, { id: "my-work" }, { id: "operations" }],
  "page.widget:view": ["people:grid:employees", "people:action:offboard", "my-work:action:delegate", "operations:grid:runs"].map((id) => ({
    id,
  })),
  tasks: [
    { id: "t1", label: "an approval", props: { kind: "approval" } },
    { id: "t2", label: "another kind", props: { kind: "form" } },
    { id: "t3", label: "another kind, assigned", props: { kind: "form" }, assigned: true },
  ],
  "tool:approve_definition": [{ id: "*" }, { id: "memory.demo.read_graph", label: "of a system of their own", assigned: true }],
  "workflows:start": [{ id: "grant_access" }, { id: "offboard" }],
  "delegations:view": [{ id: "delegation:ben-hr" }, { id: "delegation:cleo-rep" }],
  "delegations:revoke": [{ id: "delegation:ben-hr" }, { id: "delegation:cleo-rep" }],
  "delegations:create": [{ id: "agent:hr-assistant" }, { id: "agent:reporter" }],
  "registry:view": [{ id: "mcp:people" }],
  "forms:view": [{ id: "onboarding" }],
  "plugin.route:view": [{ id: "acme.hello" }],
  "plugin.widget:view": [{ id: "acme.hello:Hello" }],
  "tool:tools/call": tools.map((id) => ({ id })),
  "decisions:explain": [
    { id: known.ben, label: "of ben" },
    { id: known.cleo, label: "of cleo" },
    { id: known.cleoReporter, label: "of cleo through the reporter" },
  ],
  "identities:view": [{ id: "person:ben" }, { id: "person:dan" }, { id: "person:eve" }, { id: "agent:reporter" }],
  "employee:update_salary": [
    { id: "e1", label: "to 150000", claimed: { salary: 150_000 } },
    { id: "e1", label: "to 150001", claimed: { salary: 150_001 } },
    { id: "e1", label: "not stated" },
  ],
  mcp_server: [{ id: "http://localhost:8080/mcp", label: "own id" }],
  secret: [{ id: "yaml://secret/people/demo" }, { id: "yaml://secret/else/where" }],
});

/** Every row of the matrix. */
export const matrixRows = (known: KnownDecisions): readonly Row[] => {
  const byPair = instances(known);
  const asked = pairs.flatMap(({ type, action, key, of }): readonly Row[] => {
    const found = byPair[key] ?? (of === "all" ? [{ id: "*" }] : byPair[type]);
    if (found === undefined) throw new RangeError(`the matrix has no row for ${key}`);
    return found.map((one) => ({ type, action, ...one }));
  });
  const listed = tools.map((id): Row => ({ type: "tool", action: "tools/list", id, could: true }));
  return [...asked, ...listed];
};

const askOf = (column: Column, row: Row, now: Date, mfa: boolean): Ask =>
  internalAsk({
    pep: row.could === true ? "service:crud" : "service:gateway",
    bound: "*",
    subject: { type: "identity", id: column.subject, tenant: "tenant" in column ? column.tenant : "tenant:acme" },
    agents: "agent" in column ? [column.agent] : [],
    action: row.action,
    resource: { type: row.type, id: row.id },
    assurance: mfa ? { acr: "strong", authTime: Math.floor(now.getTime() / 1000) } : {},
    vouched: { ...vouchesNothing, could: row.could === true, toolsScope: true, assigned: row.assigned === true, costMicro: 10_000 },
    props: row.props ?? {},
    claimed: row.claimed ?? {},
  });

/** Y allowed, S allowed after a strong sign-in, R allowed after an approval, - denied. */
const cellOf = (verdict: Verdict): Cell["value"] =>
  verdict.decision ? "Y" : verdict.reason === "step_up_required" ? "S" : verdict.requestable ? "R" : "-";

export interface Cell {
  readonly value: "Y" | "S" | "R" | "-";
  readonly policies: readonly string[];
}

/** Cells of a row, in the order of `columns`, by the name of the row. */
export type Matrix = ReadonlyMap<string, readonly Cell[]>;

/** How the row is called in matrix.txt. */
export const nameOf = (row: Row): string => `${row.type}:${row.action} ${row.label ?? row.id}`.replace(/ \*$/, "");

/** Asks every row of every column; the rows in byte order of their names. */
export const askMatrix = async (
  decisionPoint: Pick<DecisionPoint, "evaluateMany">,
  known: KnownDecisions,
  now: () => Date,
): Promise<Matrix> => {
  const matrix: [string, readonly Cell[]][] = [];
  for (const row of matrixRows(known)) {
    const name = nameOf(row);
    const ask = async (mfa: boolean): Promise<readonly Cell[]> => {
      const asks = columns.map((column) => askOf(column, row, now(), mfa));
      const { verdicts } = await decisionPoint.evaluateMany(asks, "execute_all");
      return verdicts.map((verdict) => ({ value: cellOf(verdict), policies: verdict.policies }));
    };
    const plain = await ask(false);
    matrix.push([name, plain]);
    if (plain.some(({ value }) => value === "S")) matrix.push([`${name} +mfa`, await ask(true)]);
  }
  return new Map(matrix.toSorted(([a], [b]) => (a < b ? -1 : 1)));
};

const lineOf = (name: string, cells: readonly Cell[]): string => {
  const deciding = new Map<string, string[]>();
  for (const [index, { policies }] of cells.entries()) {
    for (const id of policies) deciding.set(id, [...(deciding.get(id) ?? []), columns[index]?.name ?? ""]);
  }
  const ids = [...deciding].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([id, names]) => `${id}(${names.join(" ")})`);
  return [name, ...cells.map(({ value }) => value), ids.join(" ")].join(" | ").trimEnd();
};

/** Every row for every column, as text: what the policies mean, to be reviewed as a difference. */
export const drawMatrix = (matrix: Matrix): string =>
  [
    "# What the policies decide in the demo world. Y allowed, S after a strong sign-in (+mfa: signed in so), R after an approval, - denied.",
    "# Written by `npm run matrix`; a test compares it. Review every changed line.",
    ["type:action id", ...columns.map((column) => column.name), "deciding policies"].join(" | "),
    ...[...matrix].map(([name, cells]) => lineOf(name, cells)).toSorted((a, b) => (a < b ? -1 : 1)),
    "",
  ].join("\n");
