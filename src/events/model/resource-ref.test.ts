import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { createResourceRef, parseTenantSalt, type ReferredSecret } from "./resource-ref.ts";

const salt = "0123456789abcdef0123456789abcdef";
const refer = createResourceRef({ salt: parseTenantSalt(salt), kid: "1" });
const kv = (segments: readonly string[], key?: string): ReferredSecret => ({
  scheme: "vaulta+kv2",
  mount: "kv-a",
  segments,
  ...(key === undefined ? {} : { key }),
});

suite("resource reference", () => {
  const vectors: readonly (readonly [ReferredSecret, string])[] = [
    [
      { scheme: "yaml", mount: "secret", segments: ["people", "demo"], key: "api_key" },
      "hr1.1.85Gcpwc-e1hadIMufauM-HwTr0k0If8xqPnIqiS5TI8",
    ],
    [kv(["a", "b"]), "hr1.1.5ovEBRUz0uYSCwcOXRCiY0qwfMkrBAWyIsZXuNr1XLc"],
    [kv(["a"], "b"), "hr1.1.y-IZMg7wU8OIrMmqriRWl8lPquXealGtr8y6AjIQLso"],
  ];
  for (const [secret, expected] of vectors) {
    test(`${secret.scheme} ${secret.segments.join("/")} ${secret.key ?? ""} matches its published vector`, () => {
      assert.equal(refer("tenant:acme", secret), expected);
    });
  }

  test("tenant, scheme, mount, the cut of segments and the key each change it", () => {
    const all = [
      refer("tenant:acme", kv(["a", "b"])),
      refer("tenant:globex", kv(["a", "b"])),
      refer("tenant:acme", { ...kv(["a", "b"]), scheme: "vaultb+kv2" }),
      refer("tenant:acme", { ...kv(["a", "b"]), mount: "kv-b" }),
      refer("tenant:acme", kv(["ab"])),
      refer("tenant:acme", kv(["a/b"])),
      refer("tenant:acme", kv(["a"], "b")),
      refer("tenant:acme", kv(["a", "b"], "")),
    ];
    assert.equal(new Set(all).size, all.length);
  });

  test("a salt in hex or base64 is the same bytes", () => {
    const bytes = Buffer.from(salt);
    assert.deepEqual(parseTenantSalt(`hex:${bytes.toString("hex")}`), bytes);
    assert.deepEqual(parseTenantSalt(`base64:${bytes.toString("base64")}`), bytes);
  });

  for (const bad of ["", "short", `hex:${"ab".repeat(31)}`, `hex:${"zz".repeat(32)}`, `hex:${"ab".repeat(32)}c`, "base64:####"]) {
    test(`the salt ${JSON.stringify(bad.slice(0, 20))} is refused`, () => assert.throws(() => parseTenantSalt(bad), RangeError));
  }
});
