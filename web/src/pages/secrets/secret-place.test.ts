import assert from "node:assert/strict";
import { test } from "node:test";
import { keyUri, mountOf, splitKey, treeOf, type TreeNode } from "./secret-place.ts";

const PLACE = "yaml://secret";
const drawn = (nodes: readonly TreeNode[], depth = 0): readonly string[] =>
  nodes.flatMap(({ name, uri, keys, below, count }) => [
    `${" ".repeat(depth)}${name} ${uri} ${keys === undefined ? "-" : String(keys)} ${count}`,
    ...drawn(below, depth + 1),
  ]);

test("secrets of a place become a tree; a map of maps alone is a folder, one with keys is both", () => {
  const items = [
    { uri: `${PLACE}/b/one`, keys: 1 },
    { uri: `${PLACE}/a`, keys: 0 },
    { uri: `${PLACE}/a/deep/two`, keys: null },
    { uri: `${PLACE}/b`, keys: 2 },
    { uri: `${PLACE}/empty`, keys: 0 },
  ];
  assert.deepEqual(drawn(treeOf(PLACE, items)), [
    `a ${PLACE}/a - 1`,
    ` deep ${PLACE}/a/deep - 1`,
    `  two ${PLACE}/a/deep/two null 1`,
    `b ${PLACE}/b 2 2`,
    ` one ${PLACE}/b/one 1 1`,
    `empty ${PLACE}/empty 0 1`,
  ]);
});

test("a place that is a secret itself stands in its own tree, beside one of the same name below it", () => {
  const at = `${PLACE}/people`;
  const items = [
    { uri: at, keys: 1 },
    { uri: `${at}/demo`, keys: 1 },
  ];
  assert.deepEqual(drawn(treeOf(at, items)), [`demo ${at}/demo 1 1`, `people ${at} 1 1`]);
});

test("a key goes into a URI in its canonical form, and comes back out of it", () => {
  for (const [key, uri] of [
    ["api_key", `${PLACE}/a#api_key`],
    ["a/b@c:$&+,;=", `${PLACE}/a#a/b@c:$&+,;=`],
    ["50 % of #1?", `${PLACE}/a#50%20%25%20of%20%231%3F`],
    ["\u00e9", `${PLACE}/a#%C3%A9`],
  ] as const) {
    assert.equal(keyUri(`${PLACE}/a`, key), uri);
    assert.deepEqual(splitKey(uri), { uri: `${PLACE}/a`, key });
  }
  assert.deepEqual(splitKey(`${PLACE}/a?version=3`), { uri: `${PLACE}/a`, key: undefined });
  assert.deepEqual(splitKey(`${PLACE}/a#%zz`), { uri: `${PLACE}/a`, key: "%zz" });
});

test("a secret lies at the innermost place that holds it, and a longer name is no place above", () => {
  const mounts = [PLACE, `${PLACE}/team`].map((uri) => ({ uri, versions: false, writable: true }));
  assert.equal(mountOf(mounts, `${PLACE}/team/a`)?.uri, `${PLACE}/team`);
  assert.equal(mountOf(mounts, `${PLACE}/team2/a`)?.uri, PLACE);
  assert.equal(mountOf(mounts, "vaulta+kv2://kv-a/x"), undefined);
});
