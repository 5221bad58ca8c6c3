import assert from "node:assert/strict";
import { test } from "node:test";
import { joined, layOut, NODE, type Direction } from "./flow-layout.ts";

const nodes = ["look_up", "by_ops", "by_platform", "create"].map((id) => ({ id }));
const edges = [
  ["look_up", "by_ops"],
  ["look_up", "by_platform"],
  ["by_ops", "create"],
  ["by_platform", "create"],
  ["create", "nowhere"],
].map(([from = "", to = ""]) => ({ from, to }));

const along: Readonly<Record<Direction, "x" | "y">> = { LR: "x", TB: "y" };

for (const direction of ["LR", "TB"] as const)
  test(`${direction}: each step stands behind those that lead to it, branches beside each other, none on another`, () => {
    const { places, width, height } = layOut(nodes, edges, direction);
    const at = (id: string) => places.get(id) ?? assert.fail(id);
    const axis = along[direction];
    assert.ok(at("look_up")[axis] < at("by_ops")[axis] && at("by_ops")[axis] < at("create")[axis]);
    assert.equal(at("by_ops")[axis], at("by_platform")[axis]);
    const all = [...places.values()];
    for (const [index, one] of all.entries()) {
      assert.ok(one.x >= 0 && one.x + NODE.width <= width && one.y >= 0 && one.y + NODE.height <= height);
      for (const other of all.slice(index + 1))
        assert.ok(Math.abs(one.x - other.x) >= NODE.width || Math.abs(one.y - other.y) >= NODE.height);
    }
  });

test("an edge without its ends is not drawn, and draws no step of its own", () => {
  assert.equal(joined(nodes, edges).length, 4);
  assert.deepEqual(
    [...layOut(nodes, edges, "LR").places.keys()],
    nodes.map(({ id }) => id),
  );
});
