import assert from "node:assert/strict";
import { test } from "node:test";
import type { Step } from "#crud/workflows/model/workflow-document.ts";
import { call, goTo, human } from "#testing/workflow-world.ts";
import { diagramOf } from "./diagram.ts";

const catches = (steps: readonly Step[], caught: readonly Step[]): Step => ({
  kind: "try",
  name: "t",
  steps,
  catch: { as: "error", steps: caught },
});
const raise: Step = { kind: "raise", name: "r", error: { type: "x", status: 500 } };

const rows: readonly { what: string; steps: readonly Step[]; edges: readonly string[]; groups?: Readonly<Record<string, string>> }[] = [
  { what: "no step", steps: [], edges: ["start -> end"] },
  {
    what: "one after another, and what undoes one",
    steps: [call("a", "sys.a", { compensate: { tool: "sys.b", with: {} } }), human("b")],
    edges: ["start -> a", "a -undo> a~undo", "a -> b", "b -> end"],
  },
  {
    what: "jumps, exits and ends",
    steps: [call("a", "s.a", goTo("c")), call("b", "s.b", goTo("end")), call("c", "s.c", goTo("exit"))],
    edges: ["start -> a", "b -> end", "a -> c", "c -> end"],
  },
  {
    what: "cases of a switch",
    steps: [
      {
        kind: "switch",
        name: "s",
        cases: [
          { name: "x", when: "true", ...goTo("b") },
          { name: "y", when: "true", ...goTo("continue") },
          { name: "z", ...goTo("end") },
        ],
      },
      call("a", "s.a"),
      call("b", "s.b"),
    ],
    edges: ["start -> s", "s -branch(z)> end", "s -branch(y)> a", "a -> b", "s -branch(x)> b", "b -> end"],
  },
  {
    what: "branches that join",
    steps: [{ kind: "fork", name: "f", branches: [call("a", "s.a"), call("b", "s.b")] }, call("c", "s.c")],
    edges: ["start -> f", "f -branch(a)> f/a", "f -branch(b)> f/b", "f/a -> c", "f/b -> c", "c -> end"],
    groups: { "f/a": "f", "f/b": "f" },
  },
  {
    what: "a loop as one turn",
    steps: [{ kind: "for", name: "l", each: "item", at: "index", in: "[1]", steps: [call("a", "s.a")] }],
    edges: ["start -> l", "l -branch(item)> l[]/a", "l[]/a -> end"],
    groups: { "l[]/a": "l" },
  },
  {
    what: "an error that is caught, and one that is not",
    steps: [catches([{ ...raise, name: "r1" }], [call("a", "s.a")]), raise],
    edges: ["start -> t", "t -> t/try/r1", "t -error(error)> t/catch/a", "t/catch/a -> r", "r -error> end"],
  },
  {
    what: "a catch without steps",
    steps: [catches([call("a", "s.a")], []), call("b", "s.b")],
    edges: ["start -> t", "t -> t/try/a", "t/try/a -> b", "t -error(error)> b", "b -> end"],
  },
];

for (const { what, steps, edges, groups = {} } of rows)
  test(`a diagram has ${what}`, () => {
    const drawn = diagramOf({ steps });
    const bare = (id: string): string => id.replace("/do/", "");
    const said = drawn.edges.map(({ from, to, kind, label }) => {
      const how = kind === "flow" ? "" : `${kind}${label === undefined ? "" : `(${label})`}`;
      return `${bare(from)} -${how}> ${bare(to)}`;
    });
    assert.deepEqual(said, edges);
    const ids = new Set(drawn.nodes.map(({ id }) => id));
    assert.equal(ids.size, drawn.nodes.length, "each node once");
    assert.ok(drawn.edges.every(({ from, to }) => ids.has(from) && ids.has(to)));
    assert.equal(new Set(drawn.edges.map(({ id }) => id)).size, drawn.edges.length);
    const grouped = drawn.nodes.filter((node) => node.group !== undefined && !node.id.includes("/t/") && bare(node.id) in groups);
    assert.deepEqual(Object.fromEntries(grouped.map(({ id, group }) => [bare(id), bare(group ?? "")])), groups);
  });

test("a node is named as people read it, and has the tool that it calls", () => {
  const { nodes } = diagramOf({ steps: [call("look_up", "people.demo.get_employee"), call("b", "s.b", { metadata: { title: "Be" } })] });
  assert.deepEqual(nodes[1], { id: "/do/look_up", kind: "call", label: "Look up", tool: "people.demo.get_employee" });
  assert.equal(nodes[2]?.label, "Be");
});
