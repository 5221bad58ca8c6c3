import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { createSseParser, sseFrame, type SsePart } from "./sse.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const parse = (text: string): readonly SsePart[] => createSseParser().push(bytes(text));
const message = (data: string, event = "message", lastEventId = ""): SsePart => ({ kind: "message", event, data, lastEventId });

test("a frame is written as its lines and one blank line", () => {
  assert.equal(sseFrame({ event: "graph", id: "7", data: '{"a":1}' }), 'event: graph\nid: 7\ndata: {"a":1}\n\n');
  assert.equal(sseFrame({ data: "one\ntwo\r\nthree\rfour" }), "data: one\ndata: two\ndata: three\ndata: four\n\n");
  assert.equal(sseFrame({ retry: 2_500 }), "retry: 2500\n\n");
  assert.equal(sseFrame({ comment: "waiting" }), ": waiting\n\n");
  assert.equal(sseFrame({ id: "", data: "" }), "id\ndata: \n\n");
});

test("nothing can be smuggled into a frame by its event or id", () => {
  for (const bad of ["a\nb", "a\rb", "a\0b", "a\r\ndata: x"]) {
    assert.throws(() => sseFrame({ event: bad, data: "x" }), TypeError);
    assert.throws(() => sseFrame({ id: bad, data: "x" }), TypeError);
  }
});

test("streams are read as browsers read them", () => {
  const table: readonly (readonly [string, readonly SsePart[]])[] = [
    ["data: a\n\n", [message("a")]],
    ["data:a\n\n", [message("a")]],
    ["data:  a\n\n", [message(" a")]],
    ["data: a\r\rdata: b\r\n\r\n", [message("a"), message("b")]],
    ["\ufeffdata: a\n\n", [message("a")]],
    ["data: a\ndata: b\n\n", [message("a\nb")]],
    ["data\n\n", [message("")]],
    ["event: x\nid: 1\n\ndata: a\n\n", [message("a", "message", "1")]],
    ["event: x\nid: 1\ndata: a\n\ndata: b\n\n", [message("a", "x", "1"), message("b", "message", "1")]],
    ["id: 1\ndata: a\n\nid\ndata: b\n\n", [message("a", "message", "1"), message("b")]],
    ["id: 1\0\ndata: a\n\n", [message("a")]],
    ["retry: 12\nretry: x\nretry: -1\n\n", [{ kind: "retry", milliseconds: 12 }]],
    [
      ": hello\n:there\n\n",
      [
        { kind: "comment", text: "hello" },
        { kind: "comment", text: "there" },
      ],
    ],
    ["unknown: a\nDATA: b\n\n", []],
    ["data: unfinished", []],
    ["data: unfinished\n", []],
  ];
  for (const [text, parts] of table) assert.deepEqual(parse(text), parts, JSON.stringify(text));
});

test("it does not matter where the network cuts", () => {
  const text = `\ufeffretry: 5\r\n: hi\r\n\r\nevent: e\r\nid: 1\r\ndata: ü\u{1f600}\r\ndata: b\r\n\r\rdata: c\n\n`;
  const whole = parse(text);
  assert.equal(whole.length, 4);
  const all = bytes(text);
  for (let cut = 0; cut <= all.length; cut++) {
    const parser = createSseParser();
    assert.deepEqual([...parser.push(all.subarray(0, cut)), ...parser.push(all.subarray(cut))], whole, `cut at ${cut}`);
  }
  const parser = createSseParser();
  assert.deepEqual(
    [...all].flatMap((byte) => [...parser.push(Uint8Array.of(byte))]),
    whole,
    "byte by byte",
  );
});

test("what is framed is read back", () => {
  const line = fc.string({ unit: "grapheme" }).filter((text) => !/[\r\n\0]/.test(text));
  const frame = fc.record({ event: line.filter((text) => text !== ""), id: line, data: fc.string({ unit: "grapheme" }) });
  fc.assert(
    fc.property(fc.array(frame), (frames) => {
      const parser = createSseParser();
      const read = parser.push(bytes(frames.map(sseFrame).join("")));
      assert.deepEqual(
        read,
        frames.map(({ event, id, data }) => message(data.replace(/\r\n|\r/g, "\n"), event, id)),
      );
    }),
  );
});

test("the last id is known also of frames without data", () => {
  const parser = createSseParser();
  parser.push(bytes("id: 42\n\n"));
  assert.equal(parser.lastEventId, "42");
  parser.push(bytes("id: 43\ndata: cut"));
  assert.equal(parser.lastEventId, "42", "a frame that was cut has not been delivered");
  parser.push(bytes("\n\n"));
  assert.equal(parser.lastEventId, "43");
});

test("a frame or a line without end is given up", () => {
  assert.throws(() => createSseParser(100).push(bytes(`data: ${"x".repeat(200)}`)), RangeError);
  const parser = createSseParser(100);
  assert.throws(() => parser.push(bytes("data: xxxxxxxxxx\n".repeat(20))), RangeError);
});
