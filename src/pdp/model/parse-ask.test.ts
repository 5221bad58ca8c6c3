import assert from "node:assert/strict";
import { test } from "node:test";
import { withDefaults } from "#pdp-client/item-defaults.ts";
import type { Caller } from "#authn/model/caller.ts";
import { createAskParser, isAsk, type Pep } from "./parse-ask.ts";

const caller: Caller = {
  sub: "service:pep",
  tenant: "tenant:acme",
  scopes: new Set(["authzen.pep"]),
  actors: [],
  amr: [],
  issuer: "http://localhost:8080",
  isInternalService: false,
  token: "",
  expiresAt: 0,
};
const peps: readonly Pep[] = [
  { caller, isInternal: false },
  { caller: { ...caller, sub: "service:gateway", tenant: "*", isInternalService: true }, isInternal: true },
];

/** The value, and how often somebody looked at all of its members. */
const watched = <T extends object>(value: T) => {
  const seen = { walks: 0 };
  const ownKeys = (target: T) => {
    seen.walks += 1;
    return Reflect.ownKeys(target);
  };
  return { value: new Proxy(value, { ownKeys }), seen };
};

for (const pep of peps)
  test(`what many items have from the same default is read once: ${pep.caller.sub}`, () => {
    const ui = watched({ shown: 1 });
    const stated = watched({ tenant: "tenant:acme" });
    const props = watched({ a: 1 });
    const parse = createAskParser(pep);
    const defaults = {
      subject: { type: "identity", id: "person:ben", properties: stated.value },
      action: { name: "view" },
      resource: { type: "pages", id: "people", properties: props.value },
      context: { ui: ui.value, supported_obligations: ["step-up"] },
    };
    parse(withDefaults({}, defaults));
    const parts = [ui.seen, stated.seen, props.seen];
    const walks = parts.map((seen) => seen.walks);
    const asks = Array.from({ length: 50 }, (_, at) =>
      parse(withDefaults(at % 2 === 0 ? {} : { resource: { id: `p${at}` } }, defaults)),
    ).map((ask) => (isAsk(ask) ? ask : assert.fail(JSON.stringify(ask))));
    assert.deepEqual(
      parts.map((seen) => seen.walks),
      walks,
    );
    assert.deepEqual(asks[1]?.resource, { type: "pages", id: "p1" });
    assert.deepEqual(asks[0]?.props, { a: 1 });
    assert.deepEqual(asks[1]?.props, {}, "an item's own resource takes the place of the whole default");
    assert.equal(new Set(asks.map((ask) => ask.ui)).size, 1);
    assert.equal(new Set(asks.map((ask) => ask.supported)).size, 1);
    assert.equal(new Set(asks.map((ask) => ask.said?.subject)).size, 1);
  });

test("a fault of the default is every item's that has it, and no other's", () => {
  const parse = createAskParser(peps[0] as Pep);
  const ask = { subject: { type: "identity", id: "person:ben" }, action: { name: "view" }, resource: { type: "pages", id: "people" } };
  const defaults = { ...ask, context: { text: "\ud800" } };
  const wrong = [{ path: "/context", message: "holds half a surrogate pair" }];
  assert.deepEqual(parse(withDefaults({}, defaults)), wrong);
  assert.ok(isAsk(parse(withDefaults({ context: {} }, defaults))));
  assert.deepEqual(parse(withDefaults({}, defaults)), wrong);
  assert.deepEqual(parse({ ...ask, context: [] }), [{ path: "/context", message: "must be an object" }]);
});
