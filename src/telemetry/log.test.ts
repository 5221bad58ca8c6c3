import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog, redact } from "./log.ts";

const jwt = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJwZXJzb246YmVuIn0.c2lnbmF0dXJl";

for (const [name, text] of [
  ["a JWT", `token ${jwt} end`],
  ["a JWT behind what begins like one", `eyJ.x.eyJeyJeyJ-${jwt}`],
  ["a JWT within a name", `a_b.x${jwt}`],
  ["a bearer credential", "Authorization: Bearer abcdefghijklmnop"],
  ["a Vault token", "hvs.CAESIabcdefgh"],
  ["a private key", "-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----"],
  ["a private key that is cut off", "-----BEGIN PRIVATE KEY-----\nMIIabc"],
  ["a password in a query", "https://x/?password=sallyport&x=1"],
  ["a session cookie", "sallyport_dev_sid_8080=abcdef; other=1"],
] as const) {
  test(`${name} never reaches the log`, () => {
    const held = redact({ deep: [{ text }] }) as { deep: { text: string }[] };
    assert.match(held.deep[0]!.text, /\[redacted\]/);
    assert.doesNotMatch(held.deep[0]!.text, /c2lnbmF0dXJl|abcdefghijklmnop|CAESI|MIIabc|password=sallyport|sid_8080=abc/);
  });
}

test("a text that begins like a credential at every place is looked through once", () => {
  const size = 1_000_000;
  for (const piece of ["eyJ", "eyJaaaaa.", "a.eyJ", ".", "-----BEGIN A-----", "bearer ", "hvs.", "password", "secret=&"])
    for (const start of ["", "eyJaaaaa.", "-----BEGIN A-----"])
      assert.equal(typeof redact(start + piece.repeat(size / piece.length)), "string");
});

test("a cause shows its type and code, not its message", () => {
  const cause = Object.assign(new Error("secret inside"), { code: "ECONNREFUSED" });
  assert.doesNotMatch(JSON.stringify(redact({ cause })), /secret inside/);
  assert.match(JSON.stringify(redact({ cause })), /ECONNREFUSED/);
  const refused = (error: string) => JSON.stringify(redact(Object.assign(new Error("x"), { error, error_description: "person:ben" })));
  assert.match(refused("not_allowed"), /"oauth_error":"not_allowed"/);
  assert.doesNotMatch(refused("eyJhbGciOi.secret"), /oauth_error/);
  assert.doesNotMatch(refused("not_allowed"), /person:ben/);
});

test("a line is JSON with event, level, service and the fields", () => {
  const lines: string[] = [];
  const log = createLog({ level: "info", service: "test", version: "1", environment: "test", write: (line) => lines.push(line) });
  log.child({ correlation_id: "c" }).info("something_done", { count: 3n, jwt });
  log.debug("hidden");
  assert.equal(lines.length, 1);
  const line = JSON.parse(lines[0]!) as Record<string, unknown>;
  assert.deepEqual(
    [line["level"], line["event"], line["service"], line["correlation_id"], line["count"]],
    ["info", "something_done", "test", "c", "3"],
  );
  assert.ok(!lines[0]!.includes(jwt));
});
