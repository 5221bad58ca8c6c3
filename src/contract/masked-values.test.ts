import assert from "node:assert/strict";
import { test } from "node:test";
import { maskValues, type Place } from "./masked-values.ts";

const CANARY = "canary-8f2c";

test("what opens something is hidden, by its key and by its looks; all else is shown as it is", () => {
  const secret: readonly (readonly [value: unknown, masked: readonly string[]])[] = [
    [{ password: CANARY }, ["/password"]],
    [{ "API-Key": CANARY }, ["/API-Key"]],
    [{ user: { clientSecret: { deep: [CANARY] } } }, ["/user/clientSecret"]],
    [{ list: [{ ok: 1 }, { pin: CANARY }] }, ["/list/1/pin"]],
    [{ "a/b~c": { otp: CANARY } }, ["/a~1b~0c/otp"]],
    [{ note: `Bearer ${CANARY}-${CANARY}` }, ["/note"]],
    [{ note: `eyJhbGciOiJIUzI1NiJ9.${CANARY}.x` }, ["/note"]],
    [{ url: `https://ben:${CANARY}@example.com/` }, ["/url"]],
    [{ from: `yaml://secret/${CANARY}#key` }, ["/from"]],
    [{ from: `please read VaultA+kv2://secret/${CANARY}` }, ["/from"]],
    [{ pem: `-----BEGIN PRIVATE KEY-----\n${CANARY}` }, ["/pem"]],
    // Full-width letters and an accent put together in two ways are the same word.
    [{ ｐａｓｓｗｏｒｄ: CANARY }, ["/ｐａｓｓｗｏｒｄ"]],
    [JSON.parse(`{"__proto__": {"token": "${CANARY}"}}`), ["/__proto__/token"]],
  ];
  for (const [value, masked] of secret) {
    const shown = maskValues(value);
    assert.deepEqual(shown.masked, masked, JSON.stringify(value));
    assert.ok(!JSON.stringify(shown.value).includes(CANARY), JSON.stringify(shown.value));
  }
  const open = JSON.parse(
    '{"id":"e1","salary":160000,"note":"a [hidden] token of thanks","key":"colour","__proto__":{"x":1},"n":null,"on":false,"url":"https://example.com/a?b"}',
  );
  assert.deepEqual(maskValues(open), { value: open, masked: [] });
  assert.equal(JSON.stringify(maskValues(open).value), JSON.stringify(open));
});

test("a place that is known to be secret is hidden whatever it holds", () => {
  const nothing: Place = { isSecret: false, into: () => nothing };
  const known: Place = { ...nothing, into: (part) => (part === "code" ? { ...nothing, isSecret: true } : nothing) };
  assert.deepEqual(maskValues({ code: { any: 1 }, other: { code: 2 } }, known), {
    value: { code: "[hidden]", other: { code: 2 } },
    masked: ["/code"],
  });
});

test("a text that fits the beginning of a secret at every place is looked through once", () => {
  const size = 262_144;
  const texts = [
    "eyJ-",
    "eyJ",
    ":",
    "://",
    "://a:",
    "bearer ",
    "basic\t",
    "-----BEGIN A",
    "vault",
    "kv2+",
    "yaml:/",
    "eyJ-aaaaa.a",
  ].flatMap((piece) => ["", "://", "eyJaaaaa.", "bearer ", "-----BEGIN "].map((start) => start + piece.repeat(size / piece.length)));
  for (const text of [...texts, "\u0323\u0301".repeat(size / 2), "\uff9e\u0301".repeat(size / 2)])
    for (const value of [[text], { [text]: 1 }]) assert.ok(maskValues(value).masked.length <= 1);
});

test("names that are longer than any call that is shown leave no pointers behind, and nothing open", () => {
  const long = "k".repeat(200_000);
  const hidden = Array.from({ length: 9000 }, (_, at) => [`pin${at}`, at === 0 ? 1 : `Bearer ${CANARY}`]);
  const { value, masked } = maskValues({ [long]: Object.fromEntries([["pin", CANARY], ...hidden]) });
  assert.ok(!JSON.stringify(value).includes(CANARY));
  assert.ok(JSON.stringify(masked).length < 2 * long.length);
  // A long text that is hidden leaves room for what is shown.
  const pem = `-----BEGIN PRIVATE KEY-----\n${"A".repeat(100_000)}`;
  assert.deepEqual(maskValues({ pem, id: "e1" }), { value: { pem: "[hidden]", id: "e1" }, masked: ["/pem"] });
});
