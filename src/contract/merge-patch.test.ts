import assert from "node:assert/strict";
import { test } from "node:test";
import { mergePatch } from "./merge-patch.ts";

/** RFC 7396, appendix A. */
const examples: readonly (readonly [target: string, patch: string, merged: string])[] = [
  [`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`],
  [`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`],
  [`{"a":"b"}`, `{"a":null}`, `{}`],
  [`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`],
  [`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`],
  [`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`],
  [`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`],
  [`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`],
  [`["a","b"]`, `["c","d"]`, `["c","d"]`],
  [`{"a":"b"}`, `["c"]`, `["c"]`],
  [`{"a":"foo"}`, `null`, `null`],
  [`{"a":"foo"}`, `"bar"`, `"bar"`],
  [`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`],
  [`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`],
  [`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`],
];

test("a merge patch does what the examples of its standard do, and changes neither of the two", () => {
  for (const [target, patch, merged] of examples) {
    const given = [JSON.parse(target), JSON.parse(patch)] as const;
    assert.deepEqual([target, patch, mergePatch(...given)], [target, patch, JSON.parse(merged)]);
    assert.deepEqual(given, [JSON.parse(target), JSON.parse(patch)]);
  }
});

test("a member __proto__ is one like others, and nobody's prototype", () => {
  const merged = mergePatch(JSON.parse(`{"a":{}}`), JSON.parse(`{"a":{"__proto__":{"evil":1}},"__proto__":{"evil":1}}`));
  assert.equal(JSON.stringify(merged), `{"a":{"__proto__":{"evil":1}},"__proto__":{"evil":1}}`);
  assert.deepEqual([Object.getPrototypeOf(merged), ({} as { evil?: unknown }).evil], [Object.prototype, undefined]);
});
