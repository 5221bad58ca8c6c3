import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createSealer, deriveKey, type InstanceSecrets } from "./seal.ts";

const secrets = (): InstanceSecrets => [randomBytes(32)];

test("what is sealed opens in its place and nowhere else", () => {
  const sealer = createSealer(secrets(), "test");
  const sealed = sealer.seal("a token: ünïcode", "row 1");
  assert.equal(sealer.open(sealed, "row 1"), "a token: ünïcode");
  assert.equal(sealer.open(sealed, "row 2"), undefined);
});

test("every altered byte keeps it shut", () => {
  const sealer = createSealer(secrets(), "test");
  const sealed = sealer.seal("secret", "row");
  for (let at = 0; at < sealed.length; at++) {
    const altered = Buffer.from(sealed);
    altered[at] = (altered[at] ?? 0) ^ 1;
    assert.equal(sealer.open(altered, "row"), undefined, `byte ${at}`);
  }
  for (const cut of [0, 1, 36, sealed.length - 1]) assert.equal(sealer.open(sealed.subarray(0, cut), "row"), undefined, `cut to ${cut}`);
});

test("the same text sealed twice looks different", () => {
  const sealer = createSealer(secrets(), "test");
  assert.notDeepEqual(sealer.seal("same", "row"), sealer.seal("same", "row"));
});

test("another purpose is another key", () => {
  const held = secrets();
  const sealed = createSealer(held, "sessions").seal("x", "row");
  assert.equal(createSealer(held, "keys").open(sealed, "row"), undefined);
  assert.notDeepEqual(deriveKey(held[0], "one"), deriveKey(held[0], "two"));
});

test("after a new secret is put first, the old one still opens and the new one writes", () => {
  const [old] = secrets();
  const [fresh] = secrets();
  const before = createSealer([old], "test").seal("kept", "row");
  const both = createSealer([fresh, old], "test");
  assert.equal(both.open(before, "row"), "kept");
  const after = both.seal("new", "row");
  assert.equal(createSealer([fresh], "test").open(after, "row"), "new");
  assert.equal(createSealer([old], "test").open(after, "row"), undefined);
});
