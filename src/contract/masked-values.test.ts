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
