import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { asClientEntry, asCurl, asRpc } from "./copy-as.ts";

const nasty = { name: 'O\'Neil $(id) `id` "x" \\', id: "e1" };

test("the shell hands the copied arguments on byte for byte", () => {
  const curl = asCurl("http://sallyport.test", "people.demo.get_employee", nasty);
  const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }; TOKEN=t\n${curl}`;
  const words = execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }).split("\0");
  assert.equal(words[1], "http://sallyport.test/api/crud/mcp/jsonrpc");
  assert.ok(words.includes("Authorization: Bearer t"));
  assert.deepEqual(JSON.parse(words[words.indexOf("-d") + 1] ?? "").params, { name: "people.demo.get_employee", arguments: nasty });
});

test("what is copied holds a placeholder in place of a credential", () => {
  assert.match(asCurl("http://sallyport.test", "x", {}), /Bearer \$TOKEN/);
  assert.match(asClientEntry("http://sallyport.test"), /"url": "http:\/\/sallyport.test\/mcp"/);
  assert.match(asClientEntry("http://sallyport.test"), /Bearer \$TOKEN/);
  assert.equal(JSON.parse(asRpc("x", { a: 1 })).method, "tools/call");
});
